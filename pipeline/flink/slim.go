//go:build !cluster

package flink

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"pretext/internal/failure"
)

// errSlim is the error of all functions of this file that need a cluster.
var errSlim = failure.Usagef("this build has no support for clusters: use the release program (make build), or go build -tags cluster ./cmd/prepare-data")

// Supported returns a usage error that says how to get a program that can use
// clusters.
func Supported() error { return errSlim }

// Run returns the error of [Supported].
func (Cluster) Run(context.Context, *beam.Pipeline, Job) error { return errSlim }

// Live returns the error of [Supported].
func (Cluster) Live(context.Context, string) (bool, error) { return false, errSlim }

// Work prints the error of [Supported] and returns its exit code.
func Work([]string, func()) int {
	fmt.Fprintln(os.Stderr, "prepare-data: worker:", errSlim)
	return 2
}

// Failed returns nil: no Flink can be reached from here.
func Failed(context.Context) error { return nil }

// Where describes this process in messages.
func Where() string { return "worker" }

// A Pool cannot be made.
type Pool struct{}

// NewPool returns the error of [Supported].
func NewPool(PoolOptions, io.Writer) (*Pool, error) { return nil, errSlim }

// Serve returns the error of [Supported].
func (*Pool) Serve(context.Context, net.Listener) error { return errSlim }
