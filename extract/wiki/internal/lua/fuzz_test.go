package lua

import (
	"testing"
)

// FuzzPrograms runs programs twice: they end in the same way, whatever they are.
func FuzzPrograms(f *testing.F) {
	for _, source := range hostile {
		f.Add(source)
	}
	f.Add(`local t = {1, x = 2, [3] = "a", f = function(...) return ... end} for k, v in pairs(t) do t[k] = nil end return #t, t.x, -t.f(2) ^ 2 .. "b"`)
	f.Add(`return ("x=1, y=2"):gsub("(%w+)=(%d)", "%2=%1"), ("%5.1f|%q|%-5s"):format(1, "a", "b"), tonumber("0x1p4"), ("é"):byte(1, -1)`)
	f.Fuzz(func(t *testing.T, source string) {
		if len(source) > 2000 {
			return
		}
		limits := Limits{Steps: 20_000, Bytes: 1 << 20}
		one, err1 := evaluate(t, limits, source)
		two, err2 := evaluate(t, limits, source)
		if one != two || (err1 == nil) != (err2 == nil) || err1 != nil && err1.Error() != err2.Error() {
			t.Errorf("%q: %q, %v, then %q, %v", source, one, err1, two, err2)
		}
	})
}

// FuzzPatterns matches patterns with texts, as bytes and as characters.
func FuzzPatterns(f *testing.F) {
	for _, pattern := range []string{"%b()", "%f[%a]", "(a*)%1", "[^%s-]+", "^(.-)%s*$", "[]]", "[a-]", "%", "[", "(()", "a-b", "%g"} {
		f.Add("some (text) aa b-", pattern, "%0%1")
	}
	f.Fuzz(func(t *testing.T, src, pattern, replacement string) {
		m := NewMachine(Limits{Steps: 50_000, Bytes: 1 << 20})
		for _, find := range []Native{byteText.find(false), byteText.find(true), byteText.gsub, valid(runeText.find(true)), valid(runeText.gsub)} {
			_, _ = m.Try(NewFunction("f", find), src, pattern, replacement)
		}
	})
}
