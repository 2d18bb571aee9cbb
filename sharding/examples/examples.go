// Package examples reads the examples of a data set one after the other, in any format:
// TFRecord, or a format of package columns that prepare-data convert wrote.
//
//	parts, err := examples.Of(ctx, stage, manifest)
//	if err != nil {
//		return err
//	}
//	for _, part := range parts {
//		for r, err := range part.Records(ctx) {
//			if err != nil {
//				return err
//			}
//			fmt.Println(part.Path, r.Index, len(r.Payload))
//		}
//	}
//
// The payload of an example is always the bytes of a tf.train.Example. For a TFRecord
// file these are the bytes in the file. For other formats they are the bytes of the
// record from which the row was made. So equal examples have equal payloads.
package examples

import (
	"context"
	"fmt"
	"io"
	"iter"

	"pretext/internal/store"
	"pretext/records/tfrecord"
	"pretext/sharding"
)

// A Part describes the examples of one shard, or of one TFRecord file.
type Part struct {
	Path  string // path of the file; if a shard has several files, their common prefix
	Split string // [sharding.Train], [sharding.Eval], or "" if the name gives no split
	Bytes int64  // size of its files
	Count int64  // number of examples according to the manifest; -1: no manifest

	converted *Converted // folder of the converted shard; nil for a TFRecord file
	sideCar   string     // name of the converted shard's side-car
}

// Options returns the options of the conversion that wrote the part. ok is false for a
// TFRecord file.
func (p Part) Options() (o sharding.ConvertOptions, ok bool) {
	if p.converted == nil {
		return o, false
	}
	return p.converted.Options, true
}

// A Record is one example.
type Record struct {
	Index   int64  // index in the part, from 0
	Offset  int64  // first byte in the uncompressed TFRecord file; -1 in other formats
	Payload []byte // valid until the next iteration
}

// Files returns one [Part] for each TFRecord file in paths. Without a manifest the number
// of examples is unknown, so Count is -1.
func Files(ctx context.Context, paths []string) (parts []Part, err error) {
	for _, path := range paths {
		info, err := store.Stat(ctx, path)
		if err != nil {
			return nil, err
		}
		name, _ := sharding.ParseShardName(store.Base(path))
		parts = append(parts, Part{Path: path, Split: name.Split, Bytes: info.Size(), Count: -1})
	}
	return parts, nil
}

// Open returns the parts of the converted shards at a path. If there are none, it returns
// no parts. It also returns none if the original shards are at the same path, because
// package trainer/loader opens TFRecord files itself.
func Open(ctx context.Context, d *sharding.Dataset) ([]Part, error) {
	var folders []*sharding.Stage
	var manifests []*sharding.Manifest
	if shards, err := d.Shards(ctx); err == nil && shards.Stage == sharding.StageExamples {
		return nil, nil
	}
	stages, err := d.Stages(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range stages {
		switch s.Stage {
		case sharding.StageExamples:
			return nil, nil
		case sharding.StageConvert:
			m, err := sharding.ReadManifest(ctx, s)
			if err != nil {
				return nil, err
			}
			folders, manifests = append(folders, s), append(manifests, m)
		}
	}
	return Splits(d.Path, folders, manifests)
}

// Of returns the parts of a stage's folder, sorted by name. If the folder has no
// examples, there are none.
func Of(ctx context.Context, s *sharding.Stage, m *sharding.Manifest) (parts []Part, err error) {
	if m.Stage == sharding.StageConvert {
		c, err := OpenConverted(s, m)
		if err != nil {
			return nil, err
		}
		return c.parts(m), nil
	}
	for _, e := range m.RecordFiles() {
		name, _ := sharding.ParseShardName(e.Name)
		parts = append(parts, Part{Path: s.Path(e.Name), Split: name.Split, Bytes: e.Bytes, Count: sharding.Records.Of(e.Counts)})
	}
	return parts, nil
}

// Records yields the examples of the part in order, and at most one error. The error
// names the file. For corrupt data it is a [*sharding.RecordError] or a
// [*sharding.DamageError] with the position, or matches [columns.ErrCorrupt].
func (p Part) Records(ctx context.Context) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		read := p.tfrecords
		if p.converted != nil {
			read = p.rows
		}
		n := int64(0)
		for r, err := range read(ctx) {
			if err == nil {
				if n++; n%1024 == 0 {
					err = ctx.Err()
				}
			}
			if !yield(r, err) || err != nil {
				return
			}
		}
		if p.Count >= 0 && p.Count != n {
			yield(Record{}, &sharding.DamageError{Problems: []sharding.Problem{{File: p.Path,
				Reason: fmt.Sprintf("%d records, the manifest says %d", n, p.Count)}}})
		}
	}
}

// tfrecords yields the records of a TFRecord file.
func (p Part) tfrecords(ctx context.Context) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		f, err := store.OpenStream(ctx, p.Path)
		if err != nil {
			yield(Record{}, sharding.Missing(p.Path, err))
			return
		}
		defer f.Close()
		r := tfrecord.NewReader(store.NewReader(f, 0), tfrecord.ReaderOptions{})
		for {
			record := Record{Index: r.Records(), Offset: r.Offset()}
			record.Payload, err = r.Next()
			if err == io.EOF {
				return
			}
			if err != nil {
				err = p.Fault(record, err)
			}
			if !yield(record, err) || err != nil {
				return
			}
		}
	}
}

// Fault adds the position of a record to an error about the record.
func (p Part) Fault(r Record, err error) error {
	return &sharding.RecordError{File: p.Path, Record: r.Index, Offset: r.Offset, Err: err}
}
