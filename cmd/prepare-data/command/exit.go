package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"syscall"

	"pretext/cmd/internal/cli"
	"pretext/extract"
	"pretext/extract/books"
	"pretext/extract/bzip2"
	"pretext/extract/download"
	"pretext/extract/parquet"
	"pretext/extract/text"
	"pretext/extract/wiki"
	"pretext/internal/config"
	"pretext/internal/store"
	"pretext/internal/survey"
	"pretext/pipeline"
	"pretext/records"
	"pretext/records/tfrecord"
	"pretext/sharding"
	"pretext/trainer/loader"
)

// The exit codes, as docs/commands.md lists them.
const (
	exitOK          = 0
	exitOther       = 1
	exitUsage       = 2
	exitRejects     = 3
	exitDamaged     = 4
	exitNetwork     = 5
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
	case exitDamaged:
		if errors.Is(err, bzip2.ErrCorrupt) || errors.Is(err, wiki.ErrCorrupt) || errors.Is(err, books.ErrCorrupt) || errors.Is(err, text.ErrCorrupt) {
			message += ": get the file again"
		}
	case exitNetwork:
		if errors.Is(err, download.ErrNetwork) && !errors.Is(err, download.ErrRefused) {
			message += ": run the same command again to go on from here"
		}
	case exitDiskFull:
		message += ": free some space and run the same command again"
	}
	fmt.Fprintf(stderr, "prepare-data: %s\n", cli.OneLine(message))
	return code
}

// damaged are the errors of data that is not what it should be.
var damaged = []error{
	extract.ErrCorrupt, bzip2.ErrCorrupt, wiki.ErrCorrupt, books.ErrCorrupt, text.ErrCorrupt,
	records.ErrExample, tfrecord.ErrCorrupt, sharding.ErrFormat, sharding.ErrUnfinished,
	pipeline.ErrDamaged, download.ErrCorrupt, pipeline.ErrNoDocuments, pipeline.ErrNoRecords, loader.ErrDamaged,
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
	var wrong *pipeline.ConfigError
	var setting *config.Error
	var kind *survey.KindError
	var shards *sharding.TooManyShardsError
	var memory *pipeline.MemoryError
	var fit *pipeline.FitError
	var rejects *pipeline.RejectsError
	var unsupported *parquet.UnsupportedError
	switch {
	case is(context.Canceled):
		return exitInterrupted
	case is(store.ErrLocked):
		return exitLocked
	case is(syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG):
		return exitDiskFull
	case is(download.ErrNotFound):
		return exitUsage
	case is(download.ErrCorrupt):
		return exitDamaged
	case is(download.ErrNetwork, download.ErrOffline, download.ErrRefused):
		return exitNetwork
	case is(fs.ErrPermission, syscall.EROFS):
		return exitPermission
	case errors.As(err, &memory), errors.As(err, &fit), is(errMachine):
		return exitDoesNotFit
	case errors.As(err, &rejects):
		return exitRejects
	case is(damaged...), errors.As(err, &unsupported) && !unsupported.Column:
		return exitDamaged
	case errors.As(err, &usage), errors.As(err, &unsupported), errors.As(err, &options), errors.As(err, &wrong), errors.As(err, &setting), errors.As(err, &kind), errors.As(err, &shards), is(fs.ErrNotExist, store.ErrNotFile, syscall.ENOTDIR, syscall.EISDIR):
		return exitUsage
	}
	return exitOther
}
