package loader

import (
	"context"
	"fmt"
	"io"
	"math"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"pretext/internal/store"
	"pretext/records/tfrecord"
	"pretext/sharding"
)

// blockBytes is the maximum size of a block: consecutive records of a file that
// share one index entry. To find a record, its block is read and walked from its
// first record. One read of this size is cheap, and an entry for each record would
// need too much memory.
const blockBytes = 64 << 10

// An Index holds the locations of all examples, for random access. It is
// immutable and may be shared.
type Index struct {
	shards *Shards
	files  []fileIndex
	total  int64
	cut    cutter // cuts documents into sequences
}

// A fileIndex is the index of one file: its blocks, each of at most blockBytes
// or with a single record.
type fileIndex struct {
	first  int64   // number of its first example, over all files
	blocks []block // the last one is empty and marks the end of the file

	// before[b] is the number of sequences in the file before block b, set by
	// [Index.countSequences]; nil: every record is one sequence.
	before []int64
}

// A block is the index entry of a block: the number and offset of its first record.
type block struct {
	record int64 // number in the file of the first record
	offset int64 // byte offset of the first record in the file
}

// records returns the number of records in the file.
func (x *fileIndex) records() int64 { return x.blocks[len(x.blocks)-1].record }

// sequences returns the number of sequences in the blocks [from, to).
func (x *fileIndex) sequences(from, to int) int64 {
	if x.before == nil {
		return x.blocks[to].record - x.blocks[from].record
	}
	return x.before[to] - x.before[from]
}

// Index reads the index files of the folder. For third-party files it reads all
// records once instead. It checks the number of records against the manifest. For a
// compressed file without a cache ([Shards.Cached]) the error is a
// [*CompressedError].
func (s *Shards) Index(ctx context.Context) (*Index, error) { return s.index(ctx, nil) }

// index implements Index. If a file has an unreadable tail and quarantine is
// not nil, index calls quarantine with a [*TailError]: if that returns nil,
// index uses the records before the tail; otherwise it returns the error.
func (s *Shards) index(ctx context.Context, quarantine func(error) error) (*Index, error) {
	x := &Index{shards: s, files: make([]fileIndex, 0, len(s.files))}
	read := make([]fileIndex, len(s.files))
	faults := make([]error, len(s.files))
	var bad atomic.Int64 // number of the first file whose error ends the reading
	bad.Store(math.MaxInt64)
	var g errgroup.Group
	g.SetLimit(indexesAtOnce)
	for i := range s.files {
		if bad.Load() < int64(i) {
			break // the loop below does not reach it
		}
		g.Go(func() error {
			read[i], faults[i] = s.indexFile(ctx, &s.files[i])
			if faults[i] != nil && s.files[i].tail(faults[i]) == nil {
				for at := bad.Load(); at > int64(i) && !bad.CompareAndSwap(at, int64(i)); at = bad.Load() {
				}
			}
			return nil
		})
	}
	g.Wait() //nolint:errcheck // the errors are in faults
	for i := range s.files {
		f, one, err := &s.files[i], read[i], faults[i]
		if tail := f.tail(err); tail != nil && quarantine != nil {
			err = quarantine(tail)
		} else if err == nil {
			err = f.checkCount(one.records())
		}
		if err != nil {
			return nil, err
		}
		one.first = x.total
		x.total += one.records()
		x.files = append(x.files, one)
	}
	return x, nil
}

// indexesAtOnce is the number of index files that are read at the same time: reading one
// from an object store takes some hundredths of a second.
const indexesAtOnce = 32

// indexFile returns the index of one file.
func (s *Shards) indexFile(ctx context.Context, f *File) (one fileIndex, err error) {
	name, _ := sharding.ParseShardName(f.name)
	switch {
	case f.copied != nil:
		one, err = parseIndex(ctx, f.copied.folder, cacheIndex(f.name), f.copied.entry.Data)
		if lost := f.copied.entry.Lost; err == nil && lost != nil {
			err = lost.fault(f) // together with the index of the records before it
		}
		return one, err
	case f.part != nil:
		return one, &CompressedError{File: f.Path, Compression: converted}
	case s.manifest == nil:
		return s.scan(ctx, f)
	case f.name == name.Records(true):
		return one, &CompressedError{File: f.Path, Compression: "gzip"}
	}
	return parseIndex(ctx, s.folder, name.IndexFile(), f.Bytes)
}

