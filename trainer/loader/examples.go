package loader

import (
	"context"
	"fmt"
	"io"
	"iter"
	"slices"

	"pretext/internal/store"
	"pretext/records"
	"pretext/records/tfrecord"
	"pretext/sharding"
)

// maxRecordBytes is the maximum size of a record. The lists of an example have
// at most 2^20 values ([records.Example.Decode]), so a longer record could only
// contain large additional features.
const maxRecordBytes = 64 << 20

// A Record is an example with its location.
type Record struct {
	File    string           // path
	Index   int64            // number in the file, from 0
	Offset  int64            // byte offset of its frame in the uncompressed file
	Example *records.Example // valid until the next iteration
}

// Examples yields every example of the selected files in order, and at most one
// error: for corrupt data a [*sharding.RecordError] or [*sharding.DamageError]. The
// sequence may be used repeatedly, and by several goroutines at once.
func (s *Shards) Examples(ctx context.Context) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		var example records.Example
		for i := range s.files {
			more, err := s.read(ctx, &s.files[i], &example, yield)
			if err != nil {
				yield(Record{}, err)
				return
			}
			if !more {
				return
			}
		}
	}
}

// read yields the examples of one file; more is false if yield returned false
// or there was an error.
func (s *Shards) read(ctx context.Context, f *File, example *records.Example, yield func(Record, error) bool) (more bool, err error) {
	if f.part != nil && f.copied == nil {
		return s.readPart(ctx, f, example, yield)
	}
	file, err := s.openAt(ctx, f, 0, store.ToEnd)
	if err != nil {
		return false, err
	}
	defer file.Close()
	r := tfrecord.NewReader(store.NewReader(file, 0), tfrecord.ReaderOptions{MaxRecordBytes: maxRecordBytes})
	for {
		record := Record{File: f.Path, Index: r.Records(), Offset: r.Offset(), Example: example}
		payload, err := r.Next()
		switch {
		case err == io.EOF:
			return true, f.checkCount(record.Index)
		case err != nil:
			return false, record.fault(err)
		case record.Index == f.Records:
			return false, f.damage(fmt.Sprintf("more than the %d records that the manifest says", f.Records))
		}
		if err := s.decode(payload, example); err != nil {
			return false, record.fault(err)
		}
		if err := ctx.Err(); err != nil {
			return false, err
		}
		if !yield(record, nil) {
			return false, nil
		}
	}
}

// firstBytes is the size of the first read of a file of which little may be needed.
const firstBytes = 64 << 10

// open opens the cached uncompressed data of a file, if there is any. Otherwise
// it opens the file and checks that its size has not changed.
func (s *Shards) open(ctx context.Context, f *File) (sharding.File, error) {
	return s.openAt(ctx, f, 0, firstBytes)
}

// openAt is open for a caller that reads the n bytes from off first.
func (s *Shards) openAt(ctx context.Context, f *File, off, n int64) (sharding.File, error) {
	if f.copied != nil && f.copied.entry.Copied {
		return f.copied.folder.Open(ctx, cacheData(f.name))
	}
	file, err := store.OpenAt(ctx, s.folder, f.name, off, n)
	if err != nil {
		return nil, sharding.Missing(f.Path, err)
	}
	if file.Size() != f.Bytes {
		file.Close()
		if s.manifest != nil {
			return nil, f.damage(fmt.Sprintf("%d bytes long, the manifest says %d", file.Size(), f.Bytes))
		}
		return nil, f.damage(fmt.Sprintf("%d bytes long, %d when it was opened first", file.Size(), f.Bytes))
	}
	return file, nil
}

// decode decodes an example and compares its lengths with the manifest.
func (s *Shards) decode(payload []byte, e *records.Example) error {
	if err := e.DecodeForm(s.form, payload); err != nil {
		return err
	}
	if s.manifest == nil {
		return nil
	}
	if n, most := len(e.InputIDs), s.made.MaxSeqLength; !s.form.Documents() && (n > most || n < most && !s.form.Varies() && !slices.Contains(s.made.LengthBins, n)) {
		return &records.FeatureError{Feature: records.InputIDs, Reason: fmt.Sprintf("%d values, max_seq_length is %d", n, most)}
	}
	if n := len(e.MaskedLMPositions); n != s.made.MaxPredictionsPerSeq && s.form.Masks() {
		return &records.FeatureError{Feature: records.MaskedLMPositions, Reason: fmt.Sprintf("%d values, max_predictions_per_seq is %d", n, s.made.MaxPredictionsPerSeq)}
	}
	return nil
}

func (f *File) checkCount(n int64) error {
	if f.Records < 0 || n == f.Records {
		return nil
	}
	return f.damage(fmt.Sprintf("%d records, the manifest says %d", n, f.Records))
}

func (f *File) damage(reason string) error {
	return &sharding.DamageError{Problems: []sharding.Problem{{File: f.Path, Reason: reason}}}
}

// fault returns a [*sharding.RecordError] with the location of r and the cause
// err.
func (r Record) fault(err error) error {
	return &sharding.RecordError{File: r.File, Record: r.Index, Offset: r.Offset, Err: err}
}
