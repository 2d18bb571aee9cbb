package command

import (
	"errors"
	"io"

	"pretext/cmd/internal/cli"
)

func usagef(format string, args ...any) error { return cli.Usagef(format, args...) }

// misuse marks an error as one of usage.
func misuse(err error) error { return cli.UsageError{Err: err} }

// program is train-bert, whose errors tell their exit codes themselves.
func program() cli.Program {
	return cli.Program{
		Name: "train-bert",
		Advice: func(_ int, err error, message string) string {
			if errors.Is(err, errStopped) {
				return "stopped"
			}
			return message
		},
	}
}

// Report writes the one line that says what went wrong and returns the exit
// code of the process.
func Report(stderr io.Writer, err error) int { return program().Report(stderr, err) }
