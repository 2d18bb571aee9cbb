package loader

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"pretext/internal/store"
	"pretext/records/tfrecord"
	"pretext/sharding"
)

// A CacheCost is what [Shards.Cached] has to do before examples can be read in
// any order.
type CacheCost struct {
	Files      int   // to be read
	Bytes      int64 // of them
	Compressed int   // those of Files that are compressed and are written out
	Written    int64 // about how many bytes that will be
}

// cacheFormat is raised when the files of a cache change.
const cacheFormat = 1

// A cacheEntry is the side-car of a file in a cache, written last.
type cacheEntry struct {
	Format  int    `json:"format"`
	Name    string `json:"name"`
	Bytes   int64  `json:"bytes"`       // of the source
	Ends    string `json:"ends_sha256"` // of its first and last MiB
	Data    int64  `json:"data_bytes"`  // uncompressed
	Records int64  `json:"records"`
	Copied  bool   `json:"copied"` // the uncompressed records are in the cache too
}

// Names of what a cache keeps of a file. They are no names of records, so that a
// cache may lie where records do.
func cacheCar(name string) string   { return name + ".cache.json" }
func cacheIndex(name string) string { return name + ".cache.idx" }
func cacheData(name string) string  { return name + ".cache.data" }

// A copied file is one whose index, and bytes where it is compressed, lie in a
// cache.
type copied struct {
	folder store.Folder
	entry  cacheEntry
}

// CacheCost returns what [Shards.Cached] would do in a folder. ok is false when
// there is nothing to be done.
func (s *Shards) CacheCost(ctx context.Context, cache store.Folder) (cost CacheCost, ok bool, err error) {
	for i := range s.files {
		f := &s.files[i]
		compression, need, err := s.needsCache(ctx, f)
		if err != nil {
			return cost, false, err
		}
		if !need {
			continue
		}
		if _, there, err := s.cached(ctx, f, cache); err != nil || there {
			if err != nil {
				return cost, false, err
			}
			continue
		}
		cost.Files++
		cost.Bytes += f.Bytes
		if compression != "" {
			ratio, err := s.ratio(ctx, f)
			if err != nil {
				return cost, false, err
			}
			cost.Compressed++
			cost.Written += int64(ratio * float64(f.Bytes))
		}
	}
	return cost, cost.Files > 0, nil
}

// needsCache tells how a file is compressed, and whether it has no random access
// of its own.
func (s *Shards) needsCache(ctx context.Context, f *File) (compression string, need bool, err error) {
	file, err := s.open(ctx, f)
	if err != nil {
		return "", false, err
	}
	defer file.Close()
	if _, compression, err = tfrecord.Uncompressed(store.NewReader(file, 0)); err != nil {
		return "", false, f.corrupt(err)
	}
	return compression, compression != "" || s.manifest == nil, nil
}

// sampleBytes is how much of a compressed file is decompressed to estimate how
// long it is.
const sampleBytes = 4 << 20

// ratio estimates how much longer a file is when it is not compressed.
func (s *Shards) ratio(ctx context.Context, f *File) (float64, error) {
	file, err := s.open(ctx, f)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	in := &counter{r: store.NewReader(file, 0)}
	out, _, err := tfrecord.Uncompressed(in)
	if err != nil {
		return 0, f.corrupt(err)
	}
	n, err := io.Copy(io.Discard, io.LimitReader(out, sampleBytes))
	if err != nil {
		return 0, f.corrupt(err)
	}
	return float64(n) / float64(max(1, in.n)), nil
}

type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// Cached returns the same shards with random access: files of others are
// indexed once into a folder, and compressed ones, of ours too, are written there
// without compression. What is there and belongs to the same files, told by
// name, size, and first and last MiB, is not made again. Positions, orders and
// masks are those of the files without a cache. done, where it is not nil, is
// called with the bytes read so far.
func (s *Shards) Cached(ctx context.Context, cache store.Folder, done func(bytes int64)) (*Shards, error) {
	c := *s
	c.files = s.Files()
	read := int64(0)
	for i := range c.files {
		f := &c.files[i]
		_, need, err := s.needsCache(ctx, f)
		if err != nil {
			return nil, err
		}
		if !need {
			continue
		}
		have, there, err := s.cached(ctx, f, cache)
		if err == nil && !there {
			have, err = s.fillCache(ctx, f, cache)
		}
		if err == nil {
			err = f.checkCount(have.entry.Records)
		}
		if err != nil {
			return nil, err
		}
		f.copied = have
		if read += f.Bytes; done != nil {
			done(read)
		}
	}
	return &c, nil
}

