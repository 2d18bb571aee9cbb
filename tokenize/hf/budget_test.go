package hf_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pretext/tokenize/hf"
)

// doubling returns a chain of steps that each double the text.
func doubling(steps int) map[string]any {
	one := map[string]any{"type": "Replace", "pattern": map[string]any{"String": "a"}, "content": "aa"}
	return map[string]any{"type": "Sequence", "normalizers": slices.Repeat([]any{one}, steps)}
}

func split(regex string) map[string]any {
	return map[string]any{"type": "Split", "pattern": map[string]any{"Regex": regex}, "behavior": "Isolated", "invert": false}
}

// A text for which a tokenizer asks for too much has no ids and an error that names
// it; the encoder goes on with the next text.
func TestASpentBudgetIsAnErrorAndHasNoIDs(t *testing.T) {
	for name, change := range map[string]map[string]any{
		"makes too much":       {"normalizer": doubling(60)},
		"takes too many steps": {"pre_tokenizer": split(`(a+)+$`)},
	} {
		enc := load(t, smallBPE(change)).NewEncoder()
		text := strings.Repeat("a", 50000) + "b"
		ids, starts := enc.AppendWords([]int32{7}, []bool{true}, text)
		var damaged interface{ Damaged() bool }
		err := enc.Err()
		if !errors.Is(err, hf.ErrBudget) || !errors.As(err, &damaged) || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), `"aaaa`) || len(ids) != 1 || len(starts) != 1 {
			t.Errorf("%s: got %d ids, %d starts, %v", name, len(ids), len(starts), err)
		}
		if ids := enc.AppendIDs(nil, "b b"); len(ids) == 0 || enc.Err() != nil {
			t.Errorf("%s: the next text has ids %d", name, ids)
		}
	}
}
