package loader

import (
	"context"
	"errors"
	"io"
	"strings"

	"pretext/internal/store"
	"pretext/records/tfrecord"
	"pretext/sharding"
)

// A filling describes how one file is written to a cache.
type filling struct {
	file  *File
	cache store.Folder
	skip  bool // accept an unreadable tail
}

// fillCache reads a file once and writes its index, and its uncompressed data
// if needed, to the cache.
func (s *Shards) fillCache(ctx context.Context, to filling) (*copied, error) {
	entry, err := s.sourceOf(ctx, to.file)
	if err != nil {
		return nil, err
	}
	stream, close, err := s.stream(ctx, to, &entry)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(to.copyAndIndex(ctx, stream, &entry), close()); err != nil {
		return nil, err
	}
	if err := store.WriteFile(ctx, to.cache, cacheCar(to.file.name), sharding.Marshal(entry)); err != nil {
		return nil, err
	}
	return &copied{folder: to.cache, entry: entry}, nil
}

// copyAndIndex writes the index of a stream of records and completes the entry.
// If entry.Copied is set, it also writes the stream itself.
func (to filling) copyAndIndex(ctx context.Context, stream io.Reader, entry *cacheEntry) error {
	index, err := to.cache.Create(ctx, cacheIndex(to.file.name))
	if err != nil {
		return err
	}
	defer index.Abort()
	if entry.Copied {
		data, err := to.cache.Create(ctx, cacheData(to.file.name))
		if err != nil {
			return err
		}
		defer data.Abort()
		if err := to.index(ctx, io.TeeReader(stream, data), index, entry); err != nil {
			return err
		}
		if err := data.Replace(nil); err != nil {
			return err
		}
	} else if err := to.index(ctx, stream, index, entry); err != nil {
		return err
	}
	return index.Replace(nil)
}

// stream returns the records of a file as an uncompressed TFRecord stream. It sets
// entry.Copied if the cache needs a copy of the stream.
func (s *Shards) stream(ctx context.Context, to filling, entry *cacheEntry) (stream io.Reader, close func() error, err error) {
	if to.file.part != nil {
		entry.Copied = true
		r := to.file.partRecords(ctx)
		return r, r.Close, nil
	}
	file, err := s.open(ctx, to.file)
	if err != nil {
		return nil, nil, err
	}
	stream, compression, err := tfrecord.Uncompressed(store.NewReader(file, 0))
	if reason, damaged := to.ends(err); damaged {
		stream, entry.Lost = strings.NewReader(""), &lostTail{Reason: reason}
	} else if err != nil {
		return nil, nil, errors.Join(to.file.corrupt(err), file.Close())
	}
	entry.Copied = compression != ""
	return stream, file.Close, nil
}

// ends reports whether the file may be truncated at err: err is corruption, and
// to.skip is set. reason describes the corruption.
func (to filling) ends(err error) (reason string, ok bool) {
	if corrupt := (*tfrecord.CorruptError)(nil); to.skip && errors.As(err, &corrupt) {
		return corrupt.Reason, true
	}
	return "", false
}

// index writes an index line for each record of a stream, and sets the size,
// the number of records and the unreadable tail in entry. It does not verify
// payload checksums; readers of the records do.
func (to filling) index(ctx context.Context, stream io.Reader, w io.Writer, entry *cacheEntry) error {
	r := tfrecord.NewReader(stream, tfrecord.ReaderOptions{MaxRecordBytes: maxRecordBytes, SkipChecksums: true})
	var lines []byte
	for {
		at := r.Offset()
		_, err := r.Next()
		if err == nil {
			err = ctx.Err()
		}
		if reason, damaged := to.ends(err); damaged {
			entry.Lost = &lostTail{r.Records(), at, reason}
			break
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return Record{File: to.file.Path, Index: r.Records(), Offset: at}.fault(err)
		}
		lines = tfrecord.AppendIndex(lines, tfrecord.Span{Offset: at, Length: r.Offset() - at})
		if len(lines) > 64<<10 {
			if _, err := w.Write(lines); err != nil {
				return err
			}
			lines = lines[:0]
		}
	}
	entry.Data, entry.Records = r.Offset(), r.Records()
	_, err := w.Write(lines)
	return err
}
