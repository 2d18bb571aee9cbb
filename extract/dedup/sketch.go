package dedup

import (
	"crypto/sha256"
	"hash"
	"math"
	"slices"

	"pretext/extract/internal/words"
)

// A Digest identifies a text's sequence of words: texts with the same words in the same
// order have equal digests.
type Digest [16]byte

// A Sketch holds the data of a text for the search for duplicates.
type Sketch struct {
	Digest Digest
	// Bands are the hashes of the bands. Two texts whose hashes at the same index
	// are equal are candidates. Bands is nil for a text without words.
	Bands []uint64
	// Samples are some of the shingles, in ascending order, if
	// [Options.Containment] is set.
	Samples []uint64
}

// A Sketcher makes sketches and sets of shingles.
type Sketcher struct {
	options  Options
	shingles shingler
	minima   []uint64
	factors  []uint64 // the permutations are x → factor·x + offset mod 2^64
	offsets  []uint64
	bands    []uint64
	word     []byte
	plain    []byte // buffer of words to hash for the digest
	sum      hash.Hash
	samples  []uint64
	settle   int // number of samples at which duplicates are removed next
}

// NewSketcher returns a sketcher. A zero field of o means its default. For equal texts
// and options, sketches are equal on every machine.
func NewSketcher(o Options) (*Sketcher, error) {
	o = o.WithDefaults()
	if err := o.Validate(); err != nil {
		return nil, err
	}
	n := o.Bands * o.Rows
	s := &Sketcher{options: o, shingles: newShingler(o.Shingle), minima: make([]uint64, n), factors: make([]uint64, n),
		offsets: make([]uint64, n), bands: make([]uint64, o.Bands), sum: sha256.New()}
	state := uint64(0)
	next := func() uint64 { // SplitMix64
		state += words.Seed
		return words.Mix(state)
	}
	for i := range n {
		s.factors[i], s.offsets[i] = next()|1, next()
	}
	return s, nil
}

// flushBytes is the number of bytes of text that are buffered before they are
// hashed.
const flushBytes = 16 << 10

// Sketch returns the sketch of a text. The sketch is valid until the next call.
func (s *Sketcher) Sketch(text string) Sketch {
	s.sum.Reset()
	s.plain = s.plain[:0]
	s.shingles.reset()
	s.samples, s.settle = s.samples[:0], gatherSize
	for i := range s.minima {
		s.minima[i] = math.MaxUint64
	}
	s.word = eachWord(text, s.word, func(word []byte) {
		s.plain = append(append(s.plain, word...), ' ')
		if len(s.plain) >= flushBytes {
			s.sum.Write(s.plain)
			s.plain = s.plain[:0]
		}
		if shingle, ok := s.shingles.add(words.Hash(word)); ok {
			s.lower(shingle)
		}
	})
	if shingle, ok := s.shingles.rest(); ok {
		s.lower(shingle)
	}
	wordless := s.shingles.words == 0
	if wordless {
		s.plain = append(append(s.plain, 0), text...) // a zero byte, because no word begins with one
	}
	s.sum.Write(s.plain)
	s.trim()
	var sketch Sketch
	copy(sketch.Digest[:], s.sum.Sum(nil))
	if !wordless {
		s.hashBands()
		s.settleSamples()
		sketch.Bands, sketch.Samples = s.bands, s.samples
	}
	return sketch
}

// hashBands computes the hash of each band from the minima.
func (s *Sketcher) hashBands() {
	for i := range s.bands {
		h := uint64(i)
		for _, m := range s.minima[i*s.options.Rows : (i+1)*s.options.Rows] {
			h = words.Mix(h*words.Seed + m)
		}
		s.bands[i] = h
	}
}

