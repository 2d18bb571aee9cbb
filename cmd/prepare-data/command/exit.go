package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"syscall"

	"pretext/extract"
	"pretext/extract/books"
	"pretext/extract/bzip2"
	"pretext/extract/text"
	"pretext/extract/wiki"
	"pretext/internal/store"
	"pretext/pipeline"
	"pretext/records"
	"pretext/records/tfrecord"
	"pretext/sharding"
)

// The exit codes, as docs/commands.md lists them.
const (
	exitOK          = 0
	exitOther       = 1
	exitUsage       = 2
	exitRejects     = 3
	exitDamaged     = 4
	exitDiskFull    = 6
	exitPermission  = 7
	exitLocked      = 8
	exitDoesNotFit  = 9
	exitInterrupted = 130
)

// A usageError is a wrong option or argument.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

func (e usageError) Unwrap() error { return e.error }

// Report writes the one line that says what went wrong and returns the exit
// code of the process.
func Report(stderr io.Writer, err error) int {
	if err == nil {
		return exitOK
	}
	code := exitCode(err)
	message := strings.TrimSpace(err.Error())
	switch code {
	case exitInterrupted:
		message = "interrupted: run the same command again to go on from here"
	case exitUsage:
		message += " (see --help)"
	case exitDiskFull:
		message += ": free some space and run the same command again"
	}
	fmt.Fprintf(stderr, "prepare-data: %s\n", message)
	return code
}

// damaged are the errors of data that is not what it should be.
var damaged = []error{
	extract.ErrCorrupt, bzip2.ErrCorrupt, wiki.ErrCorrupt, books.ErrCorrupt, text.ErrCorrupt,
	records.ErrExample, tfrecord.ErrCorrupt, sharding.ErrFormat, sharding.ErrUnfinished,
	pipeline.ErrDamaged, pipeline.ErrNoDocuments, pipeline.ErrNoRecords,
}

func exitCode(err error) int {
	is := func(targets ...error) bool {
		for _, t := range targets {
			if errors.Is(err, t) {
				return true
			}
		}
		return false
	}
	var usage usageError
	var options *pipeline.OptionsError
	var config *pipeline.ConfigError
	var shards *sharding.TooManyShardsError
	var memory *pipeline.MemoryError
	var rejects *pipeline.RejectsError
	switch {
	case is(context.Canceled):
		return exitInterrupted
	case is(store.ErrLocked):
		return exitLocked
	case is(syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG):
		return exitDiskFull
	case is(fs.ErrPermission, syscall.EROFS):
		return exitPermission
	case errors.As(err, &memory):
		return exitDoesNotFit
	case errors.As(err, &rejects):
		return exitRejects
	case is(damaged...):
		return exitDamaged
	case errors.As(err, &usage), errors.As(err, &options), errors.As(err, &config), errors.As(err, &shards), is(fs.ErrNotExist, syscall.ENOTDIR, syscall.EISDIR):
		return exitUsage
	}
	return exitOther
}
