package cuda

import "pretext/trainer"

// A selection is the set of tokens whose encoder output is used: masked tokens, and
// the first token of each sequence if there is a pooler. The last layer, except for
// its attention, is computed only for them, as in trainer/cpu. A span head and
// trainer.OutputHidden use all tokens.
type selection struct {
	all   bool    // every token is selected; rows and place are not set
	rows  []int32 // selected rows of the batch, ascending: row i of the encoder's output belongs to rows[i]
	place []int32 // (tokens) row of the encoder's output for each selected row of the batch
}

// choose selects the tokens of b that the heads h and the requested outputs use.
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

// at returns the row of the encoder's output for a selected row of the batch.
func (s *selection) at(row int32) int {
	if s.all {
		return int(row)
	}
	return int(s.place[row])
}
