// Package learn derives rules for templates from a wiki's pages in HTML form, which
// show the text of each use of a template. It proposes them as lines for the data
// files of package rendering:
//
//	table := learn.NewTable()
//	reader.OnTransclusion(table.Add) // a wikihtml.Reader, any number of them at once
//	…
//	result := table.Propose(learn.DefaultOptions())
//	file := result.AppendFile(nil, "elwiki_namespace_0.tar.gz")
//
// # Rule
//
// Only uses in sentences, list items and definitions count. A rule explains a use if
// package wikitext, with this rule, renders the text on the page, except for white
// space. A rule is proposed for a template if the data have no rule for it, the
// template has at least Options.MinUses uses, and the rule explains at least the
// fraction Options.MinExplained of them. If the rule shows arguments, or the uses
// have arguments, at least two uses with different argument lists are needed. If
// several rules qualify, the one that explains the most uses is proposed; if several
// explain equally many, the simplest. At the end, all proposals are tested together,
// and those that no longer explain enough uses are withdrawn.
//
// The rules are those of package rendering: nothing, a text, an argument with a
// text before or after it, the last argument, several arguments with a text
// between them, a named argument, and the operations without texts (number,
// date, language and so on). For templates that show the name of a language or
// country, lines of the kinds language and country are proposed by the same
// limits.
//
// An existing rule that explains too few uses is a contradiction. It is listed
// separately, with the rule that would explain the uses. The file has the line for
// that rule commented out.
//
// # Memory
//
// For each template, a [Table] keeps a sample: the 64 different pairs of use and text
// with the smallest hashes. The sample does not depend on the order of the uses. If
// there are more than 200,000 pairs in total, the table keeps only 32 pairs per
// template, then 16 and so on, and at last only templates whose names have small
// hashes. The uses of all other pairs are only counted.
package learn
