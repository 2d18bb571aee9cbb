//go:build 386 || arm || mips || mipsle

package hf

import "fmt"

// parseMerges resolves merges here: sugarme/tokenizer does not compile for 32 bits.
func parseMerges(vocab map[string]int32, pairs [][2]string) (map[pair]merged, error) {
	merges, err := resolveMerges(vocab, "", pairs)
	if err != nil {
		return nil, fmt.Errorf("merges: %w", err)
	}
	return merges, nil
}
