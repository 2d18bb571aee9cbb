package utf8scan

import (
	"bytes"
	"fmt"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"pretext/internal/dev/realdata"
)

// checkValid compares Valid and ValidString with the library's function.
func checkValid(t interface{ Errorf(string, ...any) }, b []byte) {
	if got, want := Valid(b), utf8.Valid(b); got != want {
		t.Errorf("%q: got %v, want %v", b, got, want)
	}
	if got, want := ValidString(string(b)), utf8.Valid(b); got != want {
		t.Errorf("string %q: got %v, want %v", b, got, want)
	}
}

// Every pair of bytes that may begin a character, with continuations and
// without, on every place around the seam of two blocks.
func TestValidityOfEveryPairAroundASeam(t *testing.T) {
	realdata.Vectors(t, "AVX2", "NEON")
	for first := 0; first < 256; first++ {
		for second := 0; second < 256; second++ {
			for _, rest := range []string{"", "\x80", "\x80\x80", "\x80\x80\x80"} {
				seq := append([]byte{byte(first), byte(second)}, rest...)
				for _, at := range []int{27, 28, 29, 30, 31, 32, 60, 61, 62, 63, 64} {
					b := bytes.Repeat([]byte("a"), 96)
					copy(b[at:], seq)
					checkValid(t, b)
					checkValid(t, b[:at+len(seq)])
				}
			}
		}
	}
}

func TestValidityOfTextsOfManyScripts(t *testing.T) {
	realdata.Vectors(t, "AVX2", "NEON")
	pieces := []string{"a", "text of ASCII that is longer than a block of it", "é", "ж", "日本語", "𝄞", "\uFFFD", "\u07FF", "\u0800", "\uD7FF", "\uE000", "\U0010FFFF",
		"\xc0\x80", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf0\x8f\xbf\xbf", "\xff", "\x80", "\xe3\x81", "\xf0\x9d\x84"}
	rapid.Check(t, func(t *rapid.T) {
		sound := rapid.Bool().Draw(t, "sound")
		n := len(pieces)
		if sound {
			n = 12
		}
		var b []byte
		for range rapid.IntRange(0, 60).Draw(t, "pieces") {
			b = append(b, pieces[rapid.IntRange(0, n-1).Draw(t, "piece")]...)
		}
		checkValid(t, b)
	})
}

func FuzzValidUTF8(f *testing.F) {
	f.Add([]byte("text"), 3)
	f.Add([]byte("日本語\xe3\x81"), 20)
	f.Fuzz(func(t *testing.T, b []byte, times int) { checkValid(t, bytes.Repeat(b, times&63)) })
}

func BenchmarkValid(b *testing.B) {
	for _, text := range []string{"Latin text with an é now and then. ", "日本語の文章は三バイトの文字から成る。", "Русский текст состоит из двух байтов на букву. "} {
		text := bytes.Repeat([]byte(text), 10_000)
		for _, f := range []struct {
			name  string
			valid func([]byte) bool
		}{{"library", utf8.Valid}, {"ours", Valid}} {
			b.Run(fmt.Sprintf("%s/%.12s", f.name, text), func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					if !f.valid(text) {
						b.Fatal("not valid")
					}
				}
			})
		}
	}
}
