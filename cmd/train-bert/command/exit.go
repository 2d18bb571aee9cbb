package command

import (
	"errors"
	"io"

	"pretext/cmd/internal/cli"
)

// Report writes an error as one line and returns the exit code of the process. It writes
// nothing for an exitStatus, because the ranks have already written their errors.
func Report(stderr io.Writer, err error) int {
	var ranks exitStatus
	if errors.As(err, &ranks) {
		return int(ranks)
	}
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
