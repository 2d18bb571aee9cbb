//go:build !386 && !arm && !mips && !mipsle

package hf

import (
	"fmt"
	"strings"

	sugarme "github.com/sugarme/tokenizer/model/bpe"
)

// parseMerges resolves merges with the parser of sugarme/tokenizer.
func parseMerges(vocab map[string]int32, pairs [][2]string) (map[pair]merged, error) {
	lines, ids := make([]string, len(pairs)), make(map[string]int, len(vocab))
	for i, p := range pairs {
		lines[i] = p[0] + " " + p[1]
	}
	for token, id := range vocab {
		ids[token] = int(id)
	}
	var read *sugarme.BPE
	err := guard(func() (err error) {
		read, err = sugarme.New(ids, lines, nil, nil, nil, nil)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("merges: %s", strings.Join(strings.Fields(err.Error()), " "))
	}
	out := make(map[pair]merged, len(*read.Merges))
	for p, v := range *read.Merges {
		out[pair{int32(p.C1), int32(p.C2)}] = merged{int32(v.Rank), int32(v.NewId)}
	}
	return out, nil
}

// guard calls f and turns a panic into an error.
func guard(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("sugarme/tokenizer: panic: %v", r)
		}
	}()
	return f()
}
