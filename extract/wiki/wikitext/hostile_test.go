package wikitext

import (
	"strings"
	"testing"
)

// hostilePieces are repeated to make pages that a scanner with a quadratic
// path cannot finish: constructs that are not closed, or nest.
var hostilePieces = []string{
	"{{", "{{a|", "{{nowrap|", "{{{", "{{{a|", "{{a}", "{{a|[[b}}", "}}", "}", "{", "{ {",
	"[[", "[[a|", "[[a|b", "[[File:a|", "[[File:a|[[b]]", "[[File:a|[[b]] [[c", "]]", "]", "[", "[[[", "[[a]", "[[a|{{b|", "[[a%",
	"[http://a ", "[http://a [", "[http://", "[//a [[b]] ", "http://a:", "[http://a {{b|",
	"<ref>", "<ref>a</re", "<ref name=", "<ref", "<ref/", "<math>", "<nowiki>", "<pre>", "<!--", "<!-", "<b x=\"", "<b x=\"y", "<b ", "<", "</", "</ref", "<table>", "<table><tr>", "<td>", "<includeonly>", "<gallery>\n",
	"<ref><math>", "<ref></math>", "<table></ref>", "<pre/>", "<source/>", "<math/>", "<nowiki/>", "<rt>", "</table>", "<div>", "<br>",
	"{|\n", "{|\n|a\n", "{|\n|}\n{|\n", "\n{|", ":{|\n", "|}\n", "|-\n", "{|\n== a ==\n", "{{{!}}\n", "{|<ref>\n", "{|{{a|\n",
	"'", "''", "'''", "''''", "'' ", "a'''b ''c\n", "'''''", "[[a|''", "''\n",
	"&", "&amp", "&#", "&a;", "&#x", "&amp;",
	"*", "*a\n", "#", ";", ";a:", ";:", ":", "; a : b\n", ";''a:", ";http://a:",
	"=", "==", "== a ==\n", "==a", "=\n", "== <!-- ", "== {{a|\n", "= a <!-- b -->", "== References ==\n", "==a==<!--\n-->",
	"_", "__", "__NOTOC__", "__A", "__A_", "-{", "-{a", "-{a}-", "}-", "-", "----", "----\n", " \n", " a\n", "\n", "\t", "|\n", "!", "\x00", "\xff", "\xc2", "(", "( {{x}} ", "(<ref/>", ",{{x}},", "({{x}}", "{{x}})", "\u00a0",
	"{{convert|", "{{convert|1|to|", "{{quote|", "{{quote|\n", "{{plainlist|\n* ", "{{ubl|a|", "{{lc:", "{{#if:|", "{{frac|", "{{hlist|{{hlist|", "{{langx|de|", "{{lang|x|{{lang|x|", "{{IPA|", "({{IPA|x}}",
	"-{-{", "-{zh-cn:-{", "-{zh-cn:a;", "-{;", "-{a}-{", "{{#switch:", "{{#switch:a|", "{{#switch:a|b=", "{{#expr:(", "{{#expr:1+", "{{#iferror:", "{{#ifexpr:1|", "{{padleft:a|9|", "{{ucfirst:", "{{padleft:", "{{#titleparts:", "{{anchorencode:", "{{urlencode:", "{{#ifeq:", "{{#ifeq:a|", "{{plural:", "{{plural:1|", "{{#if:", "{{formatnum:", "{{ns:", "{{#iferror:a|",
	"{{IPA|fr|", "{{val|1|-|", "{{convert|{{convert|1|", "{{convert|1|m|x|adj=mid|", "{{nuclide|a|", "{{track gauge|1", "{{harvs|last=", "{{bibleverse||", "[[a{{!}}", "<source inline>",
	"[//a [[b]] -{a[[[}}",               // "}}-{" ends a variant: a range of its own each time
	"'' [[a|{{b|<table></ref>{|<ref>\n", // lines begin inside of what a look ahead stepped over
	"{{{a|[[File:a|-->|\n</ref><!--", "[[File:a|<!--{{{a|\n-->",
	"<!---->", "<!-- a -->", " ", "{{nowrap|a}}", "{{nowrap|}}", "{{a}}\n", "[[Category:a]]\n", "[[a]]", "<b>a</b>", "<ref>a</ref>", "<ref/>",
	"<b <ref></ref>", "<b x=\"<ref></ref>", "<b <includeonly></includeonly>", "<b <noinclude>", "<b x=\"<nowiki>", "[[http://a|", "[[http://a|b]]",
	"<poem>", "<poem>\na\n", "<poem></poem>", "<pre>\n* a\n", "</pre>", "</div>", "<meta ", "<meta itemprop>",
	"<b style=display:none>", "<b style=display:none>a</b>", "<b style=display:none><i>\n", "<b style=display:none>a</b", "<div style=display:none>\n", "</b><b style=display:none>", "<b class=thumb>", "<b class=\"thumb><i>", "[[Category:a]]*", "[[es:a]]", "[[es:a|", "__TOC__", "__TOC__[[es:a]]",
	"<!-- a -->\n", "\n<!-- a --> <!-- b -->", "\n <!---->x", "<ref><!--</ref>", "<!--<ref>", "{{a|<!--}}-->", "*<!---->", "<r<!---->ef>", "<poem><!--", "\n|}", "{{\n|} a", "&רלמ;", "&ר",
	"#REDIRECT [[", "{{{{{", "}}}}}", "{{{{a}}", "[[[[a]]", "[[File:a|[[File:a|", "[[File:a|{{b|", "{{a|[[File:b|", "{{{a|{{b|[[c|", "<div><span><b>", "{|\n|{{a|\n{|\n|", "'''''a'''b''",
}

// workPerByte bounds the bytes looked at for each byte of a page: the passes
// that look ahead for a kind of construct, and the depth that is rendered.
const workPerByte = 24

// work returns the number of bytes that were scanned for the last page.
func (s *Scanner) work() int { return s.in.work + s.comments.work }

func TestHostilePagesTakeLinearWork(t *testing.T) {
	s := NewScanner(DefaultOptions())
	const size = 1 << 15
	for _, lang := range []string{"en", "zh"} {
		for _, piece := range hostilePieces {
			for _, page := range hostilePages(piece, size) {
				s.AppendText(nil, []byte(page), Page{Lang: lang})
				if work := s.work(); work > workPerByte*len(page) {
					t.Errorf("%q repeated (%q…): looked at %d bytes for each byte", piece, page[:min(40, len(page))], work/len(page))
				}
			}
		}
	}
}

// hostilePages are the pages of n bytes that are made of a piece: the piece
// again and again, then with what closes it, then on lines of its own.
func hostilePages(piece string, n int) [3]string {
	times := max(1, n/len(piece))
	return [3]string{
		strings.Repeat(piece, times) + "x",
		strings.Repeat(piece, times/2) + strings.Repeat(mirror(piece), times/2),
		strings.Repeat(piece+" text of a line\n", max(1, n/(len(piece)+16))),
	}
}

// mirror returns what closes a piece, or the piece again.
func mirror(piece string) string {
	var b strings.Builder
	for i := len(piece) - 1; i >= 0; i-- {
		switch c := piece[i]; c {
		case '{':
			b.WriteByte('}')
		case '[':
			b.WriteByte(']')
		}
	}
	if b.Len() == 0 {
		return piece
	}
	return b.String()
}
