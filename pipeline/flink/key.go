package flink

import (
	"fmt"
	"os"

	"pretext/internal/trust"
)

// PoolOptions configure a [Pool].
type PoolOptions struct {
	Logs    string // directory for the workers' logs; "" for the temporary directory
	Secret  string // absolute path of the file with the secret, created if missing; "" for a pool of one user on one machine
	REST    string // URL of Flink's REST interface for all workers; "" for the URL in each job
	Workers int    // maximum number of concurrent workers, at least 1
}

// Key returns the secret of the cluster's worker pools, or nil if they have none.
func (c Cluster) Key() ([]byte, error) {
	if c.Secret == "" {
		return nil, nil
	}
	key, err := trust.ReadSecret(c.Secret)
	if err != nil {
		return nil, fmt.Errorf("--worker-secret: %w", err)
	}
	return key, nil
}

// WorkerKey returns the secret of the pool that started this worker, or nil if the pool
// has none. Any process on the machine can pose as a TaskManager. So instructions to the
// worker must be sealed with this secret.
func WorkerKey() ([]byte, error) {
	path := os.Getenv(secretVariable)
	if path == "" {
		return nil, nil
	}
	return trust.ReadSecret(path)
}
