//go:build cluster

package flink

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	jobpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/jobmanagement_v1"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
	"google.golang.org/grpc"
)

// A fakeFlink answers as a JobManager's REST interface does.
type fakeFlink struct {
	*httptest.Server
	mu          sync.Mutex
	jobs        []fakeJob
	settings    map[string]string
	slots       int
	broken      bool // answers 500
	forgotten   bool // knows no job any more
	cancelled   []string
	unstoppable bool
	asked       int
	running     int // subtasks of the step "stage.taskFn" that have not ended
}

type fakeJob struct {
	id, name, state string
	exceptions      []string // stack traces, the latest last
}

func newFlink(t *testing.T) *fakeFlink {
	f := &fakeFlink{settings: map[string]string{"restart-strategy.type": "fixed-delay"}, slots: 4}
	f.Server = httptest.NewServer(http.HandlerFunc(f.serve))
	t.Cleanup(f.Close)
	return f
}

// do changes the fake under its lock.
func (f *fakeFlink) do(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

func (f *fakeFlink) serve(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked++
	if f.broken {
		http.Error(w, "starting", http.StatusServiceUnavailable)
		return
	}
	write := func(v any) { json.NewEncoder(w).Encode(v) }
	type object = map[string]any
	path := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case r.URL.Path == "/jobmanager/config":
		var list []object
		for k, v := range f.settings {
			list = append(list, object{"key": k, "value": v})
		}
		write(list)
		return
	case r.URL.Path == "/overview":
		write(object{"slots-total": f.slots})
		return
	case r.URL.Path == "/jobs/overview":
		list := []object{}
		for i, j := range f.jobs {
			if !f.forgotten {
				list = append(list, object{"jid": j.id, "name": j.name, "state": j.state, "start-time": i})
			}
		}
		write(object{"jobs": list})
		return
	}
	for i := range f.jobs {
		j := &f.jobs[i]
		if f.forgotten || len(path) < 2 || j.id != path[1] {
			continue
		}
		switch {
		case r.Method == http.MethodPatch && r.URL.RawQuery == "mode=cancel":
			f.cancelled = append(f.cancelled, j.id)
			if !f.unstoppable {
				j.state = canceled
			}
			w.WriteHeader(http.StatusAccepted)
		case len(path) == 2:
			write(object{"vertices": []object{
				{"name": "MapPartition at [1]x/stage.taskFn", "tasks": object{"RUNNING": f.running, "FINISHED": 3, "CANCELED": 0}},
				{"name": "MapPartition at [1]manifest/stage.manifestFn", "tasks": object{"RUNNING": 2}},
			}})
		case len(path) == 3 && path[2] == "status":
			write(object{"status": j.state})
		case len(path) == 3 && path[2] == "exceptions":
			entries := []object{}
			for at, e := range j.exceptions {
				entries = append([]object{{"timestamp": at + 1, "stacktrace": e}}, entries...)
			}
			write(object{"exceptionHistory": object{"entries": entries}})
		default:
			http.NotFound(w, r)
		}
		return
	}
	if len(path) == 3 && path[2] == "status" { // as Flink 1.19 answers
		http.Error(w, `{"errors":["Internal server error.","org.apache.flink.runtime.messages.FlinkJobNotFoundException: Could not find Flink job (id0)"]}`, http.StatusInternalServerError)
		return
	}
	http.NotFound(w, r)
}

// A fakeServer is a Beam job server. Its run function decides what becomes of a job.
type fakeServer struct {
	jobpb.UnimplementedJobServiceServer
	jobpb.UnimplementedArtifactStagingServiceServer
	grpc    *grpc.Server
	address string
	run     func(name string) // called when a job is run

	mu      sync.Mutex
	name    string
	options string
	model   *pipepb.Pipeline
	failed  string        // message of the failed job
	over    chan struct{} // closed when the job has ended
}

func newServer(t *testing.T) *fakeServer {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &fakeServer{grpc: grpc.NewServer(), address: l.Addr().String(), over: make(chan struct{})}
	jobpb.RegisterJobServiceServer(s.grpc, s)
	jobpb.RegisterArtifactStagingServiceServer(s.grpc, s)
	go s.grpc.Serve(l)
	t.Cleanup(s.grpc.Stop)
	return s
}

