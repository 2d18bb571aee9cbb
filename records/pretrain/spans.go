package pretrain

import "pretext/internal/pyrandom"

// Lengths of spans in words, as in SpanBERT (section 3.1).
const (
	spanProb  = 0.2 // p of the geometric distribution
	spanWords = 10  // maximum length
)

// spanTries is the maximum number of spans that are drawn for an example, divided by its
// number of words. With the usual fractions of masks, an example takes far fewer draws than
// it has words.
const spanTries = 4

// spanThresholds[i] is the threshold below which a draw gives a span of at most
// i+1 words. The distribution is geometric among the lengths up to spanWords, as
// in SpanBERT's program: 3.8 words on average.
var spanThresholds = func() (t [spanWords - 1]uint64) {
	var weights [spanWords]float64
	total, weight := 0.0, spanProb
	for i := range weights {
		weights[i] = weight
		total += weight
		weight *= 1 - spanProb
	}
	sum := 0.0
	for i := range t {
		sum += weights[i] / total
		t[i] = pyrandom.Threshold(sum)
	}
	return t
}()

// chooseSpans chooses spans of whole words, with at most want tokens in all. It draws the
// length of a span, then its first word. A span ends before a word that is already chosen,
// that is not adjacent, or that would exceed want. One draw decides the fate of all tokens
// of a span.
func (m *masker) chooseSpans(tokens []int32, want int) {
	places, words := m.findWords(tokens)
	for tries := spanTries * len(words); want > 0 && tries > 0; tries-- {
		length := m.spanLength()
		from := int(m.rng.Below(uint64(len(words))))
		to := from
		for to < len(words) && to-from < length && m.free(places, words, from, to) {
			n := int(words[to].to - words[to].from)
			if n > want {
				break
			}
			want -= n
			to++
		}
		if to == from {
			continue
		}
		fate := m.draw()
		for _, at := range places[words[from].from:words[to-1].to] {
			m.become(tokens, at, fate)
		}
	}
}

// free reports whether the span that begins with the word from, and ends before the word
// to, can be extended by the word to.
func (m *masker) free(places []uint16, words []word, from, to int) bool {
	at := places[words[to].from]
	if m.chosen[at/64]&(1<<(at%64)) != 0 {
		return false
	}
	return to == from || at == places[words[to-1].to-1]+1
}

func (m *masker) spanLength() int {
	draw := m.rng.Bits53()
	for i, t := range spanThresholds {
		if draw < t {
			return i + 1
		}
	}
	return spanWords
}
