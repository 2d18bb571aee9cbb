// Package learn finds out what templates show from pages of a wiki as HTML, and
// proposes lines of the data of package rendering:
//
//	table := learn.NewTable()
//	reader.OnTransclusion(table.Add) // a wikihtml.Reader, any number of them at once
//	…
//	result := table.Propose(learn.DefaultOptions())
//	file := result.AppendFile(nil, "elwiki_namespace_0.tar.gz")
//
// # Rule
//
// Only uses in sentences, list items and definitions count. A template has a
// proposal if the data have no rule for it, it has at least Options.MinUses uses,
// and a rule explains at least Options.MinExplained of them: package wikitext
// shows what the page shows, but for white space. A rule that shows arguments
// needs uses with at least two different argument lists, and so does one that
// shows none if the uses have arguments. Of several rules, the one that explains
// most uses is proposed, the simplest of equal ones. All proposals together are
// rendered again; one that does not hold then is withdrawn.
//
// The rules are those of package rendering: nothing, a text, an argument with a
// text before or after it, the last argument, several arguments with a text
// between them, a named argument, and the operations without texts (number,
// date, language and so on). For templates that show the name of a language or
// country, lines of the kinds language and country are proposed by the same
// limits.
//
// A rule of the data that explains less is a contradiction: it is listed apart
// with what would explain the uses, and the file has that line commented out.
//
// # Memory
//
// Of each template, a [Table] keeps the 64 different pairs of use and text with
// the smallest hashes: a sample that does not depend on the order. If it has more
// than 200,000 pairs, it keeps 32 a template, 16 and so on, then templates by the
// hash of their names. Uses of other pairs are counted.
package learn
