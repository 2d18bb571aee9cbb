//go:build cluster

package flink

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	fnpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/fnexecution_v1"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
	"google.golang.org/protobuf/proto"
)

func TestAPoolAdmitsTokensOfItsSecretAlone(t *testing.T) {
	key, now := []byte("0123456789abcdef"), time.Now()
	good := token(key, "job1", "http://h:1", now.Add(time.Minute))
	for _, c := range []struct{ name, job, rest, token, want string }{
		{name: "good", job: "job1", rest: "http://h:1", token: good},
		{name: "none", job: "job1", rest: "http://h:1", want: "give --worker-secret FILE"},
		{name: "another job", job: "job2", rest: "http://h:1", token: good, want: "another secret"},
		{name: "another URL", job: "job1", rest: "http://h:2", token: good, want: "another secret"},
		{name: "another limit", job: "job1", rest: "http://h:1", token: "9" + good, want: "another secret"},
		{name: "another key", job: "job1", rest: "http://h:1", token: token(key[1:], "job1", "http://h:1", now.Add(time.Minute)), want: "another secret"},
		{name: "garbage", job: "job1", rest: "http://h:1", token: "\x00.\xff.", want: "another secret"},
		{name: "limit alone", job: "job1", rest: "http://h:1", token: strings.Split(good, ".")[0], want: "another secret"},
		{name: "old", job: "job1", rest: "http://h:1", token: token(key, "job1", "http://h:1", now.Add(-time.Minute)), want: "run the same command again"},
	} {
		err := checkToken(key, map[string]string{jobVariable: c.job, restVariable: c.rest, tokenVariable: c.token}, now)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}

// The token of a job is in its environment, the secret is in no part of the job.
func TestAJobBringsItsTokenAndNotTheSecret(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte("0123456789abcdef"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := Cluster{Endpoint: "h:1", REST: "http://h:2", Parallelism: 1, Pool: "h:3", Secret: path}
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	env, err := c.environment(t.Context(), "job1")
	if err != nil {
		t.Fatal(err)
	}
	var payload pipepb.ExternalPayload
	if err := proto.Unmarshal(env.GetPayload(), &payload); err != nil {
		t.Fatal(err)
	}
	if err := checkToken([]byte("0123456789abcdef"), payload.GetParams(), time.Now()); err != nil {
		t.Error(err)
	}
	if text := fmt.Sprint(env, payload.GetParams()); strings.Contains(text, "0123456789abcdef") || strings.Contains(text, path) {
		t.Errorf("the job has the secret or its path: %s", text)
	}
	c.Pool, c.Program = "", "/p"
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "--worker-secret: needs --worker-pool") {
		t.Errorf("got %v", err)
	}
}

func TestAPoolWithoutASecretStaysOnItsMachine(t *testing.T) {
	p, err := NewPool(PoolOptions{Workers: 1}, new(lines))
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := p.Serve(t.Context(), l); err == nil || !strings.Contains(err.Error(), "give --secret FILE") {
		t.Errorf("got %v", err)
	}
	if _, err := NewPool(PoolOptions{}, new(lines)); err == nil {
		t.Error("a pool of no workers")
	}
}

// A pool starts as many workers as it may, and workers connect to their own machine.
func TestAPoolStartsNoMoreWorkersThanItMay(t *testing.T) {
	p, err := NewPool(PoolOptions{Logs: t.TempDir(), Workers: 2}, new(lines))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.close)
	m := newTaskManager(t)
	for i := range 5 {
		r, err := p.StartWorker(t.Context(), &fnpb.StartWorkerRequest{WorkerId: fmt.Sprint(i), ProvisionEndpoint: m.url(), ControlEndpoint: m.url(), LoggingEndpoint: m.url()})
		if err != nil || (r.GetError() == "") != (i < 2) || i >= 2 && !strings.Contains(r.GetError(), "greater --max-workers") {
			t.Errorf("worker %d: %v %v", i, r, err)
		}
	}
	for _, url := range []string{"10.0.0.1:80", "example.org:80", "unix:/run/x", "dns:///example.org", "[::2]:1", "127.0.0.1"} {
		r, err := p.StartWorker(t.Context(), &fnpb.StartWorkerRequest{ProvisionEndpoint: &pipepb.ApiServiceDescriptor{Url: url}})
		if err != nil || !strings.Contains(r.GetError(), "only to the TaskManager of its own machine") {
			t.Errorf("%s: %v %v", url, r, err)
		}
		if _, err := dialLocal(t.Context(), url, time.Millisecond); err == nil || !strings.Contains(err.Error(), "only to the TaskManager of its own machine") {
			t.Errorf("%s: %v", url, err)
		}
	}
	for _, url := range []string{"127.0.0.1:1", "localhost:1", "[::1]:1", "127.9.9.9:1"} {
		if err := checkLocal(url); err != nil {
			t.Error(err)
		}
	}
}

// A worker asks the URL of its pool, or what its job's token says; else none but one of
// its own machine.
func TestAWorkerAsksNoURLThatNobodyVouchesFor(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	for _, c := range []struct {
		o           PoolOptions
		named, want string
	}{
		{PoolOptions{}, "http://127.0.0.1:8081", "http://127.0.0.1:8081"},
		{PoolOptions{}, "http://localhost:8081", "http://localhost:8081"},
		{PoolOptions{}, "http://jobmanager:8081", ""},
		{PoolOptions{}, "http://169.254.169.254/latest", ""},
		{PoolOptions{}, "http://127.0.0.1.example.org:80", ""},
		{PoolOptions{}, "file:///etc/passwd", ""},
		{PoolOptions{}, "\x00", ""},
		{PoolOptions{}, "", ""},
		{PoolOptions{REST: "http://jobmanager:8081"}, "http://evil.example", "http://jobmanager:8081"},
		{PoolOptions{Secret: secret}, "http://jobmanager:8081", "http://jobmanager:8081"},
		{PoolOptions{Secret: secret, REST: "http://own"}, "http://jobmanager:8081", "http://own"},
	} {
		c.o.Workers = 1
		p, err := NewPool(c.o, new(lines))
		if err != nil {
			t.Fatal(err)
		}
		if got := p.rest(c.named); got != c.want {
			t.Errorf("%+v: %q became %q, want %q", c.o, c.named, got, c.want)
		}
	}
}
