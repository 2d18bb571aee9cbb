package survey

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"pretext/internal/extsort"
	"pretext/internal/store"
	"pretext/records"
	"pretext/records/tfrecord"
	"pretext/sharding"
)

// A RecordDifference holds the differences between the records of two data sets.
type RecordDifference struct {
	Differ int64         `json:"differ"` // number of records that differ from the record at the same position in the same file
	First  []RecordFault `json:"first"`  // the first record that differs in each file
	A      int64         `json:"a"`      // number of records in A
	B      int64         `json:"b"`
	OnlyA  int64         `json:"only_a"` // number of records of A that no file of B contains
	OnlyB  int64         `json:"only_b"`
}

// A RecordFault is a record that differs.
type RecordFault struct {
	File    string       `json:"file"`
	Record  int64        `json:"record"`
	OffsetA int64        `json:"offset_a"`
	OffsetB int64        `json:"offset_b"`
	Only    string       `json:"only,omitempty"` // "a" or "b" if the other file ends before this record
	Fields  []FieldFault `json:"fields,omitempty"`
}

// A FieldFault is a feature whose values differ.
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
	most int             // differences to list
	a, b *extsort.Sorter // hashes of all records
}

// records compares TFRecord files in two ways: the records of files with the
// same name one by one, and all records of A with all records of B, in any
// order.
func (c comparison) records(ctx context.Context, a, b []string) (*RecordDifference, error) {
	d := recordComparison{&RecordDifference{First: []RecordFault{}}, c.Most, extsort.New(c.Temp, c.Memory/2), extsort.New(c.Temp, c.Memory/2)}
	defer d.a.Close()
	defer d.b.Close()
	other := map[string]string{}
	for _, path := range b {
		other[store.Base(path)] = path
	}
	if oneEach(a, b) {
		other = map[string]string{store.Base(a[0]): b[0]}
	}
	read := map[string]bool{}
	for _, path := range a {
		twin := other[store.Base(path)]
		read[twin] = true
		if err := d.pair(ctx, path, twin); err != nil {
			return nil, err
		}
	}
	for _, path := range b {
		if !read[path] {
			if err := d.pair(ctx, "", path); err != nil {
				return nil, err
			}
		}
	}
	return d.RecordDifference, join(ctx, d.a, d.b, func(_ uint64, as, bs []uint64) {
		d.OnlyA += int64(max(0, len(as)-len(bs)))
		d.OnlyB += int64(max(0, len(bs)-len(as)))
	})
}

// pair compares two files record by record. One of the paths may be "" if only
// A or only B has the file.
func (d recordComparison) pair(ctx context.Context, a, b string) error {
	ra, err := openRecords(ctx, a, d.a)
	if err != nil {
		return err
	}
	defer ra.close()
	rb, err := openRecords(ctx, b, d.b)
	if err != nil {
		return err
	}
	defer rb.close()
	differed := a == "" || b == "" // a missing file is reported with the files
	for {
		if err := errors.Join(ra.next(), rb.next()); err != nil {
			return err
		}
		if ra.payload == nil && rb.payload == nil {
			d.A, d.B = d.A+ra.n, d.B+rb.n
			return errors.Join(ctx.Err(), ra.flush(), rb.flush())
		}
		if bytes.Equal(ra.payload, rb.payload) && ra.payload != nil && rb.payload != nil {
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

// A recordSide reads one of the two files of a comparison.
type recordSide struct {
	path    string
	file    store.File // nil: there is no such file
	r       *tfrecord.Reader
	payload []byte // nil after the last
	offset  int64
	n       int64 // records read
	sorter  *extsort.Sorter
	batch   []extsort.Pair
}

func openRecords(ctx context.Context, path string, s *extsort.Sorter) (*recordSide, error) {
	side := &recordSide{path: path, sorter: s}
	if path == "" {
		return side, nil
	}
	var err error
	if side.file, err = store.OpenPath(ctx, path); err != nil {
		return nil, err
	}
	side.r = tfrecord.NewReader(store.NewReader(side.file, 0), tfrecord.ReaderOptions{})
	return side, nil
}

func (s *recordSide) close() {
	if s.file != nil {
		s.file.Close()
	}
}

func (s *recordSide) next() (err error) {
	s.payload = nil
	if s.r == nil {
		return nil
	}
	s.offset = s.r.Offset()
	s.payload, err = s.r.Next()
	switch {
	case err == io.EOF:
		s.payload, s.r = nil, nil
		return nil
	case err != nil:
		return &sharding.RecordError{File: s.path, Record: s.n, Offset: s.offset, Err: err}
	}
	if s.payload == nil {
		s.payload = []byte{} // an empty record is one
	}
	s.n++
	s.batch = append(s.batch, extsort.Pair{Key: extsort.Hash(s.payload)})
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
	f := RecordFault{File: store.Base(a.path), Record: max(a.n, b.n) - 1, OffsetA: a.offset, OffsetB: b.offset}
	switch {
	case b.payload == nil:
		f.Only = "a"
		return f, nil
	case a.payload == nil:
		f.Only = "b"
		return f, nil
	}
	var ea, eb records.Example
	for side, e := range map[*recordSide]*records.Example{a: &ea, b: &eb} {
		if err := e.Decode(side.payload); err != nil {
			return f, &sharding.RecordError{File: side.path, Record: side.n - 1, Offset: side.offset, Err: err}
		}
	}
	for _, list := range []struct {
		name string
		a, b []int32
	}{
		{records.InputIDs, ea.InputIDs, eb.InputIDs}, {records.InputMask, ea.InputMask, eb.InputMask}, {records.SegmentIDs, ea.SegmentIDs, eb.SegmentIDs},
		{records.MaskedLMPositions, ea.MaskedLMPositions, eb.MaskedLMPositions}, {records.MaskedLMIDs, ea.MaskedLMIDs, eb.MaskedLMIDs},
		{records.NextSentenceLabels, []int32{ea.NextSentenceLabel}, []int32{eb.NextSentenceLabel}},
	} {
		f.Fields = appendFault(f.Fields, list.name, list.a, list.b)
	}
	f.Fields = appendFault(f.Fields, records.MaskedLMWeights, ea.MaskedLMWeights, eb.MaskedLMWeights)
	return f, nil
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