// lower updates the minima with the hash of a shingle. If the shingle is a sample,
// lower stores it.
func (s *Sketcher) lower(shingle uint64) {
	if shingle&(1<<sampleZeros-1) == 0 && s.options.Containment > 0 {
		if s.samples = append(s.samples, shingle); len(s.samples) >= s.settle {
			s.settleSamples()
			s.settle = max(gatherSize, 2*len(s.samples))
		}
	}
	minima := s.minima
	factors, offsets := s.factors[:len(minima)], s.offsets[:len(minima)]
	for i, m := range minima {
		if v := shingle*factors[i] + offsets[i]; v < m {
			minima[i] = v
		}
	}
}

func (s *Sketcher) settleSamples() {
	slices.Sort(s.samples)
	s.samples = slices.Compact(s.samples)
}

// trim releases memory that an exceptionally long text needed.
func (s *Sketcher) trim() {
	if cap(s.word) > 1<<20 {
		s.word = nil
	}
	if cap(s.plain) > 1<<20 {
		s.plain = nil
	}
}

// A Set is the set of a text's shingles, as hashes. For a large text, it holds only the
// hashes that end in a certain number of zero bits.
type Set struct {
	zeros  uint     // hashes end in this number of zero bits
	hashes []uint64 // sorted, distinct
}

// Limits of a set, in hashes. A larger set is reduced.
const (
	setLimit   = 1 << 16
	gatherSize = 1 << 18 // hashes with duplicates, before they are sorted
)

// EachShingle calls do with the hash of each shingle of a text, in order.
func (s *Sketcher) EachShingle(text string, do func(hash uint64)) {
	s.shingles.reset()
	s.word = eachWord(text, s.word, func(word []byte) {
		if shingle, ok := s.shingles.add(words.Hash(word)); ok {
			do(shingle)
		}
	})
	if shingle, ok := s.shingles.rest(); ok {
		do(shingle)
	}
}

// Shingles returns the set of a text's shingles. It reuses the memory of spare,
// a set that is no longer needed, or the zero Set.
func (s *Sketcher) Shingles(text string, spare Set) Set {
	set := Set{hashes: spare.hashes[:0]}
	s.EachShingle(text, set.add)
	s.trim()
	set.settle()
	return set
}

func (s *Set) add(hash uint64) {
	if hash&(1<<s.zeros-1) != 0 {
		return
	}
	if s.hashes = append(s.hashes, hash); len(s.hashes) >= gatherSize {
		s.settle()
	}
}

// settle sorts the hashes, removes duplicates, and reduces the set to setLimit.
func (s *Set) settle() {
	slices.Sort(s.hashes)
	s.hashes = slices.Compact(s.hashes)
	for len(s.hashes) > setLimit {
		s.zeros++
		s.hashes = slices.DeleteFunc(s.hashes, func(h uint64) bool { return h&(1<<s.zeros-1) != 0 })
	}
}

// Len returns the approximate number of shingles of the text.
func (s Set) Len() int { return len(s.hashes) << s.zeros }

// Jaccard returns the Jaccard similarity: the number of common shingles divided
// by the number of shingles in either text.
func Jaccard(a, b Set) float64 {
	both, onlyA, onlyB := overlap(a, b)
	if both == 0 {
		return 0
	}
	return float64(both) / float64(both+onlyA+onlyB)
}

// overlap counts the shingles that are in both sets, only in a and only in b.
// If one set is reduced to hashes that end in zero bits, only such hashes of
// the other count.
func overlap(a, b Set) (both, onlyA, onlyB int) {
	zeros := max(a.zeros, b.zeros)
	mask := uint64(1)<<zeros - 1
	x, y := a.hashes, b.hashes
	for len(x) > 0 || len(y) > 0 {
		var h uint64
		inX := len(x) > 0 && (len(y) == 0 || x[0] <= y[0])
		inY := len(y) > 0 && (len(x) == 0 || y[0] <= x[0])
		if inX {
			h, x = x[0], x[1:]
		}
		if inY {
			h, y = y[0], y[1:]
		}
		switch {
		case h&mask != 0:
		case inX && inY:
			both++
		case inX:
			onlyA++
		default:
			onlyB++
		}
	}
	return both, onlyA, onlyB
}
