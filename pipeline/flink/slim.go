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
	"pretext/internal/metrics"
)

// errSlim is the error of all functions in this file that would need a cluster.
var errSlim = failure.Usagef("this build has no support for clusters: use the release program (make build), or go build -tags cluster ./cmd/prepare-data")

// Supported returns a usage error. It explains how to get a program that supports
// clusters.
func Supported() error { return errSlim }

// Run returns the error of [Supported].
func (Cluster) Run(context.Context, *beam.Pipeline, Job) error { return errSlim }

// Live returns the error of [Supported].
func (Cluster) Live(context.Context, string) (bool, error) { return false, errSlim }

// Work prints the error of [Supported] and returns its exit code.
func Work([]string, Process) int {
	fmt.Fprintln(os.Stderr, "prepare-data: worker:", errSlim)
	return 2
}

// Failed returns nil: there is no Flink cluster to ask.
func Failed(context.Context) error { return nil }

// Where returns a description of this process for messages.
func Where() string { return "worker" }

// A Pool cannot be created in this build.
type Pool struct{}

// NewPool returns the error of [Supported].
func NewPool(PoolOptions, io.Writer) (*Pool, error) { return nil, errSlim }

// Metrics does nothing.
func (*Pool) Metrics(*metrics.Text) {}

// Serve returns the error of [Supported].
func (*Pool) Serve(context.Context, net.Listener) error { return errSlim }
