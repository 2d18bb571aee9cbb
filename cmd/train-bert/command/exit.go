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
	"pretext/internal/store"
	"pretext/records"
	"pretext/records/tfrecord"
	"pretext/sharding"
	"pretext/trainer/checkpoint"
	"pretext/trainer/finetune"
	"pretext/trainer/loader"
)

// The exit codes, those of prepare-data where they mean the same.
const (
	exitOK          = 0
	exitOther       = 1
	exitUsage       = 2
	exitDamaged     = 4
	exitDiskFull    = 6
	exitPermission  = 7
	exitLocked      = 8
	exitInterrupted = 130
)

// A usageError is a wrong option, or options and files that do not fit
// together.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

func (e usageError) Unwrap() error { return e.error }

// errDamaged says that no checkpoint of a folder can be used.
var errDamaged = errors.New("damaged")

// Report writes the one line that says what went wrong and returns the exit
// code of the process.
func Report(stderr io.Writer, err error) int {
	if err == nil {
		return exitOK
	}
	code := exitCode(err)
	message := err.Error()
	switch code {
	case exitInterrupted:
		if message = "interrupted: run the same command again to go on from here"; errors.Is(err, errStopped) {
			message = "stopped"
		}
	case exitUsage:
		message += " (see --help)"
	case exitDiskFull:
		message += ": free some space and run the same command again"
	}
	fmt.Fprintf(stderr, "train-bert: %s\n", cli.OneLine(strings.TrimSpace(message)))
	return code
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
	var compressed *loader.CompressedError
	switch {
	case is(context.Canceled):
		return exitInterrupted
	case is(store.ErrLocked):
		return exitLocked
	case is(syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG):
		return exitDiskFull
	case is(fs.ErrPermission, syscall.EROFS):
		return exitPermission
	case is(errDamaged, checkpoint.ErrDamaged, loader.ErrDamaged, records.ErrExample, tfrecord.ErrCorrupt, sharding.ErrFormat, sharding.ErrUnfinished,
		finetune.ErrData, finetune.ErrNumbers):
		return exitDamaged
	case errors.As(err, &usage), errors.As(err, &compressed), is(loader.ErrNoShards, fs.ErrNotExist, syscall.ENOTDIR, syscall.EISDIR):
		return exitUsage
	}
	return exitOther
}
