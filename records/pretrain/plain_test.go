package pretrain

import (
	"math"
	"sort"

	"pretext/internal/pyrandom"
	"pretext/records"
)

// This file holds the algorithm of the original written down plainly: slices of
// tokens, one step after the other, everything in memory. Build must give the
// same; the comparison is in TestBuildIsThePlainAlgorithm.

type plainBuilder struct {
	o         Options
	v         Vocab
	rng       *pyrandom.Rand
	documents [][][]int32
}

func (b *plainBuilder) build() []*records.Example {
	pyrandom.Shuffle(b.rng, b.documents)
	var out []*records.Example
	for range b.o.DupeFactor {
		for d := range b.documents {
			out = append(out, b.fromDocument(d)...)
		}
	}
	pyrandom.Shuffle(b.rng, out)
	return out
}

func join(sentences [][]int32) (out []int32) {
	for _, s := range sentences {
		out = append(out, s...)
	}
	return out
}

func (b *plainBuilder) fromDocument(d int) (out []*records.Example) {
	document := b.documents[d]
	room := b.o.MaxSeqLength - 3
	target := room
	if b.rng.Float64() < b.o.ShortSeqProb {
		target = int(b.rng.RandInt(2, int64(room)))
	}
	var chunk [][]int32
	for i := 0; i < len(document); i++ {
		chunk = append(chunk, document[i])
		if i < len(document)-1 && len(join(chunk)) < target {
			continue
		}
		aEnd := 1
		if len(chunk) >= 2 {
			aEnd = int(b.rng.RandInt(1, int64(len(chunk))-1))
		}
		first, second, random := join(chunk[:aEnd]), join(chunk[aEnd:]), false
		if len(chunk) == 1 || b.rng.Float64() < 0.5 {
			random = true
			second = b.elsewhere(d, target-len(first))
			i -= len(chunk) - aEnd
		}
		out = append(out, b.example(first, second, random))
		chunk = nil
	}
	return out
}

func (b *plainBuilder) elsewhere(d, want int) (out []int32) {
	other := d
	for range 10 {
		other = int(b.rng.RandInt(0, int64(len(b.documents))-1))
		if other != d {
			break
		}
	}
	document := b.documents[other]
	for j := int(b.rng.RandInt(0, int64(len(document))-1)); j < len(document); j++ {
		out = append(out, document[j]...)
		if len(out) >= want {
			break
		}
	}
	return out
}

func (b *plainBuilder) example(first, second []int32, random bool) *records.Example {
	for len(first)+len(second) > b.o.MaxSeqLength-3 {
		longer := &second
		if len(first) > len(second) {
			longer = &first
		}
		if b.rng.Float64() < 0.5 {
			*longer = (*longer)[1:]
		} else {
			*longer = (*longer)[:len(*longer)-1]
		}
	}
	tokens := join([][]int32{{b.v.CLS}, first, {b.v.SEP}, second, {b.v.SEP}})
	masked, positions := b.mask(tokens)

	s, p := b.o.MaxSeqLength, b.o.MaxPredictionsPerSeq
	e := &records.Example{
		InputIDs: make([]int32, s), InputMask: make([]int32, s), SegmentIDs: make([]int32, s),
		MaskedLMPositions: make([]int32, p), MaskedLMIDs: make([]int32, p), MaskedLMWeights: make([]float32, p),
	}
	for i := range e.InputIDs {
		e.InputIDs[i] = b.v.Pad
	}
	for i, id := range masked {
		e.InputIDs[i] = id &^ Continues
	}
	for i := range tokens {
		e.InputMask[i] = 1
		if i >= len(first)+2 {
			e.SegmentIDs[i] = 1
		}
	}
	for i, at := range positions {
		e.MaskedLMPositions[i] = int32(at)
		e.MaskedLMIDs[i] = tokens[at] &^ Continues
		e.MaskedLMWeights[i] = 1
	}
	if random {
		e.NextSentenceLabel = 1
	}
	return e
}

func (b *plainBuilder) mask(tokens []int32) (masked []int32, positions []int) {
	var groups [][]int
	for i, id := range tokens {
		if id &^= Continues; id == b.v.CLS || id == b.v.SEP {
			continue
		}
		if b.o.DoWholeWordMask && len(groups) > 0 && b.v.IsSubword(tokens[i]) {
			groups[len(groups)-1] = append(groups[len(groups)-1], i)
		} else {
			groups = append(groups, []int{i})
		}
	}
	pyrandom.Shuffle(b.rng, groups)
	want := min(b.o.MaxPredictionsPerSeq, max(1, int(math.RoundToEven(float64(len(tokens))*b.o.MaskedLMProb))))
	masked = append(masked, tokens...)
	for _, group := range groups {
		if len(positions) >= want {
			break
		}
		if len(positions)+len(group) > want {
			continue
		}
		for _, at := range group {
			masked[at] = b.v.Mask
			if b.rng.Float64() >= 0.8 {
				masked[at] = tokens[at]
				if b.rng.Float64() >= 0.5 {
					masked[at] = int32(b.rng.RandInt(0, int64(b.v.Size)-1))
				}
			}
			positions = append(positions, at)
		}
	}
	sort.Ints(positions)
	return masked, positions
}
