package squad

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"pretext/internal/pyspace"
	"pretext/tokenize"
	"pretext/trainer"
	"pretext/trainer/finetune"
)

// Options configures windows. Start from [DefaultOptions].
type Options struct {
	MaxSeqLength   int  `json:"max_seq_length"`          // maximum tokens of a window
	DocStride      int  `json:"doc_stride"`              // distance in pieces between the starts of adjacent windows
	MaxQueryLength int  `json:"max_query_length"`        // maximum pieces of a question
	Negatives      bool `json:"version_2_with_negative"` // questions may have no answer
	Pad            bool `json:"pad_to_max_seq_length"`   // also compute padding, as the reference does
}

// DefaultOptions returns the defaults of run_squad.py.
func DefaultOptions() Options {
	return Options{MaxSeqLength: 384, DocStride: 128, MaxQueryLength: 64}
}

// Validate reports every problem of o.
func (o Options) Validate() error {
	var errs []error
	if o.MaxQueryLength < 1 {
		errs = append(errs, fmt.Errorf("max_query_length %d: must be at least 1", o.MaxQueryLength))
	}
	if o.MaxSeqLength < o.MaxQueryLength+4 || o.MaxSeqLength > trainer.MaxPositions {
		errs = append(errs, fmt.Errorf("max_seq_length %d: must be from max_query_length+4, %d, to %d: [CLS] question [SEP] paragraph [SEP]",
			o.MaxSeqLength, o.MaxQueryLength+4, trainer.MaxPositions))
	}
	if o.DocStride < 1 {
		errs = append(errs, fmt.Errorf("doc_stride %d: must be at least 1", o.DocStride))
	}
	return errors.Join(errs...)
}

// A Purpose is what features are used for.
type Purpose int

// The purposes.
const (
	Predict Purpose = iota // answers are ignored
	Train                  // every question needs an answer; the first answer is the target
)

// A passage is a paragraph, tokenized to word pieces.
type passage struct {
	context string
	words   []word
	ids     []int32 // pieces
	wordOf  []int32 // word number of each piece
	firstOf []int32 // first piece of each word
}

// An item is a tokenized question.
type item struct {
	question   int32 // index in the dataset
	passage    *passage
	query      []int32
	start, end int32 // first and last piece of the answer; -1: none
}

// Features are the windows of a dataset: a [finetune.Examples].
type Features struct {
	Data *Dataset
	// Unfound lists the questions (by index) excluded from training because the
	// paragraph does not contain the answer's text at the stated position.
	Unfound []int

	o     Options
	vocab *tokenize.Vocab
	items []item
	first []int            // number of the first window of each item, then the number of all windows
	words tokenize.Options // options for encoding words
}

// NewFeatures makes the windows of a dataset. For training it is an error
// ([*finetune.DataError]) if a question has no answer and is not marked as
// impossible, or if an answer is outside its paragraph.
func NewFeatures(d *Dataset, enc *tokenize.Encoder, o Options, p Purpose) (*Features, error) {
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("windows of %s: %w", d.Name, err)
	}
	f := &Features{Data: d, o: o, vocab: enc.Vocab(), words: enc.Options()}
	b := builder{f: f, enc: enc, train: p == Train}
	for i := range d.Questions {
		if err := b.add(i); err != nil {
			return nil, err
		}
	}
	f.first = append(f.first, b.windows)
	return f, nil
}

// A builder holds the state of [NewFeatures].
type builder struct {
	f       *Features
	enc     *tokenize.Encoder
	train   bool
	windows int

	paragraph int // paragraph number of passage and chars
	passage   *passage
	chars     []int32 // word number of each character in the paragraph, for training
	answer    []int32 // pieces of an answer
	enough    []byte  // buffer for narrow
	want      []byte
}

// add adds the features of question i of the data.
func (b *builder) add(i int) error {
	q := &b.f.Data.Questions[i]
	if b.passage == nil || b.paragraph != q.Paragraph {
		b.enter(q.Paragraph)
	}
	it := item{question: int32(i), passage: b.passage, start: -1, end: -1}
	if b.train {
		found, err := b.locate(q, &it)
		if err != nil {
			return &finetune.DataError{File: b.f.Data.Name, Place: fmt.Sprintf("question %q", q.ID), Reason: err.Error()}
		}
		if !found {
			b.f.Unfound = append(b.f.Unfound, i)
			return nil
		}
	}
	it.query = b.enc.AppendIDs(nil, q.Text)
	if n := b.f.o.MaxQueryLength; len(it.query) > n {
		it.query = append([]int32(nil), it.query[:n]...)
	}
	b.f.items = append(b.f.items, it)
	b.f.first = append(b.f.first, b.windows)
	b.windows += b.f.windows(&it)
	return nil
}

