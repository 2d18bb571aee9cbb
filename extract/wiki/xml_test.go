package wiki

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestCharactersDecodesReferencesOnce(t *testing.T) {
	for _, c := range []struct{ raw, want string }{
		{"", ""},
		{"plain", "plain"},
		{"&lt;b&gt; &amp; &quot;x&quot; &apos;y&apos;", `<b> & "x" 'y'`},
		{"&amp;lt; &amp;amp; &amp;nbsp;", "&lt; &amp; &nbsp;"},
		{"&nbsp; &unknown; &j; & &; &lt &LT;", "&nbsp; &unknown; &j; & &; &lt &LT;"},
		{"&#65;&#x41;&#x1F600;&#x1f600;&#0065;", "AA😀😀A"},
		{"&#0; &#xD800; &#1114112; &#xFFFE; &#8;", "&#0; &#xD800; &#1114112; &#xFFFE; &#8;"},
		{"&#; &#x; &#x; &#12 &#12a; &#X41; &#-5;", "&#; &#x; &#x; &#12 &#12a; &#X41; &#-5;"},
		{"&#99999999999999999999999999;", "&#99999999999999999999999999;"},
		{"&#13;&#10;&#9;", "\r\n\t"},
		{"a\r\nb\rc\r\r\nd\n", "a\nb\nc\n\nd\n"},
		{"\r", "\n"},
		{"AT&T & co < 3", "AT&T & co < 3"},
		{"a<!-- note &lt; -->b", "ab"},
		{"<!---->a<!--b--><!--c-->d", "ad"},
		{"<![CDATA[ '''x''' &amp; <b>\r\n]]> &amp;", " '''x''' &amp; <b>\n &"},
		{"<![CDATA[]]><![CDATA[a]]>", "a"},
		{"<![CDATA[<!--]]>a<!--<![CDATA[-->b", "<!--ab"},
		{"a <!-- without end &lt;", "a <!-- without end <"},
		{"a <![CDATA[ without end &lt;", "a <![CDATA[ without end <"},
		{"a <!DOCTYPE x> &gt;", "a <!DOCTYPE x> >"},
	} {
		got := string(characters([]byte(c.raw), strings.Contains(c.raw, "<")))
		if got != c.want {
			t.Errorf("%q: got %q, want %q", c.raw, got, c.want)
		}
	}
}

func TestEscapedTextReadsBackAsItself(t *testing.T) {
	escape := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.StringOf(rapid.RuneFrom([]rune("&<>\"';#x1lt ampé\n中😀"))).Draw(t, "text")
		if got := string(characters([]byte(escape.Replace(want)), false)); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	})
}

func FuzzCharacters(f *testing.F) {
	f.Add([]byte("a&lt;b&#x41;<!-- c --><![CDATA[d]]>\r\n"))
	f.Add([]byte("<!-- <!-- <![CDATA[ &#xD800; \xff"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		out := characters(bytes.Clone(raw), bytes.IndexByte(raw, '<') >= 0)
		if len(out) > len(raw) {
			t.Errorf("%q gave %d bytes, more than %d", raw, len(out), len(raw))
		}
		// What holds neither references nor constructs nor CR is itself.
		if !bytes.ContainsAny(raw, "&\r") && !bytes.Contains(raw, []byte("<!")) && !bytes.Equal(out, raw) {
			t.Errorf("%q became %q", raw, out)
		}
		valid, dropped, first := dropInvalid(bytes.Clone(out))
		if want := strings.ToValidUTF8(string(out), ""); string(valid) != want {
			t.Errorf("%q without what is invalid: got %q, want %q", out, valid, want)
		}
		if dropped != len(out)-len(valid) || dropped > 0 && utf8.Valid(out[:first+1]) {
			t.Errorf("%q: %d bytes dropped, the first at %d", out, dropped, first)
		}
	})
}

// What is not linear would take many minutes, and end by the time limit of go
// test.
func TestHostileMarkupIsReadInLinearTime(t *testing.T) {
	const n = 2 << 20
	for _, unit := range []string{
		"<", "<!", "<!--", "<![CDATA[", "<!--<![CDATA[", "<a>", "<a/>", "<?", "</tex", "<text>", "<title>", "&", "&#0", "&#x", "&lt",
		"\r", "\xff", "<page", "<page>", "<revision>", "a=\"b\" ", "a=", "'",
	} {
		mess := []byte(strings.Repeat(unit, n/len(unit)))
		parseHead(mess)
		parseRevision(mess)
		parseHead(append([]byte("<page><title>"), mess...))
		parseRevision(append(append([]byte("<revision><text>"), mess...), "</text>"...))
		attr(mess, "deleted")
		splitAll(t, plainOf(mess, Range{0, int64(len(mess)) / 2}), defaultBounds())
		dropInvalid(characters(mess, true))
	}
}

func TestAttributesAreFoundByName(t *testing.T) {
	const attrs = ` bytes="12" title = 'a "b" deleted="x"'	xml:space="preserve" deleted="deleted" `
	for _, c := range []struct {
		name, want string
		ok         bool
	}{
		{"bytes", "12", true},
		{"title", `a "b" deleted="x"`, true},
		{"deleted", "deleted", true},
		{"space", "", false},
	} {
		got, ok := attr([]byte(attrs), c.name)
		if string(got) != c.want || ok != c.ok {
			t.Errorf("%s: got %q, %v, want %q, %v", c.name, got, ok, c.want, c.ok)
		}
	}
	for _, broken := range []string{"a", "a=", "a=b", `a="b`, "=", `"`} {
		if got, ok := attr([]byte(broken), "deleted"); ok {
			t.Errorf("%q: got %q, want nothing", broken, got)
		}
	}
}

func TestTheWalkerSkipsWhatIsNoTag(t *testing.T) {
	w := walker{b: []byte(`<?xml a?> <!-- <no> --> <a x="1">t</a> <![CDATA[<no>]]> <!DOCTYPE q> <b /> <c/> < d><!-- <no>`)}
	var got []string
	for {
		tg, ok := w.next()
		if !ok {
			break
		}
		s := string(tg.name) + string(tg.attrs)
		if tg.end {
			s = "/" + s
		}
		if tg.empty {
			s += "/"
		}
		got = append(got, s)
	}
	if g, want := strings.Join(got, "|"), `a x="1"|/a|b /|c/| d`; g != want {
		t.Errorf("got %s, want %s", g, want)
	}
}
