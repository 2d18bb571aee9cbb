//go:build cluster

package flink

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/util/grpcx"
	"google.golang.org/grpc"

	"pretext/internal/failure"
)

// guarded is false in tests alone, which show that what it guards against happens
// without it.
var guarded = true

// confine keeps a worker to what pretext's own jobs do. Without it, Beam calls any
// function of the program by its name, with arguments that come with the job, and
// connects to any address.
func confine() {
	if !guarded {
		return
	}
	runtime.Resolver = registeredOnly{}
	grpcx.Dial = dialLocal
}

// registeredOnly finds no function by its symbol. Beam asks it for functions that were
// not registered: pretext registers what its jobs call, and nothing that Beam itself
// registers does more than encode values.
type registeredOnly struct{}

// Sym2Addr implements [runtime.SymbolResolver].
func (registeredOnly) Sym2Addr(name string) (uintptr, error) {
	return 0, failure.Usagef("the job calls %.100q, which is no function of a stage: this worker does the work of pretext's jobs alone", name)
}

// dialLocal connects to an endpoint of the TaskManager, which serves its workers on
// loopback.
func dialLocal(ctx context.Context, endpoint string, timeout time.Duration) (*grpc.ClientConn, error) {
	if err := checkLocal(endpoint); err != nil {
		return nil, err
	}
	return grpcx.DefaultDial(ctx, endpoint, timeout)
}

// checkLocal returns an error unless an endpoint, HOST:PORT, is one of this machine's
// loopback.
func checkLocal(endpoint string) error {
	host, _, err := net.SplitHostPort(endpoint)
	if ip := net.ParseIP(host); err != nil || host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("endpoint %.100q: a worker connects to the TaskManager of its own machine alone, over loopback", endpoint)
	}
	return nil
}
