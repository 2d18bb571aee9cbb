package wikitext

import (
	"cmp"
	"iter"
	"slices"
	"unicode/utf8"
)

// tallySize is the maximum number of distinct names in a [Tally]. A full Wikipedia uses
// a few hundred thousand template names. A name that is worth supporting has far more
// than 1/2048 of all uses.
const tallySize = 2048

// maxTallyName is the maximum length of a counted name in bytes. Longer names are
// truncated.
const maxTallyName = 64

// A Tally counts names in bounded memory with a Misra-Gries summary ("Finding repeated
// elements", 1982). Counts are exact while at most 2,048 distinct names were added.
// After that, a count may be too low by at most [Tally.Slack], and every name with more
// uses than Slack is present.
//
// The zero value is ready to use. The same additions in the same order give the same
// tally.
type Tally struct {
	index map[string]int // name → place in names, counts
	names []string
	count []int
	slack int
}

// Add counts n uses of a name. If the name is new and the tally is full, Add subtracts
// the smallest amount that makes room from n and from all counts.
func (t *Tally) Add(name []byte, n int) {
	name = cutName(name)
	if k, ok := t.index[string(name)]; ok { // no allocation for a known name
		t.count[k] += n
		return
	}
	if len(t.names) >= tallySize {
		low := min(slices.Min(t.count), n)
		t.shrink(low)
		n -= low
	}
	if n <= 0 {
		return
	}
	if t.index == nil {
		t.index = make(map[string]int)
	}
	t.index[string(name)] = len(t.names)
	t.names = append(t.names, string(name))
	t.count = append(t.count, n)
}

// cutName truncates a name that is too long, without splitting a character.
func cutName(name []byte) []byte {
	if len(name) <= maxTallyName {
		return name
	}
	end := maxTallyName
	for end > maxTallyName-utf8.UTFMax && !utf8.RuneStart(name[end]) {
		end--
	}
	return name[:end]
}

// shrink subtracts low from all counts and removes names whose count becomes 0.
func (t *Tally) shrink(low int) {
	t.slack += low
	kept := 0
	for k, name := range t.names {
		if t.count[k] -= low; t.count[k] <= 0 {
			delete(t.index, name)
			continue
		}
		t.names[kept], t.count[kept], t.index[name] = name, t.count[k], kept
		kept++
	}
	t.names, t.count = t.names[:kept], t.count[:kept]
}

// Slack returns the maximum error of a count: counts may be too low by up to Slack, and
// are never too high.
func (t *Tally) Slack() int { return t.slack }

// All yields the names with their counts, in order of decreasing count. Names with
// equal counts are in alphabetical order.
func (t *Tally) All() iter.Seq2[string, int] {
	order := make([]int, len(t.names))
	for k := range order {
		order[k] = k
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(t.count[b], t.count[a]), cmp.Compare(t.names[a], t.names[b]))
	})
	return func(yield func(string, int) bool) {
		for _, k := range order {
			if !yield(t.names[k], t.count[k]) {
				return
			}
		}
	}
}
