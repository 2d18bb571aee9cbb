package wikitext

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// growth bounds text by its source: the longest text for the shortest source
// is a name of a language or country, or a formula's placeholder.
func textBound(src []byte) int { return 64 + 24*len(src) }

// checkPage asserts what holds for the text of any page.
func checkPage(t interface {
	Helper()
	Errorf(string, ...any)
}, s *Scanner, src []byte, lang string) {
	t.Helper()
	page := Page{Title: "A page", Lang: lang}
	text := s.AppendText(nil, src, page)
	if fresh := NewScanner(DefaultOptions()).AppendText(nil, src, page); !bytes.Equal(fresh, text) {
		t.Errorf("%q: a fresh scanner gives %q, a used one %q", src, fresh, text)
	}
	if utf8.Valid(src) && !utf8.Valid(text) {
		t.Errorf("%q: text %q is not valid UTF-8", src, text)
	}
	if len(text) > textBound(src) {
		t.Errorf("%q: %d bytes of text", src, len(text))
	}
	if bytes.Contains(text, []byte("\n\n")) || len(bytes.TrimRight(text, " \t\r\n")) != len(text) || len(text) > 0 && (text[0] == ' ' || text[0] == '\n') {
		t.Errorf("%q: text %q has an empty line or white space at its ends", src, text)
	}
	if prefixed := s.AppendText([]byte("x ("), src, page); !bytes.Equal(prefixed, append([]byte("x ("), text...)) {
		t.Errorf("%q: after other text it gives %q, not %q", src, prefixed, text)
	}
	other := NewScanner(Options{BackMatter: true, Code: true, Math: "[x]"}).AppendText(nil, src, page)
	if utf8.Valid(src) && !utf8.Valid(other) {
		t.Errorf("%q: text %q of other options is not valid UTF-8", src, other)
	}
	if work := s.work(); work > workPerByte*(len(src)+64) {
		t.Errorf("%q: looked at %d bytes", src, work)
	}
}

func FuzzAppendText(f *testing.F) {
	for _, piece := range hostilePieces {
		f.Add([]byte(piece+piece), "en")
		f.Add([]byte(piece+" x "+mirror(piece)), "zh")
	}
	for _, c := range readCases(f, "testdata/pages.jsonl") {
		f.Add([]byte(c.Wikitext), c.Lang)
	}
	s := NewScanner(DefaultOptions())
	f.Fuzz(func(t *testing.T, src []byte, lang string) { checkPage(t, s, src, lang) })
}

func FuzzIsRedirect(f *testing.F) {
	f.Add([]byte("#REDIRECT [[a]]"))
	f.Add([]byte("＃転送:[[a]]"))
	f.Fuzz(func(t *testing.T, src []byte) {
		redirect := IsRedirect(src)
		if redirect && !bytes.Contains(src, []byte("[[")) {
			t.Errorf("%q: a redirect without a link", src)
		}
		if redirect && len(NewScanner(DefaultOptions()).AppendText(nil, src, Page{})) > 0 {
			t.Errorf("%q: a redirect with text", src)
		}
		if IsDisambiguation(src) && !bytes.Contains(src, []byte("{{")) && !bytes.Contains(src, disambiguationSwitch) {
			t.Errorf("%q: a disambiguation without a template", src)
		}
	})
}

// pieces draws wikitext made of the given pieces.
func pieces(from ...string) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(from), 0, 30).Draw(t, "pieces"), "")
	})
}

func TestAnyMixOfMarkupKeepsTheProperties(t *testing.T) {
	s := NewScanner(DefaultOptions())
	markup := pieces(append([]string{"a", "b ", "\n", "\n\n", "]]", "}}", "}}}", "|", "=", "</ref>", "-->", "|}\n", "</nowiki>", "甲", "（", "）", "、", "(", ")", ", ", ". "}, hostilePieces...)...)
	rapid.Check(t, func(t *rapid.T) {
		checkPage(t, s, []byte(markup.Draw(t, "page")), rapid.SampledFrom([]string{"en", "zh"}).Draw(t, "lang"))
	})
}

func TestBalancedBracesNeverShow(t *testing.T) {
	s := NewScanner(DefaultOptions())
	var balanced func(depth int) *rapid.Generator[string]
	balanced = func(depth int) *rapid.Generator[string] {
		return rapid.Custom(func(t *rapid.T) string {
			var b strings.Builder
			for range rapid.IntRange(0, 4).Draw(t, "parts") {
				switch kind := rapid.IntRange(0, 5).Draw(t, "kind"); {
				case kind == 0 && depth > 0:
					name := rapid.SampledFrom([]string{"x", "nowrap", "convert", "lang|fr", "quote", "#if:", "uc:", "ubl"}).Draw(t, "name")
					b.WriteString("{{" + name + "|" + balanced(depth-1).Draw(t, "argument") + "}}")
				case kind == 1 && depth > 0:
					b.WriteString("[[a|" + rapid.SampledFrom([]string{"b", "''c''", "{{nowrap|d}}"}).Draw(t, "label") + "]]")
				case kind == 2:
					b.WriteString(rapid.SampledFrom([]string{"<ref>{{x}}</ref>", "<!-- }} -->", "'''", "\n", "* "}).Draw(t, "mark"))
				default:
					b.WriteString(rapid.StringMatching(`[a-z ,.()]{0,6}`).Draw(t, "words"))
				}
			}
			return b.String()
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		src := balanced(5).Draw(t, "page")
		text := s.AppendText(nil, []byte(src), Page{})
		for _, leak := range []string{"{{", "}}", "[[", "]]", "<ref", "''", "|"} {
			if bytes.Contains(text, []byte(leak)) {
				t.Fatalf("%q: %q leaks into %q", src, leak, text)
			}
		}
	})
}

func TestPlainProseIsItsOwnText(t *testing.T) {
	s := NewScanner(DefaultOptions())
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(rapid.StringMatching(`[\p{L}\d]([\p{L}\d ,.;()«»–"%/$-]{0,40}[\p{L}\d.])?`), 1, 5).Draw(t, "lines")
		text := s.AppendText(nil, []byte(strings.Join(lines, "\n\n")), Page{})
		spaces := regexp.MustCompile(" +")
		if got, want := string(text), spaces.ReplaceAllString(strings.Join(lines, "\n"), " "); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
		again := s.AppendText(nil, bytes.ReplaceAll(text, []byte("\n"), []byte("\n\n")), Page{})
		if !bytes.Equal(again, text) {
			t.Fatalf("the text of %q is %q", text, again)
		}
	})
}
