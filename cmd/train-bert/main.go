// Command train-bert trains BERT on the shards that prepare-data writes.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"pretext/cmd/internal/cli"
	"pretext/cmd/train-bert/command"
	"pretext/internal/store"
	"pretext/internal/store/s3"
)

func main() {
	start()
	// The first signal stops the run cleanly; a second one kills the process.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:]))
}

// start initializes the process.
func start() { s3.Register() }

// run runs a command line and returns its exit code.
func run(ctx context.Context, args []string) int {
	store.TellWaits(func(text string) { fmt.Fprintf(os.Stderr, "train-bert: note: %s\n", cli.OneLine(text)) })
	root := command.NewRoot()
	root.SetArgs(args)
	return command.Report(os.Stderr, root.ExecuteContext(ctx))
}
