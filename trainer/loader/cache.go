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

// A CacheCost is the work that [Shards.Cached] has to do.
type CacheCost struct {
	Files      int   // files to read
	Bytes      int64 // size of these files
	Compressed int   // number of compressed files and of shards in other formats; each gets an uncompressed TFRecord copy
	Written    int64 // estimated size of these copies, in bytes
}

// cacheFormat is raised when the format of the cache files changes.
const cacheFormat = 1

// A cacheEntry is the content of NAME.cache.json, which describes the cache
// files of the file NAME. It is written after them.
type cacheEntry struct {
	Format  int    `json:"format"`
	Name    string `json:"name"`
	Bytes   int64  `json:"bytes"`       // of the source file
	Ends    string `json:"ends_sha256"` // of the source's first and last MiB
	Data    int64  `json:"data_bytes"`  // size of the uncompressed data
	Records int64  `json:"records"`
	Copied  bool   `json:"copied"` // the cache also has the uncompressed data

	Lost *lostTail `json:"lost,omitempty"` // the unreadable tail; nil if there is none
}

// A lostTail describes the unreadable end of a file. Record and Offset are the
// number and the byte offset of the first unreadable record.
type lostTail struct {
	Record int64  `json:"record"`
	Offset int64  `json:"offset"`
	Reason string `json:"reason"`
}

// fault returns the error for the first lost record of f, a
// [*sharding.RecordError].
func (l *lostTail) fault(f *File) error {
	return Record{File: f.Path, Index: l.Record, Offset: l.Offset}.fault(
		&tfrecord.CorruptError{Offset: l.Offset, Record: l.Record, Reason: l.Reason})
}

// Names of the cache files for a records file. No records file has such a name, so
// the cache may be in the same folder as the records.
func cacheCar(name string) string   { return name + ".cache.json" }
func cacheIndex(name string) string { return name + ".cache.idx" }
func cacheData(name string) string  { return name + ".cache.data" }

// A copied locates the cache files of a records file: its index and, if the
// file is compressed, its uncompressed data.
type copied struct {
	folder sharding.Folder
	entry  cacheEntry
}

// CacheCost returns the work that [Shards.Cached] has to do to fill the cache
// in dir. ok is false if there is nothing to do.
func (s *Shards) CacheCost(ctx context.Context, dir string) (cost CacheCost, ok bool, err error) {
	cache, err := store.Open(dir)
	if err != nil {
		return cost, false, err
	}
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

// Results of needsCache in addition to the compression formats of package tfrecord.
const (
	unreadable = "unreadable" // its first bytes are corrupt
	converted  = "converted"  // it is a shard in the format of another library
)

// needsCache returns the compression of a file. need reports whether random access
// to the file needs a cache: if it is compressed, converted, unreadable or without a
// manifest.
func (s *Shards) needsCache(ctx context.Context, f *File) (compression string, need bool, err error) {
	if f.part != nil {
		return converted, true, nil
	}
	file, err := s.open(ctx, f)
	if err != nil {
		return "", false, err
	}
	defer file.Close()
	_, compression, err = tfrecord.Uncompressed(store.NewReader(file, 0))
	if errors.Is(err, tfrecord.ErrCorrupt) {
		return unreadable, true, nil // filling the cache will return the detailed error
	}
	if err != nil {
		return "", false, err
	}
	return compression, compression != "" || s.manifest == nil, nil
}

// sampleBytes is the number of decompressed bytes from which the uncompressed size
// of a file is estimated.
const sampleBytes = 4 << 20

// ratio estimates the uncompressed size of f divided by its compressed size.
func (s *Shards) ratio(ctx context.Context, f *File) (float64, error) {
	if f.part != nil {
		return f.partRatio(ctx)
	}
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
		return 0, err // an error of the disk; corruption is reported when the cache is filled
	}
	return float64(n) / float64(max(1, in.n)), nil
}

type counter struct {
	r   io.Reader
	n   int64
	err error // last error of r other than io.EOF
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	if err != nil && err != io.EOF {
		c.err = err
	}
	return n, err
}

// CacheOptions configures how a cache is filled.
type CacheOptions struct {
	// SkipDamage accepts a file with an unreadable tail and uses the records
	// before it. [NewSource] then passes the tail to [SourceOptions.Quarantine]
	// as a [*TailError]. Without SkipDamage such a file is an error.
	SkipDamage bool `json:"-"`

	// Done, if not nil, is called with the number of bytes of the files read so
	// far.
	Done func(bytes int64) `json:"-"`
}

// Cached returns the same shards with random access. It writes cache files to the
// directory dir: an index of every third-party file, and an index and an uncompressed
// TFRecord copy of every compressed file or shard in another format. Existing cache
// files are reused if the name, the size, and the first and last MiB of the original
// file are unchanged. Positions, orders and masks are the same as without a cache.
func (s *Shards) Cached(ctx context.Context, dir string, opts CacheOptions) (*Shards, error) {
	cache, err := store.Open(dir)
	if err != nil {
		return nil, err
	}
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

// cached returns the cache files of f in the folder cache. there is false if they
// are missing, incomplete, or made from another version of f.
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
	if errors.Is(err, fs.ErrNotExist) {
		return c, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	whole := info.Size() == c.entry.Data || c.entry.Lost != nil && info.Size() > c.entry.Data // the file may also contain a part of the corrupt record
	return c, whole, nil
}

// sourceOf returns a cache entry in which only the fields that identify f are
// set.
func (s *Shards) sourceOf(ctx context.Context, f *File) (e cacheEntry, err error) {
	e = cacheEntry{Format: cacheFormat, Name: f.name, Bytes: f.Bytes}
	if f.part != nil { // its side-car has the hash of the values
		sideCar, err := store.ReadSmall(ctx, f.Path+sharding.SideCarSuffix, store.Parts)
		e.Ends = sharding.Hash(sideCar)
		return e, err
	}
	file, err := s.open(ctx, f)
	if err != nil {
		return e, err
	}
	defer file.Close()
	e.Ends, err = sharding.EndsHash(file)
	return e, err
}

// corrupt adds the path of f to err if the compressed data is corrupt. It
// returns other errors unchanged.
func (f *File) corrupt(err error) error {
	if corrupt := (*tfrecord.CorruptError)(nil); errors.As(err, &corrupt) {
		return fmt.Errorf("%s: %w", f.Path, err)
	}
	return err
}
