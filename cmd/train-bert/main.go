// Command train-bert trains BERT on the shards that prepare-data writes.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"pretext/cmd/train-bert/command"
	"pretext/internal/store/s3"
)

func main() {
	s3.Register()
	// The first signal stops the run cleanly; a second one kills the process.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	err := command.NewRoot().ExecuteContext(ctx)
	os.Exit(command.Report(os.Stderr, err))
}
