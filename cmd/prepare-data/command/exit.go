package command

import (
	"errors"
	"io"
	"slices"

	"pretext/cmd/internal/cli"
	"pretext/extract/books"
	"pretext/extract/bzip2"
	"pretext/extract/download"
	"pretext/extract/text"
	"pretext/extract/wiki"
	"pretext/internal/failure"
)

func usagef(format string, args ...any) error { return failure.Usagef(format, args...) }

// misuse marks an error as a usage error (exit code 2).
func misuse(err error) error { return failure.Usage(err) }

// Report writes an error as one line and returns the exit code of the process.
func Report(stderr io.Writer, err error) int {
	return cli.Program{Name: "prepare-data", Groups: flagGroups, Advice: advice}.Report(stderr, err)
}

// line returns a warning or note on one line.
func line(text string) string { return cli.NameSettings(flagGroups)(cli.OneLine(text)) }

// advice returns the message of an error with a hint what to do, if there is one.
func advice(code int, err error, message string) string {
	is := func(target error) bool { return errors.Is(err, target) }
	switch {
	case code == failure.ExitDamaged && slices.ContainsFunc([]error{bzip2.ErrCorrupt, wiki.ErrCorrupt, books.ErrCorrupt, text.ErrCorrupt}, is):
		return message + ": get the file again"
	case code == failure.ExitNetwork && is(download.ErrNetwork) && !is(download.ErrRefused):
		return message + ": run the same command again to resume"
	}
	return message
}
