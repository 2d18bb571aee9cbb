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

// An interruption is the error of a run that was stopped by a signal. Its text says
// from where the same command resumes.
type interruption struct{ next string }

// Error implements error.
func (i *interruption) Error() string { return "interrupted: " + i.next }

// Unwrap returns the error of a signal.
func (*interruption) Unwrap() error { return context.Canceled }

// interrupted returns err. If a signal has stopped a run in the directory out, it says
// from which checkpoint the same command resumes.
func interrupted(err error, out string) error {
	if failure.ExitCode(err) != failure.ExitInterrupted {
		return err
	}
	if last := checkpoint.Last(out); last != "" {
		return &interruption{"run the same command again to resume from " + last}
	}
	return &interruption{"there is no checkpoint yet, so the same command starts from the beginning"}
}