// cached looks for what a cache has of a file.
func (s *Shards) cached(ctx context.Context, f *File, cache store.Folder) (c *copied, there bool, err error) {
	b, err := store.ReadFile(ctx, cache, cacheCar(f.name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	c = &copied{folder: cache}
	if json.Unmarshal(b, &c.entry) != nil {
		return nil, false, nil
	}
	want, err := s.sourceOf(ctx, f)
	if err != nil {
		return nil, false, err
	}
	want.Data, want.Records, want.Copied = c.entry.Data, c.entry.Records, c.entry.Copied
	if c.entry != want {
		return nil, false, nil
	}
	if !c.entry.Copied {
		return c, true, nil
	}
	info, err := cache.Stat(ctx, cacheData(f.name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, false, err
	}
	return c, err == nil && info.Size == c.entry.Data, nil
}

// sourceOf describes a file as a cache knows it.
func (s *Shards) sourceOf(ctx context.Context, f *File) (e cacheEntry, err error) {
	file, err := s.open(ctx, f)
	if err != nil {
		return e, err
	}
	defer file.Close()
	e = cacheEntry{Format: cacheFormat, Name: f.name, Bytes: f.Bytes}
	e.Ends, err = sharding.EndsHash(file)
	return e, err
}

// fillCache reads a file once and writes what random access needs.
func (s *Shards) fillCache(ctx context.Context, f *File, cache store.Folder) (*copied, error) {
	entry, err := s.sourceOf(ctx, f)
	if err != nil {
		return nil, err
	}
	file, err := s.open(ctx, f)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	stream, compression, err := tfrecord.Uncompressed(store.NewReader(file, 0))
	if err != nil {
		return nil, f.corrupt(err)
	}
	entry.Copied = compression != ""
	if err := s.copyAndIndex(ctx, f, cache, stream, &entry); err != nil {
		return nil, err
	}
	if err := store.WriteFile(ctx, cache, cacheCar(f.name), sharding.Marshal(entry)); err != nil {
		return nil, err
	}
	return &copied{folder: cache, entry: entry}, nil
}

// copyAndIndex writes the index of a stream of records and, where the entry says
// so, the stream itself, and fills in the entry. Checksums of payloads are left
// to those who read the records.
func (s *Shards) copyAndIndex(ctx context.Context, f *File, cache store.Folder, stream io.Reader, entry *cacheEntry) error {
	index, err := cache.Create(ctx, cacheIndex(f.name))
	if err != nil {
		return err
	}
	defer index.Abort()
	var data store.Writer
	if entry.Copied {
		if data, err = cache.Create(ctx, cacheData(f.name)); err != nil {
			return err
		}
		defer data.Abort()
		stream = io.TeeReader(stream, data)
	}
	r := tfrecord.NewReader(stream, tfrecord.ReaderOptions{MaxRecordBytes: maxRecordBytes, SkipChecksums: true})
	var lines []byte
	for {
		at := r.Offset()
		_, err := r.Next()
		if err == nil {
			err = ctx.Err()
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return Record{File: f.Path, Index: r.Records(), Offset: at}.fault(err)
		}
		lines = tfrecord.AppendIndex(lines, tfrecord.Span{Offset: at, Length: r.Offset() - at})
		if len(lines) > 64<<10 {
			if _, err := index.Write(lines); err != nil {
				return err
			}
			lines = lines[:0]
		}
	}
	if _, err := index.Write(lines); err != nil {
		return err
	}
	entry.Data, entry.Records = r.Offset(), r.Records()
	if data != nil {
		if err := data.Commit(); err != nil {
			return err
		}
	}
	return index.Commit()
}

// corrupt marks an error of a file's compression with its place.
func (f *File) corrupt(err error) error {
	if corrupt := (*tfrecord.CorruptError)(nil); errors.As(err, &corrupt) {
		return fmt.Errorf("%s: %w", f.Path, err)
	}
	return err
}
