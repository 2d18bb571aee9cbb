package sharding

import (
	"pretext/records/pretrain"
	"pretext/tokenize/sentence"
)

// A wholeText is a text with its ids.
type wholeText struct {
	text string
	ids  []int32
}

// sentenceEnds finds the ends of sentences among the ids of a text. It keeps its
// memory for the next text.
//
// A tokenizer does not say from where in the text an id is. So each sentence, with
// the white space before it, is also tokenized alone. As a rule these ids, one
// sentence after the other, are those of the text. Where they are not, because
// tokens differ around the white space between two sentences (Llama 3 has a token
// for a full stop and the end of a line), the end is where the ids before it agree.
type sentenceEnds struct {
	spans []sentence.Span
	alone []int32
	ends  []int
}

// find returns the index among the ids of t after the last one of each sentence,
// in ascending order. The last is the number of ids. White space belongs to the
// sentence after it. The result is valid until the next call.
func (s *sentenceEnds) find(tokens textEncoder, t wholeText, splitter sentence.Splitter) []int {
	s.spans, s.ends = splitter.AppendSpans(s.spans[:0], t.text), s.ends[:0]
	at, from := 0, 0
	for _, span := range s.spans {
		if span.End <= from || sentence.Strip(t.text[from:span.End]) == "" {
			continue // blank
		}
		s.alone = tokens.AppendIDs(s.alone[:0], t.text[from:span.End])
		at, from = agreement(t.ids, at, s.alone), span.End
		s.ends = append(s.ends, at)
	}
	if len(s.ends) == 0 {
		return append(s.ends, len(t.ids))
	}
	s.ends[len(s.ends)-1] = len(t.ids)
	return s.ends
}

// Limits of agreement.
const (
	maxShift    = 4 // tokens by which an end is moved
	agreeTokens = 3 // that must be equal before an end
)

// agreement returns where a sentence ends that begins at ids[from] and has the ids
// alone when it is tokenized alone: the index nearest to from+len(alone) before
// which the ids are equal to those of alone, but for the last one.
func agreement(ids []int32, from int, alone []int32) int {
	end := min(from+len(alone), len(ids))
	n := min(len(alone)-1, agreeTokens)
	if n < 1 {
		return end
	}
	want := alone[len(alone)-1-n : len(alone)-1]
	for shift := range 2*maxShift + 1 {
		at := from + len(alone) + (shift+1)/2*(1-shift%2*2) // 0, -1, 1, -2, …
		if at-1-n >= from && at <= len(ids) && equalTokens(ids[at-1-n:at-1], want) {
			return at
		}
	}
	return end
}

// equalTokens reports whether the ids are equal but for their marks.
func equalTokens(a, b []int32) bool {
	for i, id := range a {
		if (id^b[i])&^pretrain.Continues != 0 {
			return false
		}
	}
	return true
}
