package command

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"pretext/pipeline/flink"
)

// defaultPool is the default address of a worker pool. It is a loopback address, because
// the pool runs on the same machine as its TaskManager.
const defaultPool = "127.0.0.1:50000"

func newWorker() *cobra.Command {
	var pool bool
	var listen string
	var o flink.PoolOptions
	var metrics string
	cmd := &cobra.Command{
		Use:   "worker --pool",
		Short: "Worker pool of a Flink cluster",
		Long: `Runs a worker pool next to a Flink TaskManager, for --runner flink --worker-pool: it
starts workers when the TaskManager asks for them, until it is interrupted. Run one
pool per TaskManager, on the same machine or in the same pod.

With --secret FILE it starts workers for jobs that were submitted with the same secret
(--worker-secret FILE); the file is made if there is none, and no other user may be able
to read it. Without it, it serves processes of the same user on the same machine (Linux),
and --listen must be a loopback address.`,
		Args: noWords,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !pool {
				return usagef("give --pool; other workers are started by Flink's TaskManagers")
			}
			if err := flink.Supported(); err != nil {
				return err
			}
			return runPool(cmd, listen, metrics, o)
		},
	}
	cmd.Flags().BoolVar(&pool, "pool", false, "start workers when the TaskManager asks for them (required)")
	cmd.Flags().StringVar(&listen, "listen", defaultPool, "`HOST:PORT` to listen on")
	cmd.Flags().StringVar(&o.Secret, "secret", "", "`file` with the secret of the pools, mode 0600; made if there is none")
	cmd.Flags().StringVar(&o.REST, "flink-rest", "", "`URL` of the REST interface of Flink's JobManager, where workers ask whether their job is still running; default: the URL in the job's token, else one on this machine")
	cmd.Flags().StringVar(&metrics, "metrics-listen", "", metricsUsage)
	cmd.Flags().IntVar(&o.Workers, "max-workers", 0, "maximum `number` of workers at once: each job has one on each TaskManager; 0: two per processor, at least eight")
	cmd.Flags().StringVar(&o.Logs, "worker-logs", "", "`directory` for the logs of failed workers; default: the temporary directory")
	return cmd
}

// runPool runs a worker pool until the command is interrupted.
func runPool(cmd *cobra.Command, listen, metrics string, o flink.PoolOptions) error {
	if o.Workers == 0 {
		o.Workers = max(8, 2*runtime.GOMAXPROCS(0))
	}
	if o.Secret != "" {
		path, err := filepath.Abs(o.Secret) // absolute, because workers read the file too
		if err != nil {
			return err
		}
		o.Secret = path
	}
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return misuse(fmt.Errorf("--listen: %w", err))
	}
	defer l.Close()
	p, err := flink.NewPool(o, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	if err := serveMetrics(cmd, metrics, p.Metrics); err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "worker pool at %s\n", l.Addr())
	if err := p.Serve(cmd.Context(), l); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}
