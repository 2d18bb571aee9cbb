package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"runtime/debug"

	"pretext/internal/failure"
)

// A Small is a kind of file that is read as a whole, with its limits. They protect the
// process if a user gives the name of a wrong, very large file.
type Small struct {
	Bytes int64 // maximum size of the file
	Cost  int64 // bytes of memory for each byte of the file, once it is parsed
}

// Kinds of small files.
var (
	Settings  = Small{1 << 20, 64}  // of a program or a model; a file with all settings has 10 kB
	Tokens    = Small{64 << 20, 10} // vocab.txt and tokenizer.json; a few dozen MB for the largest vocabularies
	Templates = Small{64 << 20, 8}  // definitions of templates; the command "templates collect" writes at most 12 MiB
	Rows      = Small{2 << 30, 8}   // fine-tuning data sets and their answers; published ones have dozens of MB
	Parts     = Small{4 << 30, 1}   // files of a data set; a manifest of a million files has 200 MB
)

// errTooLarge is the error for a file above the limit of its kind.
var errTooLarge = failure.Usage(errors.New("too large"))

// errNeedsMemory is the error for a file that takes more memory than the process may use.
var errNeedsMemory = failure.DoesNotFit("too large for the allowed memory: give more --memory")

// ReadSmall returns the content of a regular file at a location. It follows links, and
// returns an error for a device, pipe, socket or folder. When ctx is done it returns at once,
// even if the file system does not respond.
func ReadSmall(ctx context.Context, location string, kind Small) ([]byte, error) {
	type result struct {
		data []byte
		err  error
	}
	done := make(chan result, 1)
	go func() {
		f, err := OpenStream(ctx, location)
		if err != nil {
			done <- result{nil, err}
			return
		}
		defer f.Close()
		data, err := kind.read(f, location)
		done <- result{data, err}
	}()
	select {
	case r := <-done:
		return r.data, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// read returns the content of f. Errors refer to it as name.
func (s Small) read(f File, name string) ([]byte, error) {
	if err := s.check(f.Size()); err != nil {
		return nil, &fs.PathError{Op: "read", Path: name, Err: err}
	}
	b := make([]byte, f.Size())
	if _, err := f.ReadAt(b, 0); err != nil && err != io.EOF {
		return nil, err
	}
	return b, nil
}

// check returns an error if a file of size bytes exceeds the limit on size, or would need
// more memory than Go's memory limit, which --memory sets.
func (s Small) check(size int64) error {
	switch limit := debug.SetMemoryLimit(-1); {
	case size > s.Bytes:
		return fmt.Errorf("%w: it has %d bytes, the most is %d", errTooLarge, size, s.Bytes)
	case limit < math.MaxInt64 && size > limit/s.Cost:
		return errNeedsMemory
	}
	return nil
}
