//go:build cluster

package flink

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	fnpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/fnexecution_v1"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/peer"

	"pretext/internal/failure"
	"pretext/internal/redact"
	"pretext/internal/trust"
)

// A Pool starts workers when a TaskManager requests them: Beam's EXTERNAL environment.
// Each worker is a separate process. A pool with a secret starts workers only for jobs
// that were submitted with the same secret. A pool without a secret accepts requests only
// from processes of the same user on the same machine.
type Pool struct {
	fnpb.UnimplementedBeamFnExternalWorkerPoolServer

	o       PoolOptions
	program string
	key     []byte      // the secret; nil for a pool without a secret
	out     *notes      // receives a line for each worker
	crowd   trust.Crowd // connections that have not yet sent a valid token, in a pool with a secret

	mu      sync.Mutex
	workers map[string][]*exec.Cmd // by Beam's id of the worker, the latest last; two TaskManagers may use the same id
	running int
	told    told
	seen    map[[sha256.Size]byte]bool // requests already received, in a pool with a secret
	closed  bool
	wg      sync.WaitGroup
}

// NewPool returns a pool whose workers run this program. out receives a line for each
// worker.
func NewPool(o PoolOptions, out io.Writer) (*Pool, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("path of this program: %w", err)
	}
	if o.Workers < 1 {
		return nil, failure.Usagef("--max-workers %d: must be at least 1", o.Workers)
	}
	p := &Pool{o: o, program: program, out: &notes{w: out}, workers: map[string][]*exec.Cmd{}, seen: map[[sha256.Size]byte]bool{}, crowd: trust.Crowd{Max: maxConnections}}
	if o.Secret != "" {
		if p.key, err = trust.MakeSecret(o.Secret); err != nil {
			return nil, fmt.Errorf("--secret: %w", err)
		}
	}
	return p, nil
}

// Limits of a pool's listener. A TaskManager sends a request of a few hundred bytes for
// each worker.
const (
	maxConnections = 256
	maxRequest     = 64 << 10
	maxStreams     = 16
	idle           = time.Minute
)

// guard returns a listener that accepts only permitted connections.
func (p *Pool) guard(l net.Listener) (net.Listener, error) {
	if p.key == nil && guarded {
		a, ok := l.Addr().(*net.TCPAddr)
		if !ok || !a.IP.IsLoopback() {
			return nil, failure.Usagef("--listen %v: other machines may reach this address: give --secret FILE, and the same file to the run as --worker-secret", l.Addr())
		}
		if !trust.CanTellUsers() {
			return nil, failure.Usagef("this system does not report which user connects: give --secret FILE, and the same file to the run as --worker-secret")
		}
		return &trust.Listener{Listener: l, Refuse: func(err error) { p.out.refuse("connection", err) }}, nil
	}
	return p.crowd.Listener(l), nil
}

// Serve answers requests of TaskManagers until ctx ends. Then it ends all workers.
func (p *Pool) Serve(ctx context.Context, l net.Listener) error {
	l, err := p.guard(l)
	if err != nil {
		return err
	}
	s := grpc.NewServer(grpc.MaxRecvMsgSize(maxRequest), grpc.MaxConcurrentStreams(maxStreams), grpc.MaxHeaderListSize(16<<10), grpc.ConnectionTimeout(idle/6),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: idle, MaxConnectionAge: 2 * idle, MaxConnectionAgeGrace: idle / 6}))
	fnpb.RegisterBeamFnExternalWorkerPoolServer(s, p)
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	s.Stop()
	p.close()
	return context.Cause(ctx)
}

// close ends all workers and waits for them.
func (p *Pool) close() {
	p.mu.Lock()
	p.closed = true
	for _, list := range p.workers {
		for _, w := range list {
			end(w)
		}
	}
	p.mu.Unlock()
	p.wg.Wait()
}

// StartWorker implements Beam's worker pool service.
func (p *Pool) StartWorker(ctx context.Context, req *fnpb.StartWorkerRequest) (*fnpb.StartWorkerResponse, error) {
	err := p.admit(req)
	if err == nil {
		if from, ok := peer.FromContext(ctx); ok {
			p.crowd.Vouch(from.Addr)
		}
		err = p.start(req)
	}
	if err != nil {
		p.out.refuse("worker", err)
		r := failure.NewReport(err, "worker pool on "+hostName())
		return &fnpb.StartWorkerResponse{Error: r.Text + " " + r.Mark()}, nil
	}
	return &fnpb.StartWorkerResponse{}, nil
}

// admit returns an error if the pool must not start the requested worker.
func (p *Pool) admit(req *fnpb.StartWorkerRequest) error {
	if !guarded {
		return nil
	}
	if p.key != nil {
		if err := checkToken(p.key, req.GetParams(), time.Now()); err != nil {
			return err
		}
	}
	if req.GetControlEndpoint().GetAuthentication() != nil || req.GetLoggingEndpoint().GetAuthentication() != nil {
		return errors.New("endpoints with authentication are not supported")
	}
	for _, e := range []*pipepb.ApiServiceDescriptor{req.GetProvisionEndpoint(), req.GetLoggingEndpoint(), req.GetControlEndpoint()} {
		if e.GetUrl() == "" {
			continue // the worker gets it from the provision endpoint
		}
		if err := checkLocal(e.GetUrl()); err != nil {
			return err
		}
	}
	return nil
}