// sequences returns the number of sequences in all selected files.
func (x *Index) sequences() (n int64) {
	for i := range x.files {
		f := &x.files[i]
		n += f.sequences(0, len(f.blocks)-1)
	}
	return n
}

// Len returns the number of examples in all selected files.
func (x *Index) Len() int64 { return x.total }

// A blockCutter divides the frames of a file into blocks.
type blockCutter struct {
	blocks      []block
	record, end int64 // number of frames, and end of the last one
}

func (c *blockCutter) add(length int64) {
	if n := len(c.blocks); n == 0 || c.end+length-c.blocks[n-1].offset > blockBytes {
		c.blocks = append(c.blocks, block{c.record, c.end})
	}
	c.record++
	c.end += length
}

func (c *blockCutter) index() fileIndex {
	return fileIndex{blocks: append(c.blocks, block{c.record, c.end})}
}

// scan builds the index of a file by reading it. If a record is corrupt, it
// returns the error together with the index of the records before it.
func (s *Shards) scan(ctx context.Context, f *File) (x fileIndex, err error) {
	file, err := s.open(ctx, f)
	if err != nil {
		return x, err
	}
	defer file.Close()
	// Payload checksums are verified when records are read.
	r := tfrecord.NewReader(store.NewReader(file, 0), tfrecord.ReaderOptions{MaxRecordBytes: maxRecordBytes, SkipChecksums: true})
	var c blockCutter
	for {
		_, err := r.Next()
		if compression := r.Compression(); compression != "" {
			return x, &CompressedError{File: f.Path, Compression: compression}
		}
		if err == io.EOF {
			return c.index(), nil
		}
		if err != nil {
			return c.index(), Record{File: f.Path, Index: c.record, Offset: c.end}.fault(err)
		}
		if err := ctx.Err(); err != nil {
			return x, err
		}
		c.add(r.Offset() - c.end)
	}
}

// parseIndex reads the index file name in folder. bytes is the size of the indexed
// file. The frames in the index must cover the file without gaps.
func parseIndex(ctx context.Context, folder sharding.Folder, name string, bytes int64) (x fileIndex, err error) {
	own := File{Path: store.Join(folder.String(), name)}
	file, err := store.OpenAt(ctx, folder, name, 0, store.ToEnd)
	if err != nil {
		return x, sharding.Missing(own.Path, err)
	}
	defer file.Close()
	r := tfrecord.NewIndexReader(store.NewReader(file, 0))
	var c blockCutter
	for {
		span, err := r.Next()
		switch {
		case err == io.EOF && c.end != bytes:
			return x, own.damage(fmt.Sprintf("ends at byte %d of %d", c.end, bytes))
		case err == io.EOF:
			return c.index(), ctx.Err()
		case err != nil:
			return x, fmt.Errorf("%s: %w", own.Path, err)
		case span.Offset != c.end || span.Length > min(bytes-c.end, maxRecordBytes+tfrecord.FrameBytes):
			return x, own.damage(fmt.Sprintf("record %d, %d bytes at byte %d, is not the next of %d bytes", c.record, span.Length, span.Offset, bytes))
		}
		c.add(span.Length)
	}
}

// A CompressedError reports that a file has no random access because it is
// compressed.
type CompressedError struct {
	File        string
	Compression string // "gzip", "zlib", or what else the file is
}

// Usage returns true, so commands report a usage error: setting a cache folder
// solves the problem.
func (e *CompressedError) Usage() bool { return true }

func (e *CompressedError) Error() string {
	if e.Compression == converted {
		return fmt.Sprintf("%s: in the format of another library, whose rows can only be read in order: give --cache DIR, where they are written as TFRecord once", e.File)
	}
	return fmt.Sprintf("%s: compressed (%s), so records can only be read in order: give --cache DIR, where they are written uncompressed once, or make the shards with --compression none", e.File, e.Compression)
}
