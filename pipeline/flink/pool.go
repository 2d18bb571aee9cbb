//go:build cluster

package flink

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	fnpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/fnexecution_v1"
	"google.golang.org/grpc"
)

// A Pool starts workers, each a process of its own, when a TaskManager asks for
// them: Beam's EXTERNAL environment. Whoever reaches a pool can have its workers
// write files.
type Pool struct {
	fnpb.UnimplementedBeamFnExternalWorkerPoolServer

	program string
	logs    string
	out     io.Writer // receives a line for each worker

	mu      sync.Mutex
	workers map[string][]*exec.Cmd // by Beam's id of the worker, the latest last; two TaskManagers may choose the same
	closed  bool
	wg      sync.WaitGroup
}

// NewPool returns a pool of this program. logs is the directory for the workers'
// logs, "" for the temporary directory. out receives a line for each worker.
func NewPool(logs string, out io.Writer) (*Pool, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("path of this program: %w", err)
	}
	return &Pool{program: program, logs: logs, out: out, workers: map[string][]*exec.Cmd{}}, nil
}

// Serve serves TaskManagers until ctx ends, and then ends the workers.
func (p *Pool) Serve(ctx context.Context, l net.Listener) error {
	s := grpc.NewServer()
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
func (p *Pool) StartWorker(_ context.Context, req *fnpb.StartWorkerRequest) (*fnpb.StartWorkerResponse, error) {
	if err := p.start(req); err != nil {
		fmt.Fprintf(p.out, "worker %s: %v\n", req.GetWorkerId(), err)
		return &fnpb.StartWorkerResponse{Error: err.Error()}, nil
	}
	return &fnpb.StartWorkerResponse{}, nil
}

func (p *Pool) start(req *fnpb.StartWorkerRequest) error {
	if req.GetControlEndpoint().GetAuthentication() != nil || req.GetLoggingEndpoint().GetAuthentication() != nil {
		return errors.New("endpoints with authentication are not supported")
	}
	id := req.GetWorkerId()
	cmd := exec.Command(p.program, "--id="+id, "--provision_endpoint="+req.GetProvisionEndpoint().GetUrl(),
		"--logging_endpoint="+req.GetLoggingEndpoint().GetUrl(), "--control_endpoint="+req.GetControlEndpoint().GetUrl())
	cmd.Env = append(os.Environ(), workerVariable+"=1", logsVariable+"="+p.logs,
		jobVariable+"="+req.GetParams()[jobVariable], restVariable+"="+req.GetParams()[restVariable])
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return errors.New("the pool is shutting down")
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	p.workers[id] = append(p.workers[id], cmd)
	p.wg.Add(1)
	go p.watch(id, cmd)
	fmt.Fprintf(p.out, "worker %s: process %d started\n", id, cmd.Process.Pid)
	return nil
}

// watch waits for the end of a worker.
func (p *Pool) watch(id string, cmd *exec.Cmd) {
	defer p.wg.Done()
	err := cmd.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
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
		fmt.Fprintf(p.out, "worker %s: process %d ended: %v\n", id, cmd.Process.Pid, err)
		return
	}
	fmt.Fprintf(p.out, "worker %s: process %d ended\n", id, cmd.Process.Pid)
}

// StopWorker implements Beam's worker pool service. A worker whose TaskManager
// is gone ends by itself.
func (p *Pool) StopWorker(_ context.Context, req *fnpb.StopWorkerRequest) (*fnpb.StopWorkerResponse, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.workers[req.GetWorkerId()]
	if len(list) == 1 {
		end(list[0])
	}
	// Of two workers with one id, that of two TaskManagers, the request does not
	// tell which is meant: each ends when its TaskManager closes the connection.
	return &fnpb.StopWorkerResponse{}, nil
}

// end asks a worker to end and kills it if it does not.
func end(cmd *exec.Cmd) {
	if cmd.Process.Signal(syscall.SIGTERM) != nil {
		return
	}
	time.AfterFunc(5*time.Second, func() { cmd.Process.Kill() })
}