func (p *Pool) start(req *fnpb.StartWorkerRequest) error {
	id := req.GetWorkerId()
	cmd := exec.Command(p.program, "--id="+id, "--provision_endpoint="+req.GetProvisionEndpoint().GetUrl(),
		"--logging_endpoint="+req.GetLoggingEndpoint().GetUrl(), "--control_endpoint="+req.GetControlEndpoint().GetUrl())
	cmd.Env = append(os.Environ(), workerVariable+"=1", logsVariable+"="+p.o.Logs, secretVariable+"="+p.o.Secret,
		jobVariable+"="+req.GetParams()[jobVariable], restVariable+"="+p.rest(req.GetParams()[restVariable]))
	p.mu.Lock()
	defer p.mu.Unlock()
	request := fingerprint(req)
	switch {
	case p.closed:
		return errors.New("the pool is shutting down")
	case p.key != nil && guarded && p.seen[request]:
		return errors.New("this request was sent before: each worker needs another id or endpoint")
	}
	if p.running >= p.o.Workers && guarded {
		return fmt.Errorf("%d workers are running, as many as this pool may start: wait for another job to end, or start the pool with a greater --max-workers", p.running)
	}
	if err := p.told.start(cmd, req.GetParams()[jobVariable]); err != nil {
		return err
	}
	p.running++
	p.seen[request] = true
	p.workers[id] = append(p.workers[id], cmd)
	p.wg.Add(1)
	go p.watch(id, cmd)
	p.out.printf("worker %.100q: process %d started", id, cmd.Process.Pid)
	return nil
}

// rest returns the URL of Flink's REST interface for a worker, or "" if the worker must
// not use any. If the pool has a URL, that is the result. Otherwise the result is
// named, the URL from the job, if the job's token contains named or if named is on this
// machine.
func (p *Pool) rest(named string) string {
	u, err := url.Parse(named)
	switch {
	case p.o.REST != "":
		return p.o.REST
	case named == "" || p.key != nil || !guarded:
		return named
	case err == nil && u.Scheme == "http" && checkLocal(net.JoinHostPort(u.Hostname(), u.Port())) == nil:
		return named
	}
	p.out.printf("a worker does not ask %.100q whether its job lives, since the job has no token: start the pool with --flink-rest or --secret", redact.URL(named))
	return ""
}

// fingerprint returns a hash of a request. The pool uses the hash to refuse repeated
// requests.
func fingerprint(req *fnpb.StartWorkerRequest) [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q %q", req.GetWorkerId(), req.GetProvisionEndpoint().GetUrl(), req.GetLoggingEndpoint().GetUrl(),
		req.GetControlEndpoint().GetUrl(), req.GetParams()[tokenVariable]))
}

// watch waits for a worker to end and removes it from p.workers.
func (p *Pool) watch(id string, cmd *exec.Cmd) {
	defer p.wg.Done()
	err := cmd.Wait()
	p.told.end(cmd, err)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running--
	list := p.workers[id]
	for i, w := range list {
		if w == cmd {
			list = append(list[:i], list[i+1:]...)
			break
		}
	}
	if p.workers[id] = list; len(list) == 0 {
		delete(p.workers, id)
	}
	if err != nil {
		p.out.printf("worker %.100q: process %d ended: %v", id, cmd.Process.Pid, err)
		return
	}
	p.out.printf("worker %.100q: process %d ended", id, cmd.Process.Pid)
}

// StopWorker implements Beam's worker pool service. A TaskManager cannot prove its
// identity when it stops a worker, so a pool with a secret ignores the request: the
// worker ends by itself when its TaskManager closes the connection.
func (p *Pool) StopWorker(_ context.Context, req *fnpb.StopWorkerRequest) (*fnpb.StopWorkerResponse, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.workers[req.GetWorkerId()]
	if len(list) == 1 && p.key == nil {
		end(list[0])
	}
	// If two TaskManagers have workers with this id, the request does not identify the
	// worker to end. Each of them ends by itself when its TaskManager closes the
	// connection.
	return &fnpb.StopWorkerResponse{}, nil
}

// end asks a worker to end, and kills it if it does not end in time.
func end(cmd *exec.Cmd) {
	if cmd.Process.Signal(syscall.SIGTERM) != nil {
		return
	}
	time.AfterFunc(5*time.Second, func() { cmd.Process.Kill() })
}

// notes writes messages for users. It writes only the first, second, fourth, eighth
// refusal and so on, with the number of refusals, so that a flood of requests does not
// fill a log.
type notes struct {
	mu       sync.Mutex
	w        io.Writer
	refusals int
}

func (n *notes) printf(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	fmt.Fprintf(n.w, format+"\n", args...)
}

func (n *notes) refuse(what string, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.refusals++; n.refusals&(n.refusals-1) == 0 {
		fmt.Fprintf(n.w, "refused a %s (%d refused so far): %v\n", what, n.refusals, err)
	}
}
