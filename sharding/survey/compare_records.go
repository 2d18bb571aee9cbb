package survey

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"

	"pretext/internal/extsort"
	"pretext/internal/store"
	"pretext/records"
	"pretext/sharding"
	"pretext/sharding/examples"
)

// A RecordDifference describes the differences between the records of two data sets.
type RecordDifference struct {
	Differ int64         `json:"differ"` // number of records that differ from the record at the same position in the same file
	First  []RecordFault `json:"first"`  // the first record that differs in each file
	A      int64         `json:"a"`      // number of records in A
	B      int64         `json:"b"`
	OnlyA  int64         `json:"only_a"` // number of records of A that occur in no file of B
	OnlyB  int64         `json:"only_b"`
}

// A RecordFault is a record that differs between A and B.
type RecordFault struct {
	File    string       `json:"file"`
	Record  int64        `json:"record"`
	OffsetA int64        `json:"offset_a"`
	OffsetB int64        `json:"offset_b"`
	Only    string       `json:"only,omitempty"` // "a" or "b" if the other file ends before this record
	Fields  []FieldFault `json:"fields,omitempty"`
}

// A FieldFault is a feature whose values differ between A and B.
type FieldFault struct {
	Feature string `json:"feature"`
	Differ  int    `json:"differ"` // number of values that differ
	At      int    `json:"at"`     // index of the first value that differs
	A       string `json:"a"`
	B       string `json:"b"`
}

// A recordComparison compares the records of two data sets.
type recordComparison struct {
	*RecordDifference
	most int             // maximum number of differences to list
	a, b *extsort.Sorter // hashes of all records
}

// records compares parts in two ways: it compares parts with the same name record by
// record, and it compares the set of all records in A with that in B, in any order. For
// the name see partName.
func (c comparison) records(ctx context.Context, a, b []examples.Part) (*RecordDifference, error) {
	d := recordComparison{&RecordDifference{First: []RecordFault{}}, c.Most, extsort.New(c.Temp, c.Memory/2), extsort.New(c.Temp, c.Memory/2)}
	defer d.a.Close()
	defer d.b.Close()
	other := map[string]*examples.Part{}
	for i := range b {
		other[partName(b[i])] = &b[i]
	}
	if oneEach(a, b) {
		other = map[string]*examples.Part{partName(a[0]): &b[0]}
	}
	read := map[*examples.Part]bool{}
	for i := range a {
		twin := other[partName(a[i])]
		read[twin] = true
		if err := d.pair(ctx, &a[i], twin); err != nil {
			return nil, err
		}
	}
	for i := range b {
		if !read[&b[i]] {
			if err := d.pair(ctx, nil, &b[i]); err != nil {
				return nil, err
			}
		}
	}
	return d.RecordDifference, join(ctx, d.a, d.b, func(_ uint64, as, bs []uint64) {
		d.OnlyA += int64(max(0, len(as)-len(bs)))
		d.OnlyB += int64(max(0, len(bs)-len(as)))
	})
}

// partName returns the name by which parts of A and B are matched: the name of the shard
// or, for a file that is not a shard, its base name.
func partName(p examples.Part) string {
	base := store.Base(p.Path)
	if name, ok := sharding.ParseShardName(base); ok {
		return name.String()
	}
	return base
}

// pair compares two parts record by record. a or b is nil if that data set lacks the
// part.
func (d recordComparison) pair(ctx context.Context, a, b *examples.Part) error {
	ra := openRecords(ctx, a, d.a)
	defer ra.close()
	rb := openRecords(ctx, b, d.b)
	defer rb.close()
	differed := a == nil || b == nil // a missing file is reported in FolderDifference.Files
	for {
		if err := errors.Join(ra.next(), rb.next()); err != nil {
			return err
		}
		if ra.at.Payload == nil && rb.at.Payload == nil {
			d.A, d.B = d.A+ra.n, d.B+rb.n
			return errors.Join(ctx.Err(), ra.flush(), rb.flush())
		}
		if bytes.Equal(ra.at.Payload, rb.at.Payload) && ra.at.Payload != nil && rb.at.Payload != nil {
			continue
		}
		d.Differ++
		if !differed && len(d.First) < d.most {
			fault, err := describeRecords(ra, rb)
			if err != nil {
				return err
			}
			d.First = append(d.First, fault)
		}
		differed = true
	}
}

