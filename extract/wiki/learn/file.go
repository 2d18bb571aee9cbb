package learn

import (
	"fmt"
	"strings"

	"pretext/extract/wiki/rendering"
)

// fileOf returns proposals as a file of rendering data.
func fileOf(list []Proposal) *rendering.File {
	f := &rendering.File{Name: "learned"}
	for _, p := range list {
		e := rendering.Entry{Scope: p.Scope, Kind: p.Kind, Name: p.Name, Value: p.Value, File: f.Name}
		if p.Kind == rendering.Template {
			rule, err := rendering.ParseRule(p.Value)
			if err != nil {
				panic("BUG: a rule that is not valid: " + p.Value)
			}
			e.Rule = rule
		}
		f.Entries = append(f.Entries, e)
	}
	return f
}

// writable reports whether the proposal can be written to a file and read back: its
// name is not a pattern, and parsing its line gives the same proposal.
func (p Proposal) writable() bool {
	f, err := rendering.Parse("", []byte("["+p.Scope+"]\n"+p.Line()))
	if err != nil || len(f.Entries) != 1 || strings.Contains(p.Name, "*") {
		return false
	}
	e := f.Entries[0]
	return e.Name == p.Name && e.Value == p.Value && e.Kind == p.Kind
}

// AppendFile appends the proposals as a file of rendering data. For each line, a
// comment gives the number of uses that it explains. A line that contradicts existing
// data is commented out. source is the name of the input, for the first comment.
func (r *Result) AppendFile(dst []byte, source string) []byte {
	dst = fmt.Appendf(dst, "# Source: learned from %s, %d uses of %d templates in sentences.\n", comment(source), r.Uses, r.Templates)
	dst = fmt.Appendf(dst, "# A line explains at least %g %% of at least %d uses.\n", 100*r.Options.MinExplained, r.Options.MinUses)
	dst = appendLines(dst, r.Proposals, "")
	if len(r.Contradictions) > 0 {
		dst = append(dst, "\n# Contradictions: the data in use show something else. Remove the # to use a line.\n"...)
		dst = appendLines(dst, r.Contradictions, "#")
	}
	return dst
}

// appendLines appends proposals, grouped by scope, with mark before each line.
func appendLines(dst []byte, list []Proposal, mark string) []byte {
	scope := ""
	for i, p := range list {
		if i == 0 || p.Scope != scope {
			scope = p.Scope
			dst = fmt.Appendf(dst, "\n%s[%s]\n", mark, scope)
		}
		dst = fmt.Appendf(dst, "# %d of %d uses, %d different; %s: %s → %q\n", p.Explained, p.Uses, p.Calls, comment(p.Example.Page), comment(p.Example.Call), p.Example.Text)
		if p.Known != "" {
			dst = fmt.Appendf(dst, "# in use, explains %d: %s\n", p.KnownExplained, comment(p.Known))
		}
		dst = append(append(append(dst, mark...), p.Line()...), '\n')
	}
	return dst
}

// comment returns text as a single line, for a comment.
func comment(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 {
			return ' '
		}
		return r
	}, text)
}
