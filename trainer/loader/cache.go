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

	Lost *lost `json:"lost,omitempty"` // what could not be read; nil: nothing
}

// A lost tail of a file begins with a record, the first that is not in the index.
type lost struct {
	Record int64  `json:"record"`
	Offset int64  `json:"offset"`
	Reason string `json:"reason"`
}

// fault is the error that was met there.
func (l *lost) fault(f *File) error {
	return Record{File: f.Path, Index: l.Record, Offset: l.Offset}.fault(
		&tfrecord.CorruptError{Offset: l.Offset, Record: l.Record, Reason: l.Reason})
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
		if compression != "" && compression != unreadable {
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

// unreadable stands for the compression of a file whose first bytes are damaged.
const unreadable = "unreadable"

// needsCache tells how a file is compressed, and whether it has no random access
// of its own.
func (s *Shards) needsCache(ctx context.Context, f *File) (compression string, need bool, err error) {
	file, err := s.open(ctx, f)
	if err != nil {
		return "", false, err
	}
	defer file.Close()
	_, compression, err = tfrecord.Uncompressed(store.NewReader(file, 0))
	if errors.Is(err, tfrecord.ErrCorrupt) {
		return unreadable, true, nil // whoever fills the cache says more
	}
	if err != nil {
		return "", false, err
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
	if err != nil && in.err != nil {
		return 0, err // of the disk; damage is found by whoever fills the cache
	}
	return float64(n) / float64(max(1, in.n)), nil
}

type counter struct {
	r   io.Reader
	n   int64
	err error // of r, but its end
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	if err != nil && err != io.EOF {
		c.err = err
	}
	return n, err
}

// CacheOptions says how a cache is filled.
type CacheOptions struct {
	// SkipDamage lets a file that cannot be read to its end go up to there. Its
	// tail is a [*TailError] to [SourceOptions.Quarantine] each time that an order
	// is made. Without it such a file is an error.
	SkipDamage bool `json:"-"`

	// Done, where it is not nil, is called with the bytes of files read so far.
	Done func(bytes int64) `json:"-"`
}

// Cached returns the same shards with random access: files of others are
// indexed once into a folder, and compressed ones, of ours too, are written there
// without compression. What is there and belongs to the same files, told by
// name, size, and first and last MiB, is not made again. Positions, orders and
// masks are those of the files without a cache.
func (s *Shards) Cached(ctx context.Context, cache store.Folder, opts CacheOptions) (*Shards, error) {
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
			have, err = s.fillCache(ctx, filling{f, cache, opts.SkipDamage})
		}
		switch {
		case err != nil:
		case have.entry.Lost == nil:
			err = f.checkCount(have.entry.Records)
		case !opts.SkipDamage:
			err = have.entry.Lost.fault(f)
		}
		if err != nil {
			return nil, err
		}
		f.copied = have
		if read += f.Bytes; opts.Done != nil {
			opts.Done(read)
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
	want.Data, want.Records, want.Copied, want.Lost = c.entry.Data, c.entry.Records, c.entry.Copied, c.entry.Lost
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
	whole := info.Size == c.entry.Data || c.entry.Lost != nil && info.Size > c.entry.Data // what was read of the damaged record is there
	return c, err == nil && whole, nil
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

// corrupt marks an error of a file's compression with its place.
func (f *File) corrupt(err error) error {
	if corrupt := (*tfrecord.CorruptError)(nil); errors.As(err, &corrupt) {
		return fmt.Errorf("%s: %w", f.Path, err)
	}
	return err
}
