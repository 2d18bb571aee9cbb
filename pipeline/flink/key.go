package flink

import (
	"fmt"
	"os"

	"pretext/internal/trust"
)

// PoolOptions configure a [Pool].
type PoolOptions struct {
	Logs    string // directory for the workers' logs; "" for the temporary directory
	Secret  string // absolute path of the file with the secret, made if there is none; "" for a pool of one user on one machine
	REST    string // the one URL of Flink's REST interface that workers ask; "" for that of each job
	Workers int    // maximum number of workers at once, at least 1
}

// Key returns the secret of the cluster's worker pools, nil if they have none.
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

// WorkerKey returns the secret of the pool that started this worker, nil if it has
// none. Because any process of the machine can pose as a TaskManager, instructions to
// the worker must be sealed with this secret.
func WorkerKey() ([]byte, error) {
	path := os.Getenv(secretVariable)
	if path == "" {
		return nil, nil
	}
	return trust.ReadSecret(path)
}
