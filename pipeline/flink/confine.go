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

// guarded is set to false only in tests, which show that the attacks succeed without
// the guards.
var guarded = true

// confine restricts a worker to the jobs of pretext. Without it, Beam calls any
// function of the program by name, with arguments from the job, and connects to any
// address.
func confine() {
	if !guarded {
		return
	}
	runtime.Resolver = registeredOnly{}
	grpcx.Dial = dialLocal
}

// registeredOnly is a resolver that finds no function by its symbol. Beam asks it for
// functions that were not registered. pretext registers all that its jobs call, and
// the functions that Beam registers only encode values.
type registeredOnly struct{}

// Sym2Addr implements [runtime.SymbolResolver].
func (registeredOnly) Sym2Addr(name string) (uintptr, error) {
	return 0, failure.Usagef("the job calls %.100q, which is not a function of a stage: this worker runs only jobs of pretext", name)
}

// dialLocal connects to an endpoint of the TaskManager, which its workers reach over
// loopback.
func dialLocal(ctx context.Context, endpoint string, timeout time.Duration) (*grpc.ClientConn, error) {
	if err := checkLocal(endpoint); err != nil {
		return nil, err
	}
	return grpcx.DefaultDial(ctx, endpoint, timeout)
}

// checkLocal returns an error unless an endpoint, HOST:PORT, is a loopback address of
// this machine.
func checkLocal(endpoint string) error {
	host, _, err := net.SplitHostPort(endpoint)
	if ip := net.ParseIP(host); err != nil || host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("endpoint %.100q: a worker connects only to the TaskManager of its own machine, over loopback", endpoint)
	}
	return nil
}
