package loader

import (
	"context"
	"fmt"
	"io"

	"pretext/internal/failure"
	"pretext/internal/store"
	"pretext/records"
	"pretext/records/tfrecord"
	"pretext/sharding"
)

// openForeign opens a folder of third-party records files, which has no
// manifest. A file whose name gives no split belongs to train.
func openForeign(ctx context.Context, d *sharding.Dataset, opts Options) (*Shards, error) {
	folder, err := store.Open(d.Path)
	if err != nil {
		return nil, err
	}
	s := &Shards{folder: folder}
	for i, path := range d.Records {
		info, err := folder.Stat(ctx, store.Base(path))
		if err != nil {
			return nil, err
		}
		f := foreignFile(path, info.Size())
		f.ordinal = int64(i)
		if opts.Split == "" || opts.Split == f.Split || opts.Split == sharding.Train && f.Split == "" {
			s.files = append(s.files, f)
		}
	}
	if len(s.files) == 0 {
		return nil, none(folder, opts)
	}
	return s, nil
}

func foreignFile(path string, bytes int64) File {
	base := store.Base(path)
	name, _ := sharding.ParseShardName(base)
	return File{Path: path, Split: name.Split, Bytes: bytes, Records: -1, name: base}
}

// sniff sets the form of third-party records from the first record of every
// file. Records of several forms are a usage error.
func (s *Shards) sniff(ctx context.Context) error {
	s.form = records.Pairs
	first := ""
	for i := range s.files {
		f := &s.files[i]
		form, err := s.firstForm(ctx, f)
		switch {
		case err != nil:
			return err
		case form == "":
		case first == "":
			s.form, first = form, f.Path
		case form != s.form:
			return failure.Usagef("%s: its records are of the form %s, those of %s of the form %s: put the files of each form into a folder of their own", f.Path, form, first, s.form)
		}
	}
	return nil
}

// firstForm returns the form of the first record of a file. It returns "" if the
// file has no records or the first is unreadable: later reading reports the error.
func (s *Shards) firstForm(ctx context.Context, f *File) (records.Form, error) {
	file, err := s.open(ctx, f)
	if err != nil {
		return "", err
	}
	defer file.Close()
	in := &counter{r: io.LimitReader(store.NewReader(file, 0), maxRecordBytes)}
	payload, err := tfrecord.NewReader(in, tfrecord.ReaderOptions{MaxRecordBytes: maxRecordBytes}).Next()
	if in.err != nil {
		return "", fmt.Errorf("%s: %w", f.Path, in.err)
	}
	if err != nil {
		return "", nil
	}
	form, err := records.FormOf(payload)
	if err != nil {
		return "", nil
	}
	return form, nil
}
