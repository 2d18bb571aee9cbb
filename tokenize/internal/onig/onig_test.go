package onig

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func matchesOf(t testing.TB, pattern, text string) (out []string) {
	t.Helper()
	re, err := Compile(pattern)
	if err != nil {
		t.Fatal(err)
	}
	for m := re.Matches(text); m.Next(); {
		out = append(out, text[m.Start:m.End])
	}
	return out
}

func TestMatches(t *testing.T) {
	for _, test := range []struct{ pattern, text, want string }{
		{`a|ab`, "abab", "a|a"},
		{`\s+(?!\S)|\s+`, "a   b ", "  | | "},
		{`\p{N}{1,3}`, "1234567", "123|456|7"},
		{`(?i:'s|'t|'ll)`, "x'S y'LL 'ſ", "'S|'LL|'ſ"},
		{`[^\r\n\p{L}\p{N}]?\p{L}+`, " the,cat\nx", " the|,cat|x"},
		{`[^a-c&&\w]+`, "abc xyz!", " xyz!"},
		{`[a-w&&[^c-g]z]+`, "abcdhz", "ab|h"},
		{`a??b`, "aab", "ab"},
		{`a{2}?`, "aaa", "aa|"},
		{`(?<=\d{1,2})x`, "1x ax 22x", "x|x"},
		{`(?<!a)b`, "ab b", "b"},
		{`a?+a`, "aa", "aa"},
		{`(?>a|ab)c`, "abc ac", "ac"},
		{`a*`, "baac", "|aa|"},
		{`[ab]*[bc]+|a`, "abab aabc", "abab|aabc"},
		{`[ab]?b`, "ab b", "ab|b"},
		{`\s*\n+x`, " \n \n\nx", " \n \n\nx"},
		{`(a*|b)a`, "aaa", "aaa"},
		{`(?:a+)+b|a`, "aab aa", "aab|a|a"},
		{`^.`, "ab\ncd\n", "a|c"},
		{`.$`, "ab\ncd\n", "b|d"},
		{`\bx\B`, "xa x ax", "x"},
		{`[[:punct:]]+`, "a$,b", "$,"},
		{`(?m:.)+`, "a\nb", "a\nb"},
		{`\u0041\x{42}\x43`, "ABC", "ABC"},
		{`\R`, "\r\n\n", "\r\n|\n"},
		{`a(?i)b|C`, "aB ac A", "aB|ac"},
		{`{x{,2}y`, "{xxy", "{xxy"},
		{`\w[\w][[:word:]]|[\w]`, "½½½a¼", "a"},
		{`\w+`, "½a", "½a"},
		{`[\W]+`, "a½²b³¹", "½²|³¹"},
		{`[^\w]+`, "a½b!", "½|!"},
		{`\p{Han}+|\p{^Han}`, "世界a", "世界|a"},
	} {
		if got := strings.Join(matchesOf(t, test.pattern, test.text), "|"); got != test.want {
			t.Errorf("%s in %q: got %q, want %q", test.pattern, test.text, got, test.want)
		}
	}
}

func TestCompileNamesWhatItRefuses(t *testing.T) {
	for _, test := range []struct{ pattern, want string }{
		{`(a)\1`, `back references`}, {`(?s).`, `(?s: not supported`}, {`(a*)*`, "can be empty"}, {`a)`, "unmatched )"},
		{`(a`, "without )"}, {`[a`, "unexpected end"}, {`\p{Klingon}`, `\p{Klingon}: not supported`}, {`*a`, "nothing to repeat"},
		{`(?i)ss`, "several"}, {`(?i)[ß]`, "several"}, {`(?<=a+)b`, "unlimited length"}, {`\K`, `\K: not supported`}, {"\xff", "UTF-8"},
		{`(?~a)`, "(?~: not supported"}, {`a{2,1}`, "not supported"}, {strings.Repeat("(", 200), "groups inside"},
		{strings.Repeat("((ab){1000}){1000}", 3), "too large"}, {`[]a]`, "empty set"}, {`[b-a]`, "range"}, {`\xff`, "byte"},
	} {
		if _, err := Compile(test.pattern); err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.40q: got %v, want %q", test.pattern, err, test.want)
		}
	}
}

func TestNoExpressionTakesExponentialTime(t *testing.T) {
	for _, pattern := range []string{`(a+)+$b`, `(a|aa)+c`, `(?=(a+)+c)x|(a|a)*c`, `(?:a?){30}a{30}`} {
		start := time.Now()
		matchesOf(t, pattern, strings.Repeat("a", 60))
		if d := time.Since(start); d > 10*time.Second {
			t.Errorf("%s: %v", pattern, d)
		}
	}
}

// FuzzCompile checks that matches lie in order inside the text.
func FuzzCompile(f *testing.F) {
	f.Add(`\s+(?!\S)|[^\s\p{L}]+`, "a  b")
	f.Add(`(?i:'s)|(?<=a)b{1,2}+?`, "'S abb")
	f.Fuzz(func(t *testing.T, pattern, text string) {
		text = strings.ToValidUTF8(text, "")
		re, err := Compile(pattern)
		if err != nil || len(text) > 200 || len(re.code) > 2000 {
			return
		}
		last := 0
		for m := re.Matches(text); m.Next(); {
			if m.Start < last || m.End < m.Start || m.End > len(text) {
				t.Fatalf("%q in %q: match %d to %d after %d", pattern, text, m.Start, m.End, last)
			}
			last = m.End
		}
	})
}

func TestLiteralMatchesItself(t *testing.T) {
	re, err := Literal("a.[é")
	if err != nil {
		t.Fatal(err)
	}
	var got []int
	for m := re.Matches("xa.[éa.["); m.Next(); {
		got = append(got, m.Start, m.End)
	}
	if !slices.Equal(got, []int{1, 6}) {
		t.Errorf("got %v", got)
	}
}
