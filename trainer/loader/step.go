package loader

import (
	"fmt"
	"slices"
	"sort"
	"sync"

	"pretext/internal/failure"
	"pretext/records"
	"pretext/trainer"
)

// A stepData holds the decoded examples of a step, without padding. All are
// read before the first batch is built, because the micro-batches depend on
// every length.
type stepData struct {
	position int64
	count    int     // number of examples in the step
	parts    []*part // pointers, because readers use them while the list grows
	err      error   // error that ended the reading, or nil
}

// A part holds examples at consecutive positions.
type part struct {
	lengths   []int32            // of each sequence; without holes
	sequences []trainer.Sequence // slices of ints and weights; without holes
	ints      []int32
	weights   []float32
	bad       []error // errors of the holes, by position
}

func (p *part) reset() {
	p.lengths, p.sequences, p.bad = p.lengths[:0], p.sequences[:0], p.bad[:0]
	p.ints, p.weights = p.ints[:0], p.weights[:0]
}

// A reader is the state of one decoding goroutine.
type reader struct {
	example records.Example
	cut     records.Example // a piece of example
	masker  *masker         // nil: the masks of the records are used
}

// fill reads the examples of a step into d. While it runs, nothing else may use
// s.
func (s *Source) fill(d *stepData, position int64, sequences int) {
	d.position, d.count, d.err = position, sequences, nil
	used := 0
	for at, end := position, position+int64(sequences); at < end && d.err == nil; {
		var in, n int64
		if in, n, d.err = s.load(at); d.err != nil {
			break
		}
		n = min(n, end-at)
		used = s.decode(d, used, at, in, n)
		at += n
	}
	for i := used; i < len(d.parts); i++ {
		d.parts[i].reset()
	}
}

// decode decodes n examples of the loaded window, starting at index in, into
// d.parts[used] and the parts after it. position is the position of the first
// example. It returns the new number of used parts. Each reader decodes a
// contiguous range.
func (s *Source) decode(d *stepData, used int, position, in, n int64) int {
	readers := int64(len(s.readers))
	var wg sync.WaitGroup
	for r := range readers {
		from, to := n*r/readers, n*(r+1)/readers
		if from == to {
			continue
		}
		if used == len(d.parts) {
			d.parts = append(d.parts, &part{})
		}
		p, own := d.parts[used], s.readers[r]
		used++
		p.reset()
		work := func() {
			for i := from; i < to; i++ {
				s.read(p, own, position+i, in+i)
			}
		}
		if readers == 1 {
			work()
			continue
		}
		wg.Go(work)
	}
	wg.Wait()
	return used
}

// load reads the window that contains a position. in is the index of the
// position in the window, n the number of examples from there to the end of the
// window.
func (s *Source) load(position int64) (in, n int64, err error) {
	if err := s.ctx.Err(); err != nil {
		return 0, 0, err
	}
	epoch, index := trainer.Epoch(position, s.length)
	s.order.layOut(epoch)
	window := sort.Search(len(s.order.starts), func(w int) bool { return s.order.starts[w] > index }) - 1
	in = index - s.order.starts[window]
	if err := s.window.load(s.ctx, s.index, &s.order, window); err != nil {
		return 0, 0, err
	}
	return in, int64(len(s.window.order)) - in, nil
}

// read appends the example at index in of the window to p. For a bad example it
// appends the error to p.bad instead.
func (s *Source) read(p *part, own *reader, position, in int64) {
	record, place := Record{Example: &own.example}, s.window.place(in)
	at, err := s.window.at(s.index, place, &record)
	if err == nil {
		err = s.check(record)
	}
	if err != nil {
		p.bad = append(p.bad, err)
		return
	}
	e := record.Example
	if s.opts.Rules.Form.Documents() {
		own.sequence(piece(e.InputIDs, place), s.opts.Rules)
		e = &own.cut
	}
	if own.masker != nil {
		own.masker.mask(e, draw{s.window.epoch, s.index.shards.files[at].ordinal, record.Index, int64(place.piece), position})
	}
	if s.opts.Rules.Form.Rows() && !s.opts.AttendAcross {
		p.addRow(e, position)
		return
	}
	p.add(e, position)
}

// sequence stores a piece of a document in own.cut as an example with [CLS] and
// [SEP]. ids are the tokens of the piece.
func (own *reader) sequence(ids []int32, r records.Rules) {
	e := &own.cut
	e.InputIDs = append(append(append(e.InputIDs[:0], r.CLS), ids...), r.SEP)
	e.MaskedLMPositions, e.MaskedLMIDs, e.MaskedLMWeights = e.MaskedLMPositions[:0], e.MaskedLMIDs[:0], e.MaskedLMWeights[:0]
	e.NextSentenceLabel = records.NoLabel
}