// A recordSide reads the part on one side of a comparison.
type recordSide struct {
	part   *examples.Part // nil: the part does not exist
	pull   func() (examples.Record, error, bool)
	close  func()
	at     examples.Record // current record; Payload is nil after the last one
	n      int64           // number of records read
	sorter *extsort.Sorter
	batch  []extsort.Pair
}

func openRecords(ctx context.Context, part *examples.Part, s *extsort.Sorter) *recordSide {
	side := &recordSide{part: part, sorter: s, close: func() {}}
	if part != nil {
		side.pull, side.close = iter.Pull2(part.Records(ctx))
	}
	return side
}

func (s *recordSide) next() error {
	s.at.Payload = nil
	if s.pull == nil {
		return nil
	}
	at, err, ok := s.pull()
	if !ok || err != nil {
		s.pull = nil
		return err
	}
	s.at = at
	if s.at.Payload == nil {
		s.at.Payload = []byte{} // nil would mean the end
	}
	s.n++
	s.batch = append(s.batch, extsort.Pair{Key: extsort.Hash(s.at.Payload)})
	if len(s.batch) == hashBatch {
		return s.flush()
	}
	return nil
}

func (s *recordSide) flush() error {
	err := s.sorter.Add(s.batch)
	s.batch = s.batch[:0]
	return err
}

// describeRecords returns the features in which two records differ.
func describeRecords(a, b *recordSide) (RecordFault, error) {
	f := RecordFault{File: store.Base(a.part.Path), Record: max(a.n, b.n) - 1, OffsetA: a.at.Offset, OffsetB: b.at.Offset}
	switch {
	case b.at.Payload == nil:
		f.Only = "a"
		return f, nil
	case a.at.Payload == nil:
		f.Only = "b"
		return f, nil
	}
	var ea, eb records.Example
	for side, e := range map[*recordSide]*records.Example{a: &ea, b: &eb} {
		if _, err := e.DecodeAny(side.at.Payload); err != nil {
			return f, side.part.Fault(side.at, err)
		}
	}
	for _, list := range []struct {
		name string
		a, b []int32
	}{
		{records.InputIDs, ea.InputIDs, eb.InputIDs}, {records.InputMask, ea.InputMask, eb.InputMask}, {records.SegmentIDs, ea.SegmentIDs, eb.SegmentIDs},
		{records.MaskedLMPositions, ea.MaskedLMPositions, eb.MaskedLMPositions}, {records.MaskedLMIDs, ea.MaskedLMIDs, eb.MaskedLMIDs},
		{records.NextSentenceLabels, label(&ea), label(&eb)}, {records.SequenceLengths, ea.SequenceLengths, eb.SequenceLengths},
		{records.SentenceLengths, ea.SentenceLengths, eb.SentenceLengths},
	} {
		f.Fields = appendFault(f.Fields, list.name, list.a, list.b)
	}
	f.Fields = appendFault(f.Fields, records.MaskedLMWeights, ea.MaskedLMWeights, eb.MaskedLMWeights)
	return f, nil
}

// label returns the values of the feature next_sentence_labels.
func label(e *records.Example) []int32 {
	if e.NextSentenceLabel == records.NoLabel {
		return nil
	}
	return []int32{e.NextSentenceLabel}
}

// appendFault appends the feature called name to list if its values a and b
// differ.
func appendFault[T comparable](list []FieldFault, name string, a, b []T) []FieldFault {
	f := FieldFault{Feature: name, At: -1}
	for i := range max(len(a), len(b)) {
		if i < len(a) && i < len(b) && a[i] == b[i] {
			continue
		}
		f.Differ++
		if f.At < 0 {
			f.At, f.A, f.B = i, value(a, i), value(b, i)
		}
	}
	if f.Differ == 0 {
		return list
	}
	return append(list, f)
}

// value returns list[i] as text, or "" if i is beyond the end.
func value[T any](list []T, i int) string {
	if i >= len(list) {
		return ""
	}
	return fmt.Sprint(list[i])
}
