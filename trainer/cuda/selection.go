package cuda

import "pretext/trainer"

// A selection is the set of rows of the encoder's output that something reads:
// masked tokens, and the first token of each sequence if there is a pooler. As in
// trainer/cpu, the last layer is computed only for these rows behind its
// attention. A span head reads every row.
type selection struct {
	all   bool
	rows  []int32 // ascending rows of the batch, one for each row of the output
	place []int32 // (tokens) index in the output of a row of the batch, if selected
}

// choose sets the selection of a pass.
func (s *selection) choose(b *trainer.Batch, h trainer.Heads, want trainer.Output) {
	s.rows = s.rows[:0]
	if s.all = h.Span || want&trainer.OutputHidden != 0; s.all {
		return
	}
	const read = -1
	s.place = resize(s.place, b.Tokens())
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
			s.place[r] = int32(len(s.rows))
			s.rows = append(s.rows, int32(r))
		}
	}
}

// at returns the index in the output of a selected row of the batch.
func (s *selection) at(row int32) int {
	if s.all {
		return int(row)
	}
	return int(s.place[row])
}
