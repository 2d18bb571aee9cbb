package bert

import (
	"slices"

	"pretext/trainer"
)

// A Selection is the set of rows of a batch whose encoder output is needed: masked
// tokens, and the first token of each sequence if there is a pooler. After its attention,
// the last layer is computed only for these rows. This gives the same result, because from
// there on no row depends on another, and the gradients of all other rows are zero. A span
// head and trainer.OutputHidden need every row.
type Selection struct {
	All  bool    // every row is selected; Rows is not set
	Rows []int32 // ascending: row i of the encoder's output belongs to row Rows[i] of the batch

	place []int32 // row of the encoder's output for each selected row of the batch
}

// Choose selects the rows of b that the heads h and the wanted outputs read.
func (s *Selection) Choose(b *trainer.Batch, h trainer.Heads, want trainer.Output) {
	s.Rows = s.Rows[:0]
	if s.All = h.Span || want&trainer.OutputHidden != 0; s.All {
		return
	}
	const read = -1
	s.place = slices.Grow(s.place[:0], b.Tokens())[:b.Tokens()]
	clear(s.place)
	if h.MLM {
		for _, r := range b.MaskedIndex {
			s.place[r] = read
		}
	}
	if h.Pooled() {
		for _, r := range b.CuSeqlens[:b.Sequences()] {
			s.place[r] = read
		}
	}
	for r, p := range s.place {
		if p == read {
			s.place[r] = int32(len(s.Rows))
			s.Rows = append(s.Rows, int32(r))
		}
	}
}

// At returns the row of the encoder's output for a selected row of the batch.
func (s *Selection) At(row int32) int {
	if s.All {
		return int(row)
	}
	return int(s.place[row])
}
