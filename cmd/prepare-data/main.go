// Command prepare-data turns Wikipedia dumps and books into BERT pre-training
// data.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"pretext/cmd/internal/cli"
	"pretext/cmd/prepare-data/command"
	"pretext/internal/store"
	"pretext/internal/store/s3"
	"pretext/pipeline/stage"
)

func main() {
	start()
	// The first signal stops the run cleanly; a second one kills the process.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:]))
}

// start initializes the process, once, before it runs command lines. In a worker process
// it does the worker's job and does not return.
func start() {
	s3.Register() // before Init, for workers
	stage.Init(os.Args[1:])
}

// run runs a command line and returns its exit code.
func run(ctx context.Context, args []string) int {
	store.TellWaits(func(text string) { fmt.Fprintf(os.Stderr, "prepare-data: note: %s\n", cli.OneLine(text)) })
	root := command.NewRoot()
	root.SetArgs(command.Args(args))
	return command.Report(os.Stderr, root.ExecuteContext(ctx))
}