// enter makes paragraph n the current one and tokenizes it, unless it already is.
func (b *builder) enter(n int) {
	text := b.f.Data.Paragraphs[n].Context
	p := &passage{context: text, words: split(text)}
	for w, at := range p.words {
		p.firstOf = append(p.firstOf, int32(len(p.ids)))
		p.ids = b.enc.AppendIDs(p.ids, text[at.from:at.to])
		for len(p.wordOf) < len(p.ids) {
			p.wordOf = append(p.wordOf, int32(w))
		}
	}
	b.paragraph, b.passage = n, p
	if b.train {
		b.chars = wordOfChar(text)
	}
}

// locate finds the first and the last piece of the question's answer and stores them in
// it. found is false if the paragraph has another text at the answer's position.
func (b *builder) locate(q *Question, it *item) (found bool, err error) {
	if q.Impossible && b.f.o.Negatives {
		return true, nil
	}
	if len(q.Answers) == 0 {
		return false, errors.New("no answer to train on: questions without answers, as in SQuAD 2.0, need --version-2-with-negative")
	}
	a, p := q.Answers[0], b.passage
	n := utf8.RuneCountInString(a.Text)
	if n == 0 || a.Start < 0 || a.Start > len(b.chars)-n {
		return false, fmt.Errorf("its answer, %d characters from character %d on, is outside its paragraph of %d characters", n, a.Start, len(b.chars))
	}
	last := a.Start + n - 1
	from, to := b.chars[a.Start], b.chars[last]
	if from < 0 || !strings.Contains(p.text(from, to), strings.Join(fields(a.Text), " ")) {
		return false, nil
	}
	it.start, it.end = p.firstOf[from], int32(len(p.ids))-1
	if int(to) < len(p.words)-1 {
		it.end = p.firstOf[to+1] - 1
	}
	b.narrow(a.Text, it)
	return true, nil
}

// narrow handles an answer that is a part of a word, such as "1895" in "(1895–1943)". It
// searches the pieces from it.start to it.end for the answer's own pieces, and narrows
// it.start and it.end to the first match.
func (b *builder) narrow(text string, it *item) {
	b.answer = b.enc.AppendIDs(b.answer[:0], text)
	n := int32(len(b.answer))
	if n == 0 || it.end < it.start || n > it.end-it.start+1 {
		return
	}
	b.enough = appendMarked(b.enough[:0], it.passage.ids[it.start:it.end+1])
	b.want = appendMarked(b.want[:0], b.answer)
	if at := bytes.Index(b.enough, b.want); at >= 0 {
		it.start += int32(at / markedSize)
		it.end = it.start + n - 1
	}
}

const markedSize = 4

// appendMarked appends each id as four bytes, so that a byte search finds sequences of
// ids: only the first byte of an id has its highest bit set. Ids must be below 2^24.
func appendMarked(dst []byte, ids []int32) []byte {
	for _, id := range ids {
		dst = append(dst, 0x80|byte(id>>21), byte(id>>14)&0x7f, byte(id>>7)&0x7f, byte(id)&0x7f)
	}
	return dst
}

// text returns words from to to of the paragraph, separated by blanks.
func (p *passage) text(from, to int32) string {
	var s strings.Builder
	for w := from; w <= to; w++ {
		if w > from {
			s.WriteByte(' ')
		}
		s.WriteString(p.context[p.words[w].from:p.words[w].to])
	}
	return s.String()
}

// place converts an offset in the result of text(w, …) to an offset in the paragraph.
// They differ because the paragraph may have more than one blank between words.
func (p *passage) place(w int32, at int) int {
	for size := int(p.words[w].to - p.words[w].from); at > size; size = int(p.words[w].to - p.words[w].from) {
		at -= size + 1
		w++
	}
	return int(p.words[w].from) + at
}

// fields splits like Python's str.split.
func fields(s string) []string { return strings.FieldsFunc(s, pyspace.IsSpace) }
