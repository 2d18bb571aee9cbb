package loader

import (
	"fmt"
	"sync"

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
	masker  *masker // nil: the masks of the records are used
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
	epoch, index := trainer.Epoch(position, s.index.Len())
	s.order.layOut(epoch)
	window, in := s.order.find(index)
	if err := s.window.load(s.ctx, s.index, &s.order, window); err != nil {
		return 0, 0, err
	}
	return in, int64(len(s.window.order)) - in, nil
}

// read appends the example at index in of the window to p. For a bad example it
// appends the error to p.bad instead.
func (s *Source) read(p *part, own *reader, position, in int64) {
	record := Record{Example: &own.example}
	at, err := s.window.at(s.index, in, &record)
	if err == nil {
		err = s.check(record)
	}
	if err != nil {
		p.bad = append(p.bad, err)
		return
	}
	if own.masker != nil {
		own.masker.mask(record.Example, s.window.epoch, s.index.shards.files[at].ordinal, record.Index)
	}
	p.add(record.Example, position)
}

// check returns what is wrong with an example, or nil.
func (s *Source) check(r Record) error {
	if err := s.opts.Rules.Check(r.Example); err != nil {
		return r.fault(err)
	}
	if n := r.Example.Tokens(); n > s.opts.MicroBatchTokens {
		return r.fault(fmt.Errorf("%d tokens do not fit into micro-batches of %d", n, s.opts.MicroBatchTokens))
	}
	return nil
}

// settle calls Quarantine for every bad example of the step, in order of
// position. It returns the error that ends the run, or nil.
func (s *Source) settle(d *stepData) error {
	for i := range d.parts {
		for _, bad := range d.parts[i].bad {
			if s.opts.Quarantine == nil {
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

// add appends an example.
func (p *part) add(e *records.Example, position int64) {
	n, m := e.Tokens(), e.Predictions()
	p.lengths = append(p.lengths, int32(n))
	seq := trainer.Sequence{Position: position, NSPLabel: e.NextSentenceLabel}
	p.ints, seq.IDs = appendPart(p.ints, e.InputIDs[:n])
	p.ints, seq.Segments = appendPart(p.ints, e.SegmentIDs[:n])
	p.ints, seq.MaskedPositions = appendPart(p.ints, e.MaskedLMPositions[:m])
	p.ints, seq.MaskedIDs = appendPart(p.ints, e.MaskedLMIDs[:m])
	p.weights, seq.MaskedWeights = appendPart(p.weights, e.MaskedLMWeights[:m])
	p.sequences = append(p.sequences, seq)
}

// appendPart appends values to dst and also returns the slice that holds them.
// When dst is reallocated, earlier slices keep the old array, which does not
// change before the next step.
func appendPart[T any](dst, values []T) (grown, part []T) {
	start := len(dst)
	dst = append(dst, values...)
	return dst, dst[start:len(dst):len(dst)]
}
