// Command prepare-data turns Wikipedia dumps and books into BERT pre-training
// data.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"pretext/cmd/prepare-data/command"
	"pretext/internal/store/s3"
	"pretext/pipeline/stage"
)

func main() {
	s3.Register() // before Init, which does not return in a worker
	stage.Init(os.Args[1:])
	// The first signal stops the run cleanly; a second one kills the process.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	root := command.NewRoot()
	root.SetArgs(command.Args(os.Args[1:]))
	err := root.ExecuteContext(ctx)
	os.Exit(command.Report(os.Stderr, err))
}
