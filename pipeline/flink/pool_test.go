//go:build cluster

package flink

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	fnpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/fnexecution_v1"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// A taskManager serves workers as a TaskManager does.
type taskManager struct {
	fnpb.UnimplementedProvisionServiceServer
	fnpb.UnimplementedBeamFnControlServer
	fnpb.UnimplementedBeamFnLoggingServer
	address string
	grpc    *grpc.Server
	joined  chan bool // a value for each worker that connects
}

func newTaskManager(t *testing.T) *taskManager {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m := &taskManager{address: l.Addr().String(), grpc: grpc.NewServer(), joined: make(chan bool, 10)}
	fnpb.RegisterProvisionServiceServer(m.grpc, m)
	fnpb.RegisterBeamFnControlServer(m.grpc, m)
	fnpb.RegisterBeamFnLoggingServer(m.grpc, m)
	go m.grpc.Serve(l)
	t.Cleanup(m.grpc.Stop)
	return m
}

func (m *taskManager) url() *pipepb.ApiServiceDescriptor {
	return &pipepb.ApiServiceDescriptor{Url: m.address}
}

func (m *taskManager) GetProvisionInfo(context.Context, *fnpb.GetProvisionInfoRequest) (*fnpb.GetProvisionInfoResponse, error) {
	return &fnpb.GetProvisionInfoResponse{Info: &fnpb.ProvisionInfo{LoggingEndpoint: m.url(), ControlEndpoint: m.url()}}, nil
}

func (m *taskManager) Control(stream fnpb.BeamFnControl_ControlServer) error {
	m.joined <- true
	<-stream.Context().Done()
	return nil
}

func (m *taskManager) Logging(stream fnpb.BeamFnLogging_LoggingServer) error {
	<-stream.Context().Done()
	return nil
}

// lines is a writer that tests read.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// await waits until a text was written n times.
func (l *lines) await(t *testing.T, text string, n int) {
	t.Helper()
	for range 1000 {
		l.mu.Lock()
		have := l.text.String()
		l.mu.Unlock()
		if strings.Count(have, text) >= n {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("%q was not written %d times: %q", text, n, l.text.String())
}

// A pool starts a process for each worker. A worker ends when it is stopped or when
// its TaskManager is gone, and all end with the pool.
func TestAPoolStartsAndStopsWorkers(t *testing.T) {
	logs, out := t.TempDir(), new(lines)
	p, err := NewPool(PoolOptions{Logs: logs, Workers: 9}, out)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- p.Serve(ctx, l) }()
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	client := fnpb.NewBeamFnExternalWorkerPoolClient(conn)
	start := func(m *taskManager, id string) {
		t.Helper()
		r, err := client.StartWorker(ctx, &fnpb.StartWorkerRequest{WorkerId: id, ProvisionEndpoint: m.url(), LoggingEndpoint: m.url(), ControlEndpoint: m.url()})
		if err != nil || r.GetError() != "" {
			t.Fatal(err, r.GetError())
		}
		<-m.joined
	}
	a, b := newTaskManager(t), newTaskManager(t)
	start(a, "1-1")
	start(b, "1-1") // two TaskManagers choose the same id
	start(a, "1-2")
	if _, err := client.StopWorker(ctx, &fnpb.StopWorkerRequest{WorkerId: "1-2"}); err != nil {
		t.Fatal(err)
	}
	out.await(t, "ended", 1)
	b.grpc.Stop() // the TaskManager is gone
	out.await(t, "ended", 2)
	cancel()
	<-served
	out.await(t, "ended", 3)
	if left, _ := filepath.Glob(filepath.Join(logs, logPattern)); len(left) > 1 {
		t.Errorf("logs of workers that ended without an error: %v", left)
	}
	if r, err := p.StartWorker(t.Context(), &fnpb.StartWorkerRequest{WorkerId: "2"}); err != nil || !strings.Contains(r.GetError(), "shutting down") {
		t.Errorf("a closed pool answers %v %v", r, err)
	}
}

// Beam's runner forgets workers that it starts while Flink repeats a job. They end
// with the job, but not where another REST interface answers, which never had it.
func TestAWorkerEndsWhenFlinkNoLongerRunsItsJob(t *testing.T) {
	out, w := new(lines), newWorld(t)
	p, err := NewPool(PoolOptions{Logs: t.TempDir(), Workers: 9}, out)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.close)
	m := newTaskManager(t)
	for id, job := range map[string]string{"1-1": "job1", "1-2": "another"} {
		r, err := p.StartWorker(t.Context(), &fnpb.StartWorkerRequest{WorkerId: id, ProvisionEndpoint: m.url(), Params: map[string]string{restVariable: w.flink.URL, jobVariable: job}})
		if err != nil || r.GetError() != "" {
			t.Fatal(err, r.GetError())
		}
	}
	w.arrives("RUNNING")("job1")
	for range 2 {
		<-m.joined
	}
	for before := -1; before < 20; time.Sleep(10 * time.Millisecond) { // both have asked often
		w.flink.do(func() { before = w.flink.asked })
	}
	w.flink.do(func() { w.flink.jobs[0].state = finished })
	out.await(t, "ended", 1)
	if strings.Contains(out.text.String(), `worker "1-2": process`) && strings.Count(out.text.String(), "ended") != 1 {
		t.Errorf("the other worker ended too: %s", out.text.String())
	}
}

// Its job may end before the worker has asked twice.
func TestAWorkerEndsAfterAShortJob(t *testing.T) {
	was := rounds
	rounds = 300 * time.Millisecond
	t.Cleanup(func() { rounds = was })
	w := newWorld(t)
	w.arrives("RUNNING")("job1")
	over := forgotten(t.Context(), w.flink.URL, "job1")
	for begin, asked := time.Now(), 0; asked == 0 && time.Since(begin) < rounds/2; time.Sleep(time.Millisecond) {
		w.flink.do(func() { asked = w.flink.asked })
	}
	w.flink.do(func() { w.flink.jobs[0].state = finished })
	select {
	case <-over:
	case <-time.After(10 * time.Second):
		t.Error("the worker waits for a job that has ended")
	}
}

// A worker that cannot reach its TaskManager leaves a log that tells why.
func TestAWorkerThatFailsLeavesItsLog(t *testing.T) {
	logs := t.TempDir()
	p, err := NewPool(PoolOptions{Logs: logs, Workers: 9}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	m := newTaskManager(t)
	m.grpc.Stop()
	if r, err := p.StartWorker(t.Context(), &fnpb.StartWorkerRequest{WorkerId: "1", ProvisionEndpoint: m.url()}); err != nil || r.GetError() != "" {
		t.Fatal(err, r.GetError())
	}
	p.wg.Wait()
	left, _ := filepath.Glob(filepath.Join(logs, logPattern))
	if len(left) != 1 {
		t.Fatalf("%d logs, want 1", len(left))
	}
	if b, err := os.ReadFile(left[0]); err != nil || !strings.Contains(string(b), "reach the TaskManager at "+m.address) {
		t.Errorf("log %q %v", b, err)
	}
}
