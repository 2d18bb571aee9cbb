package command

import (
	"errors"
	"io"

	"pretext/cmd/internal/cli"
	"pretext/records"
	"pretext/records/tfrecord"
	"pretext/sharding"
	"pretext/trainer/checkpoint"
	"pretext/trainer/finetune"
	"pretext/trainer/loader"
)

func usagef(format string, args ...any) error { return cli.Usagef(format, args...) }

// misuse marks an error as one of usage.
func misuse(err error) error { return cli.UsageError{Err: err} }

// program says which errors end train-bert with which exit code.
func program() cli.Program {
	return cli.Program{
		Name: "train-bert",
		Then: []cli.Cause{
			{Code: cli.ExitDamaged, Is: []error{checkpoint.ErrDamaged, loader.ErrDamaged, records.ErrExample, tfrecord.ErrCorrupt,
				sharding.ErrFormat, sharding.ErrUnfinished, finetune.ErrData, finetune.ErrNumbers}},
			{Code: cli.ExitUsage, Is: []error{loader.ErrNoShards}, As: cli.AsAny[*loader.CompressedError]},
		},
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