func (s *fakeServer) Prepare(_ context.Context, r *jobpb.PrepareJobRequest) (*jobpb.PrepareJobResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.name, s.model, s.options = r.GetJobName(), r.GetPipeline(), r.GetPipelineOptions().String()
	return &jobpb.PrepareJobResponse{PreparationId: "p", StagingSessionToken: "t", ArtifactStagingEndpoint: &pipepb.ApiServiceDescriptor{Url: s.address}}, nil
}

func (s *fakeServer) ReverseArtifactRetrievalService(stream jobpb.ArtifactStagingService_ReverseArtifactRetrievalServiceServer) error {
	_, err := stream.Recv()
	return err
}

func (s *fakeServer) Run(context.Context, *jobpb.RunJobRequest) (*jobpb.RunJobResponse, error) {
	if s.run != nil {
		s.run(s.name)
	}
	return &jobpb.RunJobResponse{JobId: "j"}, nil
}

func (s *fakeServer) GetMessageStream(_ *jobpb.JobMessagesRequest, stream jobpb.JobService_GetMessageStreamServer) error {
	select {
	case <-s.over:
	case <-stream.Context().Done():
		return io.EOF
	}
	state := &jobpb.JobMessagesResponse{Response: &jobpb.JobMessagesResponse_StateResponse{StateResponse: &jobpb.JobStateEvent{State: jobpb.JobState_FAILED}}}
	if err := stream.Send(state); err != nil {
		return err
	}
	return stream.Send(&jobpb.JobMessagesResponse{Response: &jobpb.JobMessagesResponse_MessageResponse{
		MessageResponse: &jobpb.JobMessage{Importance: jobpb.JobMessage_JOB_MESSAGE_ERROR, MessageText: s.failed}}})
}

// pipeline returns a small pipeline.
func pipeline() *beam.Pipeline {
	p, s := beam.NewPipelineWithRoot()
	beam.Create(s, 1)
	return p
}

// A world is a cluster of fakes and what a run tells the user.
type world struct {
	flink   *fakeFlink
	server  *fakeServer
	cluster Cluster
	mu      sync.Mutex
	notes   []string
	done    func() bool
}

func newWorld(t *testing.T) *world {
	t.Helper()
	old := []time.Duration{tick, patience, dialing, arrival, stopping}
	tick, patience, dialing, arrival, stopping = 2*time.Millisecond, 200*time.Millisecond, 300*time.Millisecond, 200*time.Millisecond, 200*time.Millisecond
	t.Cleanup(func() { tick, patience, dialing, arrival, stopping = old[0], old[1], old[2], old[3], old[4] })
	w := &world{flink: newFlink(t), server: newServer(t)}
	w.cluster = Cluster{Endpoint: w.server.address, REST: w.flink.URL, Parallelism: 2, Program: "/opt/prepare-data"}
	return w
}

func (w *world) run(ctx context.Context) error {
	return w.cluster.Run(ctx, pipeline(), Job{Name: "job1", Done: w.done, Step: "stage.taskFn", Note: func(text string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.notes = append(w.notes, text)
	}})
}

// told returns what the user was told.
func (w *world) told() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.notes, "\n")
}

// arrives lets Flink have the job, in a state.
func (w *world) arrives(state string, exceptions ...string) func(string) {
	return func(name string) {
		w.flink.do(func() {
			w.flink.jobs = append(w.flink.jobs, fakeJob{fmt.Sprint("id", len(w.flink.jobs)), name + "-root-1122-abc", state, exceptions})
		})
	}
}

// becomes changes the state of the latest job after a while.
func (w *world) becomes(state string, exceptions ...string) {
	go func() {
		time.Sleep(20 * time.Millisecond)
		w.flink.do(func() {
			j := &w.flink.jobs[len(w.flink.jobs)-1]
			j.state, j.exceptions = state, append(j.exceptions, exceptions...)
		})
	}()
}
