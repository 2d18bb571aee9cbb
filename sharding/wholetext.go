package sharding

import (
	"pretext/records/pretrain"
	"pretext/tokenize/sentence"
)

// A wholeText is a text with its token ids.
type wholeText struct {
	text string
	ids  []int32
}

// sentenceEnds finds the ends of sentences in the token ids of a text. It reuses its
// memory for the next text.
//
// A tokenizer does not report the position of a token in the text. So each sentence, with
// the white space before it, is also tokenized alone. Usually the concatenated ids of the
// sentences equal the ids of the text. They differ if a token spans the white space
// between two sentences: Llama 3 has a token for a full stop and the end of a line. Then
// [agreement] finds the end by comparing the ids before it.
type sentenceEnds struct {
	spans []sentence.Span
	alone []int32
	ends  []int
}

// find returns the end of each sentence, as an index of the first id after it, in
// ascending order. The last end is the number of ids. White space belongs to the sentence
// after it. The result is valid until the next call.
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
	maxShift    = 4 // maximum number of tokens by which an end is moved
	agreeTokens = 3 // number of tokens before an end that must be equal
)

// agreement returns the end of a sentence that begins at ids[from]. alone are its ids
// when it is tokenized alone. The end is the index nearest to from+len(alone) at which
// the ids before the last one agree with those of alone.
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

// equalTokens reports whether the ids are equal, ignoring their marks.
func equalTokens(a, b []int32) bool {
	for i, id := range a {
		if (id^b[i])&^pretrain.Continues != 0 {
			return false
		}
	}
	return true
}
