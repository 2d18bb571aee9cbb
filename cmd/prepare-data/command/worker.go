package command

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/spf13/cobra"

	"pretext/pipeline/flink"
)

// defaultPool is where a pool listens: on loopback, since whoever reaches it can have
// workers write files.
const defaultPool = "127.0.0.1:50000"

func newWorker() *cobra.Command {
	var pool bool
	var listen, logs string
	cmd := &cobra.Command{
		Use:   "worker --pool",
		Short: "Worker pool of a Flink cluster",
		Long: `Runs a worker pool next to a Flink TaskManager, for --runner flink --worker-pool: it
starts workers when the TaskManager asks for them, until it is interrupted. Run one
pool per TaskManager, on the same machine or in the same pod.

Anyone who can connect to the pool can make its workers read and write files. It
listens on loopback unless --listen names another address.`,
		Args: noWords,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !pool {
				return usagef("give --pool; other workers are started by Flink's TaskManagers")
			}
			if err := flink.Supported(); err != nil {
				return err
			}
			l, err := net.Listen("tcp", listen)
			if err != nil {
				return misuse(fmt.Errorf("--listen: %w", err))
			}
			defer l.Close()
			p, err := flink.NewPool(logs, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "worker pool at %s\n", l.Addr())
			if err := p.Serve(cmd.Context(), l); !errors.Is(err, context.Canceled) {
				return err
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&pool, "pool", false, "start workers when the TaskManager asks for them (required)")
	cmd.Flags().StringVar(&listen, "listen", defaultPool, "`HOST:PORT` to listen on")
	cmd.Flags().StringVar(&logs, "worker-logs", "", "`directory` for the logs of failed workers; default: the temporary directory")
	return cmd
}
