package dedup

import (
	"crypto/sha256"
	"hash"
	"math"
	"slices"
)

// A Digest tells texts of equal words.
type Digest [16]byte

// A Sketch is what is kept of a text.
type Sketch struct {
	Digest Digest
	// Bands are the hashes of the bands: two texts with an equal one at the same
	// place are candidates. Nil for a text without words.
	Bands []uint64
	// Samples are some of the shingles, ascending, where [Options.Containment]
	// asks for them.
	Samples []uint64
}

// A Sketcher makes sketches and sets of shingles.
type Sketcher struct {
	options  Options
	shingles shingler
	minima   []uint64
	factors  []uint64 // of the permutations x → factor·x + offset mod 2^64
	offsets  []uint64
	bands    []uint64
	word     []byte
	plain    []byte // words on their way into the digest
	sum      hash.Hash
	samples  []uint64
	settle   int // number of samples at which repeats are dropped
}

// NewSketcher returns a sketcher of options, with defaults for those that are
// zero. Sketches of equal options are the same on every machine.
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
		state += hashSeed
		return mix(state)
	}
	for i := range n {
		s.factors[i], s.offsets[i] = next()|1, next()
	}
	return s, nil
}

// flushBytes is how much plain text is gathered before it is hashed.
const flushBytes = 16 << 10

// Sketch returns the sketch of a text, which is the sketcher's until the next
// call.
func (s *Sketcher) Sketch(text string) Sketch {
	s.sum.Reset()
	s.plain = s.plain[:0]
	s.shingles.reset()
	s.samples, s.settle = s.samples[:0], gatherSize
	for i := range s.minima {
		s.minima[i] = math.MaxUint64
	}
	s.word = words(text, s.word, func(word []byte) {
		s.plain = append(append(s.plain, word...), ' ')
		if len(s.plain) >= flushBytes {
			s.sum.Write(s.plain)
			s.plain = s.plain[:0]
		}
		if shingle, ok := s.shingles.add(hashWord(word)); ok {
			s.lower(shingle)
		}
	})
	if shingle, ok := s.shingles.rest(); ok {
		s.lower(shingle)
	}
	wordless := s.shingles.words == 0
	if wordless {
		s.plain = append(append(s.plain, 0), text...) // no word begins with a zero byte
	}
	s.sum.Write(s.plain)
	s.trim()
	var sketch Sketch
	copy(sketch.Digest[:], s.sum.Sum(nil))
	if wordless {
		return sketch
	}
	for i := range s.bands {
		h := uint64(i)
		for _, m := range s.minima[i*s.options.Rows : (i+1)*s.options.Rows] {
			h = mix(h*hashSeed + m)
		}
		s.bands[i] = h
	}
	s.settleSamples()
	sketch.Bands, sketch.Samples = s.bands, s.samples
	return sketch
}

// lower lowers the minima by a shingle, and keeps it where it is a sample.
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

// trim lets go of what a text without end needed.
func (s *Sketcher) trim() {
	if cap(s.word) > 1<<20 {
		s.word = nil
	}
	if cap(s.plain) > 1<<20 {
		s.plain = nil
	}
}

// A Set is the shingles of a text, or of a large text those whose hashes end in
// some zero bits.
type Set struct {
	zeros  uint     // that all hashes end in
	hashes []uint64 // sorted, distinct
}

// Limits of a set: it is thinned when it has more.
const (
	setLimit   = 1 << 16
	gatherSize = 1 << 18 // hashes with repeats, before they are sorted
)

// Shingles returns the set of a text's shingles. It uses the memory of a set
// that is no longer needed.
func (s *Sketcher) Shingles(text string, spare Set) Set {
	set := Set{hashes: spare.hashes[:0]}
	s.shingles.reset()
	s.word = words(text, s.word, func(word []byte) {
		if shingle, ok := s.shingles.add(hashWord(word)); ok {
			set.add(shingle)
		}
	})
	if shingle, ok := s.shingles.rest(); ok {
		set.add(shingle)
	}
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

// settle sorts the hashes and thins them down to the limit.
func (s *Set) settle() {
	slices.Sort(s.hashes)
	s.hashes = slices.Compact(s.hashes)
	for len(s.hashes) > setLimit {
		s.zeros++
		s.hashes = slices.DeleteFunc(s.hashes, func(h uint64) bool { return h&(1<<s.zeros-1) != 0 })
	}
}

// Len returns about how many shingles the text has.
func (s Set) Len() int { return len(s.hashes) << s.zeros }

// Jaccard returns the shingles that two texts share, of those that either has.
func Jaccard(a, b Set) float64 {
	both, onlyA, onlyB := overlap(a, b)
	if both == 0 {
		return 0
	}
	return float64(both) / float64(both+onlyA+onlyB)
}

// overlap counts the shingles of two sets, thinned alike.
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
