package command

import (
	"errors"
	"io"
	"slices"

	"pretext/cmd/internal/cli"
	"pretext/extract/books"
	"pretext/extract/bzip2"
	"pretext/extract/download"
	"pretext/extract/parquet"
	"pretext/extract/text"
	"pretext/extract/wiki"
	"pretext/pipeline"
	"pretext/sharding"
	"pretext/sharding/survey"
)

func usagef(format string, args ...any) error { return cli.Usagef(format, args...) }

// misuse marks an error as one of usage.
func misuse(err error) error { return cli.UsageError{Err: err} }

// Report writes the one line that says what went wrong and returns the exit
// code of the process.
func Report(stderr io.Writer, err error) int { return program().Report(stderr, err) }

// program says which errors end prepare-data with which exit code.
func program() cli.Program {
	return cli.Program{
		Name: "prepare-data",
		First: []cli.Cause{
			{Code: cli.ExitUsage, Is: []error{download.ErrNotFound}},
			{Code: cli.ExitDamaged, Is: []error{download.ErrCorrupt}},
			{Code: cli.ExitNetwork, Is: []error{download.ErrNetwork, download.ErrOffline, download.ErrRefused}},
		},
		Then: []cli.Cause{
			{Code: cli.ExitDoesNotFit, Is: []error{errMachine}, As: cli.AsAny[*pipeline.MemoryError]},
			{Code: cli.ExitDoesNotFit, As: cli.AsAny[*pipeline.FitError]},
			{Code: cli.ExitRejects, As: cli.AsAny[*pipeline.RejectsError]},
			{Code: cli.ExitRejects, As: cli.AsAny[*pipeline.WarningsError]},
			{Code: cli.ExitDamaged, As: cli.Damaged},
			{Code: cli.ExitDamaged, As: unreadableTable},
			{Code: cli.ExitDamaged, As: cli.AsAny[*pipeline.ChangedError]},
			{Code: cli.ExitUsage, Is: []error{wiki.ErrNotDump}, As: cli.AsAny[*parquet.UnsupportedError]},
			{Code: cli.ExitUsage, As: cli.AsAny[*pipeline.OptionsError]},
			{Code: cli.ExitUsage, As: cli.AsAny[*pipeline.ConfigError]},
			{Code: cli.ExitUsage, As: cli.AsAny[*sharding.UsageError]},
			{Code: cli.ExitUsage, As: cli.AsAny[*survey.KindError]},
			{Code: cli.ExitUsage, As: cli.AsAny[*sharding.TooManyShardsError]},
		},
		Advice: advice,
	}
}

// unreadableTable tells a Parquet file that cannot be read here from a column
// that was chosen wrongly.
func unreadableTable(err error) bool {
	var unsupported *parquet.UnsupportedError
	return errors.As(err, &unsupported) && !unsupported.Column
}

// advice says what to do about an error.
func advice(code int, err error, message string) string {
	is := func(target error) bool { return errors.Is(err, target) }
	switch {
	case code == cli.ExitDamaged && slices.ContainsFunc([]error{bzip2.ErrCorrupt, wiki.ErrCorrupt, books.ErrCorrupt, text.ErrCorrupt}, is):
		return message + ": get the file again"
	case code == cli.ExitNetwork && is(download.ErrNetwork) && !is(download.ErrRefused):
		return message + ": run the same command again to resume"
	}
	return message
}
