//go:build !386 && !arm && !mips && !mipsle

package hf

import (
	"fmt"
	"maps"
	"testing"

	sugarme "github.com/sugarme/tokenizer/model/bpe"
	"pgregory.net/rapid"
)

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

// parseMerges resolves merges with the parser of sugarme/tokenizer.
func parseMerges(vocab map[string]int32, pairs [][2]string) (map[pair]merged, error) {
	lines, ids := make([]string, len(pairs)), make(map[string]int, len(vocab))
	for i, p := range pairs {
		lines[i] = p[0] + " " + p[1]
	}
	for token, id := range vocab {
		ids[token] = int(id)
	}
	read, err := sugarme.New(ids, lines, nil, nil, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("merges: %w", err)
	}
	out := make(map[pair]merged, len(*read.Merges))
	for p, v := range *read.Merges {
		out[pair{int32(p.C1), int32(p.C2)}] = merged{int32(v.Rank), int32(v.NewId)}
	}
	return out, nil
}
