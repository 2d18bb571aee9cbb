package extract

import (
	"testing"

	"pgregory.net/rapid"
)

func TestEveryByteThatJSONEscapesIsFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := string(rapid.SliceOfN(rapid.SampledFrom([]byte("abc \x00\x01\x1f \x21\x23[]\"\\\n\x7f\x80\xa2\xdc\xff\xe3\x81\x82")), 0, 40).Draw(t, "text"))
		i := rapid.IntRange(0, len(s)).Draw(t, "from")
		want := i
		for want < len(s) && !escape[s[want]] {
			want++
		}
		if got := nextEscape(s, i); got != want {
			t.Errorf("%q from %d: got %d, want %d", s, i, got, want)
		}
	})
}
