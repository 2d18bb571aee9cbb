package command

import (
	"errors"
	"io"

	"pretext/cmd/internal/cli"
)

// Report writes an error as one line and returns the exit code of the process.
func Report(stderr io.Writer, err error) int {
	return cli.Program{
		Name: "train-bert",
		Advice: func(_ int, err error, message string) string {
			if errors.Is(err, errStopped) {
				return "stopped"
			}
			return message
		},
	}.Report(stderr, err)
}
