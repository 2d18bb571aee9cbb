package sharding

import (
	"bytes"
	"errors"
	"testing"

	"pretext/extract"
)

// A file of counts is what was added; any other file is an error, never a panic.
func FuzzTokenCounts(f *testing.F) {
	var counts TokenCounts
	counts.Reset()
	counts.Add(&extract.Document{ID: "a", Lang: "en", Text: "abc"}, 7, true)
	counts.Add(&extract.Document{ID: "b", Text: "d"}, 1, false)
	var out bytes.Buffer
	if _, err := counts.WriteTo(&out); err != nil {
		f.Fatal(err)
	}
	f.Add(out.Bytes())
	f.Add([]byte{1, 200, 1})
	f.Fuzz(func(t *testing.T, raw []byte) {
		var again TokenCounts
		again.Reset()
		n := 0
		err := readTokenCounts(bytes.NewReader(raw), func(d *CountedDocument) error {
			n++
			again.Add(&extract.Document{Lang: d.Language}, int64(d.Tokens), d.HeldOut)
			return nil
		})
		if err != nil {
			if !errors.Is(err, ErrFormat) {
				t.Fatal(err)
			}
			return
		}
		if len(again.rows) != n*countRowBytes {
			t.Fatalf("%d documents make %d bytes", n, len(again.rows))
		}
	})
}

func TestAChoiceIsSixteenDigits(t *testing.T) {
	for text, want := range map[string]Choice{"00000000000000ff": 255, "ffffffffffffffff": 1<<64 - 1, "ff": 0, "00000000000000ff00": 0, "00000000000000fg": 0, "": 0} {
		var c Choice
		if err := c.UnmarshalText([]byte(text)); (err == nil) != (want != 0) || c != want {
			t.Errorf("%q: got %d, %v, want %d", text, c, err, want)
		}
	}
}
