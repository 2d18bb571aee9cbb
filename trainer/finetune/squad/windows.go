package squad

import (
	"sort"

	"pretext/trainer"
	"pretext/trainer/finetune"
)

var _ finetune.Examples = (*Features)(nil)

// Options returns the options the windows were made with.
func (f *Features) Options() Options { return f.o }

// Questions returns the number of questions in f: all except Unfound.
func (f *Features) Questions() int { return len(f.items) }

// room returns the maximum number of the paragraph's pieces in a window.
func (f *Features) room(it *item) int { return f.o.MaxSeqLength - len(it.query) - 3 }

// step returns the distance between windows, in pieces.
func (f *Features) step(it *item) int { return min(f.o.DocStride, f.room(it)) }

// windows returns the number of windows of a question: 0 for an empty paragraph.
func (f *Features) windows(it *item) int {
	n, room := len(it.passage.ids), f.room(it)
	if n == 0 {
		return 0
	}
	return 1 + (max(0, n-room)+f.step(it)-1)/f.step(it)
}

// Len implements [finetune.Examples]: the number of windows.
func (f *Features) Len() int { return f.first[len(f.items)] }

// A Window is a part of a paragraph together with a question.
type Window struct {
	Question   int     // index in the dataset
	Number     int     // index among the question's windows
	Query      []int32 // pieces of the question
	Pieces     []int32 // pieces of the paragraph
	Start      int     // index of the first of Pieces in the paragraph
	Offset     int     // index of the first of Pieces in the window: len(Query)+2
	AnswerFrom int     // first piece of the answer in the window; 0 means [CLS]
	AnswerTo   int     // last piece of the answer

	f  *Features
	it *item
}

// Window returns window i. Its slices must not be changed.
func (f *Features) Window(i int) Window {
	n := sort.SearchInts(f.first, i+1) - 1
	return f.window(n, i-f.first[n])
}

// window returns window k of item n.
func (f *Features) window(n, k int) Window {
	it := &f.items[n]
	w := Window{Question: int(it.question), Number: k, Query: it.query, Start: k * f.step(it), Offset: len(it.query) + 2, f: f, it: it}
	w.Pieces = it.passage.ids[w.Start:min(len(it.passage.ids), w.Start+f.room(it))]
	if from, to := int(it.start), int(it.end); from >= w.Start && to < w.Start+len(w.Pieces) && to >= from {
		w.AnswerFrom, w.AnswerTo = from-w.Start+w.Offset, to-w.Start+w.Offset
	}
	return w
}

// Tokens returns the number of tokens of the window.
func (w Window) Tokens() int { return w.Offset + len(w.Pieces) + 1 }

// WordOf returns the number of the word in the paragraph that contains piece i.
func (w Window) WordOf(i int) int { return int(w.it.passage.wordOf[w.Start+i]) }

// MaxContext reports whether this window gives piece i the most context.
func (w Window) MaxContext(i int) bool {
	f, it := w.f, w.it
	p, step, room, n := w.Start+i, f.step(it), f.room(it), len(it.passage.ids)
	best, score := -1, 0.0
	for k := max(0, (p-room+step)/step); k*step <= p && k < f.windows(it); k++ {
		end := min(n, k*step+room) - 1
		if p > end {
			continue
		}
		s := float64(min(p-k*step, end-p)) + 0.01*float64(end-k*step+1)
		if best < 0 || s > score {
			best, score = k, s
		}
	}
	return best == w.Number
}

// Tokens implements [finetune.Examples].
func (f *Features) Tokens(i int) int {
	if f.o.Pad {
		return f.o.MaxSeqLength
	}
	return f.Window(i).Tokens()
}

// Append implements [finetune.Examples].
func (f *Features) Append(b *trainer.Batch, i int, position int64) {
	f.append(b, f.Window(i), position)
}

func (f *Features) append(b *trainer.Batch, w Window, position int64) {
	n := w.Tokens()
	size := n
	if f.o.Pad {
		size = f.o.MaxSeqLength
		b.VisibleKeys = append(b.VisibleKeys, int32(n))
	}
	ids, segments := make([]int32, 0, size), make([]int32, size)
	ids = append(append(append(ids, f.vocab.CLS()), w.Query...), f.vocab.SEP())
	ids = append(append(ids, w.Pieces...), f.vocab.SEP())
	for len(ids) < size {
		ids = append(ids, f.vocab.PAD())
	}
	for j := w.Offset; j < n; j++ {
		segments[j] = 1
	}
	b.Append(trainer.Sequence{IDs: ids, Segments: segments, NSPLabel: trainer.NoLabel, Position: position})
	b.Starts = append(b.Starts, int32(w.AnswerFrom))
	b.Ends = append(b.Ends, int32(w.AnswerTo))
}
