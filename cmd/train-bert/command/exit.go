package command

import (
	"context"
	"errors"
	"io"

	"pretext/cmd/internal/cli"
	"pretext/internal/failure"
	"pretext/trainer/checkpoint"
)

// Report writes an error as one line and returns the exit code of the process. It writes
// nothing for an exitStatus, because the ranks have already written their errors.
func Report(stderr io.Writer, err error) int {
	var ranks exitStatus
	if errors.As(err, &ranks) {
		return int(ranks)
	}
	return cli.Program{
		Name: "train-bert", Groups: flagGroups,
		Advice: func(_ int, err error, message string) string {
			var stopped *interruption
			switch {
			case errors.Is(err, errStopped):
				return "stopped"
			case errors.As(err, &stopped):
				return stopped.Error()
			}
			return message
		},
	}.Report(stderr, err)
}

// An interruption is the error of a run that a signal stopped. Its text names the
// checkpoint from which the same command resumes.
type interruption struct{ next string }

// Error implements error.
func (i *interruption) Error() string { return "interrupted: " + i.next }

// Unwrap returns [context.Canceled], so that the exit code is that of an interruption.
func (*interruption) Unwrap() error { return context.Canceled }

// interrupted returns the error to report for err, the error of a run with the output
// directory out. If a signal stopped the run, it is an [interruption]; otherwise err.
func interrupted(err error, out string) error {
	if failure.ExitCode(err) != failure.ExitInterrupted {
		return err
	}
	if last := checkpoint.Last(out); last != "" {
		return &interruption{"run the same command again to resume from " + last}
	}
	return &interruption{"there is no checkpoint yet, so the same command starts from the beginning"}
}
