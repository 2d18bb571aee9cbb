package glue

import (
	"fmt"

	"pretext/tokenize"
	"pretext/trainer"
	"pretext/trainer/finetune"
)

// Examples are tokenized rows: a [finetune.Examples].
type Examples struct {
	rows  []Row
	pairs bool
	ids   []int32 // of all rows, concatenated
	ends  []int   // for each row, the end of its sequence and of its first segment
	vocab *tokenize.Vocab
}

var _ finetune.Examples = (*Examples)(nil)

// NewExamples tokenizes rows to sequences of at most length tokens.
func NewExamples(t Task, rows []Row, enc *tokenize.Encoder, length int) (*Examples, error) {
	if length < 4 || length > trainer.MaxPositions {
		return nil, fmt.Errorf("max_seq_length %d: must be from 4 to %d", length, trainer.MaxPositions)
	}
	x := &Examples{rows: rows, pairs: len(t.B) > 0, vocab: enc.Vocab()}
	var a, b []int32
	for i := range rows {
		a, b = enc.AppendIDs(a[:0], rows[i].A), b[:0]
		if x.pairs {
			b = enc.AppendIDs(b, rows[i].B)
		}
		x.add(a, b, length)
	}
	return x, nil
}

func (x *Examples) add(a, b []int32, length int) {
	if x.pairs {
		a, b = shorten(a, b, length-3)
	} else {
		a = a[:min(len(a), length-2)]
	}
	x.ids = append(append(append(x.ids, x.vocab.CLS()), a...), x.vocab.SEP())
	first := len(x.ids)
	if x.pairs {
		x.ids = append(append(x.ids, b...), x.vocab.SEP())
	}
	x.ends = append(x.ends, first, len(x.ids))
}

// shorten truncates a and b to n word pieces in total. It removes pieces one by one
// from the end of the longer list, or of b if both are equally long.
func shorten(a, b []int32, n int) (_, _ []int32) {
	over := len(a) + len(b) - n
	if over <= 0 {
		return a, b
	}
	more := min(over, max(len(a), len(b))-min(len(a), len(b))) // until they are equally long
	if len(a) > len(b) {
		a = a[:len(a)-more]
	} else {
		b = b[:len(b)-more]
	}
	over -= more
	return a[:len(a)-over/2], b[:len(b)-(over+1)/2]
}

// Len implements [finetune.Examples].
func (x *Examples) Len() int { return len(x.rows) }

// bounds returns the start of row i, the end of its first segment, and its end.
func (x *Examples) bounds(i int) (from, second, to int) {
	if i > 0 {
		from = x.ends[2*i-1]
	}
	return from, x.ends[2*i], x.ends[2*i+1]
}

// Tokens implements [finetune.Examples].
func (x *Examples) Tokens(i int) int {
	from, _, to := x.bounds(i)
	return to - from
}

// Append implements [finetune.Examples].
func (x *Examples) Append(b *trainer.Batch, i int, position int64) {
	from, second, to := x.bounds(i)
	segments := make([]int32, to-from)
	for j := second - from; j < len(segments); j++ {
		segments[j] = 1
	}
	b.Append(trainer.Sequence{IDs: x.ids[from:to], Segments: segments, NSPLabel: trainer.NoLabel, Position: position})
	b.Labels = append(b.Labels, x.rows[i].Class)
	b.Scores = append(b.Scores, x.rows[i].Score)
}
