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

// guarded is true, except in tests that show that attacks succeed without the guards.
var guarded = true

// confine restricts a worker to the jobs of pretext. Without confine, a job can make Beam
// call any function of the program by name with any arguments, and connect to any
// address.
func confine() {
	if !guarded {
		return
	}
	runtime.Resolver = registeredOnly{}
	grpcx.Dial = dialLocal
}

// registeredOnly is a symbol resolver that finds no function. Beam uses the resolver for
// functions that are not registered. pretext registers all functions that its jobs call.
// The functions that Beam itself registers only encode values.
type registeredOnly struct{}

// Sym2Addr implements [runtime.SymbolResolver].
func (registeredOnly) Sym2Addr(name string) (uintptr, error) {
	return 0, failure.Usagef("the job calls %.100q, which is not a function of a stage: this worker runs only jobs of pretext", name)
}

// dialLocal connects to an endpoint of the TaskManager, which is on the same machine as
// its workers.
func dialLocal(ctx context.Context, endpoint string, timeout time.Duration) (*grpc.ClientConn, error) {
	if err := checkLocal(endpoint); err != nil {
		return nil, err
	}
	return grpcx.DefaultDial(ctx, endpoint, timeout)
}

// checkLocal returns an error unless endpoint, as HOST:PORT, is a loopback address of
// this machine.
func checkLocal(endpoint string) error {
	host, _, err := net.SplitHostPort(endpoint)
	if ip := net.ParseIP(host); err != nil || host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("endpoint %.100q: a worker connects only to the TaskManager of its own machine, over loopback", endpoint)
	}
	return nil
}