// check returns an error if an example violates a rule or is too long.
func (s *Source) check(r Record) error {
	if err := s.opts.Rules.Check(r.Example); err != nil {
		return r.fault(err)
	}
	n := r.Example.Tokens()
	switch {
	case s.opts.Rules.Form.Documents():
		return nil // its sequences fit
	case s.opts.Rules.Form.Rows() && !s.opts.AttendAcross:
		n = int(slices.Max(r.Example.SequenceLengths))
	}
	if most := s.opts.Positions; most > 0 && n > most {
		return failure.Usagef("%s: record %d has %d tokens, the model %d positions: make the data with --max-seq-length %d, or give a model with more max_position_embeddings",
			r.File, r.Index, n, most, most)
	}
	if n > s.opts.MicroBatchTokens {
		return r.fault(fmt.Errorf("%d tokens do not fit into micro-batches of %d", n, s.opts.MicroBatchTokens))
	}
	return nil
}

// settle calls Quarantine for every bad example of the step, in order of
// position. It returns the error that ends the run, or nil.
func (s *Source) settle(d *stepData) error {
	for i := range d.parts {
		for _, bad := range d.parts[i].bad {
			// After a usage error the options do not suit the data: the data is not corrupt.
			if s.opts.Quarantine == nil || failure.IsUsage(bad) {
				return bad
			}
			if err := s.opts.Quarantine(bad); err != nil {
				return err
			}
		}
	}
	return d.err
}

// lengths appends the length of every sequence of the step.
func (d *stepData) lengths(dst []int32) []int32 {
	for i := range d.parts {
		dst = append(dst, d.parts[i].lengths...)
	}
	return dst
}

// sequences appends every sequence of the step.
func (d *stepData) sequences(dst []trainer.Sequence) []trainer.Sequence {
	for i := range d.parts {
		dst = append(dst, d.parts[i].sequences...)
	}
	return dst
}

// add appends an example as one sequence.
func (p *part) add(e *records.Example, position int64) {
	p.addTokens(e, tokens{to: e.Tokens(), lastMasked: e.Predictions()}, position)
}

// addRow appends each piece of a packed row as a sequence. Sequence.Position, which
// selects the dropout masks, holds the position of the row in the lower 48 bits and
// the number of the piece above them.
func (p *part) addRow(e *records.Example, position int64) {
	var t tokens
	for i, n := range e.SequenceLengths {
		t.from, t.to = t.to, t.to+int(n)
		t.masked = t.lastMasked
		for t.lastMasked < len(e.MaskedLMPositions) && int(e.MaskedLMPositions[t.lastMasked]) < t.to {
			t.lastMasked++
		}
		p.addTokens(e, t, position+int64(i)*maxPosition)
	}
}

// tokens selects the tokens [from, to) of an example, and their entries [masked,
// lastMasked) in the example's masked_lm lists.
type tokens struct{ from, to, masked, lastMasked int }

// addTokens appends tokens of an example as a sequence.
func (p *part) addTokens(e *records.Example, t tokens, position int64) {
	p.lengths = append(p.lengths, int32(t.to-t.from))
	seq := trainer.Sequence{Position: position, NSPLabel: e.NextSentenceLabel}
	p.ints, seq.IDs = appendPart(p.ints, e.InputIDs[t.from:t.to])
	if len(e.SegmentIDs) > 0 {
		p.ints, seq.Segments = appendPart(p.ints, e.SegmentIDs[t.from:t.to])
	} else {
		p.ints, seq.Segments = appendPart(p.ints, zeros(t.to-t.from))
	}
	p.ints, seq.MaskedPositions = appendPart(p.ints, e.MaskedLMPositions[t.masked:t.lastMasked])
	for i := range seq.MaskedPositions {
		seq.MaskedPositions[i] -= int32(t.from)
	}
	p.ints, seq.MaskedIDs = appendPart(p.ints, e.MaskedLMIDs[t.masked:t.lastMasked])
	p.weights, seq.MaskedWeights = appendPart(p.weights, e.MaskedLMWeights[t.masked:t.lastMasked])
	p.sequences = append(p.sequences, seq)
}

// zeros returns a slice of n zeros, which may be shared and must not be changed.
func zeros(n int) []int32 {
	if n <= len(noSegments) {
		return noSegments[:n]
	}
	return make([]int32, n)
}

var noSegments [1 << 13]int32

// appendPart appends values to dst and also returns the slice that holds them.
// When dst is reallocated, earlier slices keep the old array, which does not
// change before the next step.
func appendPart[T any](dst, values []T) (grown, part []T) {
	start := len(dst)
	dst = append(dst, values...)
	return dst, dst[start:len(dst):len(dst)]
}
