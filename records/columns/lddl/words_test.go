package lddl

import (
	"strings"
	"testing"
)

// Words are those of a join, whether they are short enough to be copied as a block or not.
func TestWordsAreTheTokensJoinedByASpace(t *testing.T) {
	c := &codec{}
	for _, n := range []int{1, 2, 13, 14, 15, 16, 17, 40} {
		token := strings.Repeat("x", n)
		c.tokens, c.short = append(c.tokens, token), append(c.short, newShort(token))
	}
	last := int32(len(c.tokens) - 1)
	for _, ids := range [][]int32{{}, {0}, {last}, {0, 1, 2, 3, 4, 5, 6, 7}, {7, 6, 5, 4, 3, 2, 1, 0}, {3, 3, 4, 4}} {
		var want []string
		for _, id := range ids {
			want = append(want, c.tokens[id])
		}
		if got, err := c.words(ids); err != nil || got != strings.Join(want, " ") {
			t.Errorf("%v: got %q, %v, want %q", ids, got, err, strings.Join(want, " "))
		}
	}
}
