package sharding

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"slices"

	"github.com/cespare/xxhash/v2"
)

// A MixRow is a row of the table of a mix. It describes which documents of one source are
// chosen or, with [Mix].LanguageAlpha, of one source in one language. Its counts are of
// training documents. Held-out documents are read once for the eval split, unless LeftOut
// is set.
//
// All documents are read Passes times. One more, incomplete pass reads the documents
// whose key is below Below or in Extra. So MixedTokens is as close to Wanted as possible
// with whole documents; see docs/file-format.md.
type MixRow struct {
	Source   string    `json:"source"`             // name of the source, or the key that matches several sources
	Parts    []MixPart `json:"parts,omitempty"`    // the sources of the row; nil for a single source named Source in the first folder
	Language string    `json:"language,omitempty"` // set only with LanguageAlpha

	Documents int64 `json:"documents"`
	Tokens    int64 `json:"tokens"`

	Wanted         int64 `json:"wanted_tokens"`
	MixedDocuments int64 `json:"mixed_documents"` // number of documents over all passes
	MixedTokens    int64 `json:"mixed_tokens"`

	Passes  int      `json:"passes"`
	Below   Choice   `json:"below,omitempty"`
	Extra   []Choice `json:"extra,omitempty"`
	LeftOut bool     `json:"left_out,omitempty"` // epochs or weight are 0
}

// parts returns the sources of the row.
func (r MixRow) parts() []MixPart {
	if r.Parts == nil {
		return []MixPart{{0, r.Source}}
	}
	return r.Parts
}

// Epochs returns how many times the row's tokens are read, on average.
func (r MixRow) Epochs() float64 {
	return float64(r.MixedTokens) / float64(max(1, r.Tokens))
}

// MixTable returns the table of the mix in the options of shards, or nil without a mix.
func MixTable(options json.RawMessage) []MixRow {
	var o struct{ Mix Mix }
	if json.Unmarshal(options, &o) != nil {
		return nil
	}
	return o.Mix.Table
}

// MixTokens returns the tokens of all rows, before and after mixing.
func MixTokens(table []MixRow) (before, after int64) {
	for _, r := range table {
		before, after = before+r.Tokens, after+r.MixedTokens
	}
	return before, after
}

// A Choice is a 64-bit number whose JSON form is 16 hexadecimal digits.
type Choice uint64

// MarshalText implements [encoding.TextMarshaler].
func (c Choice) MarshalText() ([]byte, error) {
	return hex.AppendEncode(nil, binary.BigEndian.AppendUint64(nil, uint64(c))), nil
}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (c *Choice) UnmarshalText(text []byte) error {
	b, err := hex.DecodeString(string(text))
	if err != nil || len(b) != 8 {
		return errors.New("want 16 hexadecimal digits")
	}
	*c = Choice(binary.BigEndian.Uint64(b))
	return nil
}

// choiceKey returns the key by which an incomplete pass chooses documents: the XXH64 hash
// of seed, pass and the hash of the document's ID, each a big-endian uint64, shifted right
// by one bit.
func choiceKey(seed int64, pass int, id uint64) Choice {
	var in [24]byte
	binary.BigEndian.PutUint64(in[:], uint64(seed))
	binary.BigEndian.PutUint64(in[8:], uint64(pass))
	binary.BigEndian.PutUint64(in[16:], id)
	return Choice(xxhash.Sum64(in[:]) >> 1) // below 2^63, so that key + 1 never overflows
}

// chosen reports whether a pass, counted from 0, reads a document of the row.
func (r *MixRow) chosen(seed int64, pass int, id uint64, heldOut bool) bool {
	switch {
	case heldOut:
		return pass == 0 && !r.LeftOut
	case pass < r.Passes:
		return true
	case pass > r.Passes || r.Below == 0 && r.Extra == nil:
		return false
	}
	key := choiceKey(seed, pass, id)
	_, extra := slices.BinarySearch(r.Extra, key)
	return key < r.Below || extra
}

// passes returns the number of passes in which documents of the row may be read.
func (r *MixRow) passes() int {
	n := r.Passes
	if r.Below > 0 || r.Extra != nil {
		n++
	}
	if n == 0 && !r.LeftOut {
		n = 1 // to read the held-out documents
	}
	return n
}

// A keyed is a candidate document for an incomplete pass.
type keyed struct {
	key    Choice
	tokens int64
}

// nearEnd is how many documents on each side of the end of an incomplete pass are chosen
// by their tokens instead of their keys. The end is where the pass has enough tokens.
const nearEnd = 15

// choose computes r.Below and r.Extra. All documents with a key below low are chosen,
// plus candidates with about gap tokens; their keys are at least low. choose takes
// candidates in the order of their keys while they fit. It then replaces the choice among
// the documents near the end by those whose tokens come closest to the gap.
func (r *MixRow) choose(candidates []keyed, low Choice, gap int64) {
	slices.SortFunc(candidates, func(a, b keyed) int { return cmp.Compare(a.key, b.key) })
	documents := candidates[:0]
	for _, d := range candidates { // documents with equal IDs are chosen together
		if n := len(documents); n > 0 && documents[n-1].key == d.key {
			documents[n-1].tokens += d.tokens
		} else {
			documents = append(documents, d)
		}
	}
	end := 0
	for end < len(documents) && documents[end].tokens <= gap {
		gap -= documents[end].tokens
		end++
	}
	near := documents[max(0, end-nearEnd):min(len(documents), end+nearEnd)]
	for _, d := range documents[max(0, end-nearEnd):end] {
		gap += d.tokens
	}
	if r.Below = low; len(near) > 0 {
		r.Below = near[0].key
	}
	for _, d := range closest(near, gap) {
		r.Extra = append(r.Extra, d.key)
	}
}

// closest returns the subset of documents whose tokens add up closest to sum. It checks
// all subsets: for each subset of the first half of the documents, it finds the best
// subset of the second half by binary search.
func closest(documents []keyed, sum int64) (best []keyed) {
	half := len(documents) / 2
	first, second := subsets(documents[:half]), subsets(documents[half:])
	order := make([]int, len(second))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(second[a], second[b]), cmp.Compare(a, b)) })
	least, chosen := int64(math.MaxInt64), 0
	for i, n := range first {
		at, _ := slices.BinarySearchFunc(order, sum-n, func(j int, n int64) int { return cmp.Compare(second[j], n) })
		for _, j := range order[max(0, at-1):min(len(order), at+1)] {
			if miss := max(n+second[j]-sum, sum-n-second[j]); miss < least {
				least, chosen = miss, j<<half|i
			}
		}
	}
	for i, d := range documents {
		if chosen>>i&1 == 1 {
			best = append(best, d)
		}
	}
	return best
}

// subsets returns the sum of tokens of each subset of documents. Bit i of an index is
// set if the subset contains document i.
func subsets(documents []keyed) []int64 {
	sums := make([]int64, 1, 1<<len(documents))
	for _, d := range documents {
		for _, n := range sums {
			sums = append(sums, n+d.tokens)
		}
	}
	return sums
}
