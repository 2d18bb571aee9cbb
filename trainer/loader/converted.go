package loader

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"pretext/internal/store"
	"pretext/records"
	"pretext/records/tfrecord"
	"pretext/sharding"
	"pretext/sharding/examples"
)

// openConverted opens shards in the format of another library. parts lists all
// shards, in the order of the shards they were converted from. The options of the
// conversion describe how the examples were made. They hold only the form and the
// lengths if the source had no manifest, or if an earlier version converted it.
func openConverted(d *sharding.Dataset, parts []examples.Part, opts Options) (*Shards, error) {
	folder, err := store.Open(d.Path)
	if err != nil {
		return nil, err
	}
	s := &Shards{folder: folder}
	o, _ := parts[0].Options()
	if o.Examples != nil {
		if err := s.readOptions(o.Examples); err != nil {
			return nil, fmt.Errorf("read %s of %s: %w: %w", sharding.ManifestName, parts[0].Path, sharding.ErrFormat, err)
		}
	}
	s.form = cmp.Or(o.Form, records.Pairs)
	s.made.MaxSeqLength, s.made.MaxPredictionsPerSeq = o.MaxSeqLength, o.MaxPredictionsPerSeq
	for i, part := range parts {
		if opts.Split == "" || opts.Split == part.Split {
			s.files = append(s.files, File{Path: part.Path, Split: part.Split, Bytes: part.Bytes, Records: part.Count,
				name: store.Base(part.Path), ordinal: int64(i), part: &parts[i]})
		}
	}
	if len(s.files) == 0 {
		return nil, none(folder, opts)
	}
	return s, nil
}

// readPart yields the examples of a converted shard. It is the equivalent of read
// for records files: more is false if yield returned false or there was an error.
func (s *Shards) readPart(ctx context.Context, f *File, example *records.Example, yield func(Record, error) bool) (more bool, err error) {
	for r, err := range f.part.Records(ctx) {
		if err != nil {
			return false, err
		}
		record := Record{File: f.Path, Index: r.Index, Offset: r.Offset, Example: example}
		if err := s.decode(r.Payload, example); err != nil {
			return false, record.fault(err)
		}
		if !yield(record, nil) {
			return false, nil
		}
	}
	return true, nil
}

// partRecords returns the examples of a converted shard as a TFRecord stream. Close
// it after use.
func (f *File) partRecords(ctx context.Context) io.ReadCloser {
	r, w := io.Pipe()
	go func() {
		out := tfrecord.NewWriter(w, tfrecord.WriterOptions{})
		for record, err := range f.part.Records(ctx) {
			if err == nil {
				err = out.Write(record.Payload)
			}
			if err != nil {
				w.CloseWithError(err)
				return
			}
		}
		w.CloseWithError(out.Close()) // io.EOF for nil
	}()
	return r
}

// partRatio estimates the size of a converted shard as TFRecord divided by its
// size, from its first examples.
func (f *File) partRatio(ctx context.Context) (float64, error) {
	n, bytes := int64(0), int64(0)
	for r, err := range f.part.Records(ctx) {
		if err != nil {
			return 0, err
		}
		n, bytes = n+1, bytes+int64(len(r.Payload))+tfrecord.FrameBytes
		if bytes > sampleBytes {
			break
		}
	}
	return float64(bytes) / float64(max(1, n)) * float64(f.Records) / float64(max(1, f.Bytes)), nil
}
