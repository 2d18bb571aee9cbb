//go:build !386 && !arm && !mips && !mipsle

package hf

import (
	"maps"
	"testing"

	"pgregory.net/rapid"
)

// A program for 32 bits resolves all merges by resolveMerges.
func TestMergesAreThoseOfTheParserOfSugarme(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		vocab, pairs := drawMerges(t)
		want, err := parseMerges(vocab, pairs)
		if err != nil {
			t.Fatal(err)
		}
		got, err := resolveMerges(vocab, "", pairs)
		if err != nil || !maps.Equal(got, want) {
			t.Errorf("got %v, %v, want %v", got, err, want)
		}
	})
}
