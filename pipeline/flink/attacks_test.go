//go:build cluster && linux

package flink

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	fnpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/fnexecution_v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"pretext/internal/dev/stranger"
)

// A doorway is one way to a pool, and the stranger who takes it.
type doorway struct {
	name   string
	secret bool   // the pool has one
	token  bool   // the stranger has seen that of a job
	host   string // where the pool listens
	space  string // network namespace of the stranger; "" for that of the pool
}

// A siege is a pool with one worker of its own, and what a stranger may use.
type siege struct {
	*testing.T
	doorway
	pool     *Pool
	out      *lines
	address  string
	stranger string // path of the stranger's program
	victim   string // directory that only the pool's user may remove
	recorded string // file with what a TaskManager has sent to the pool
	env      []string
}

// besiege starts a pool with one worker and records how it was asked for.
func besiege(t *testing.T, d doorway, program string) *siege {
	t.Helper()
	dir := filepath.Dir(program)
	s := &siege{T: t, doorway: d, out: new(lines), stranger: program, victim: filepath.Join(t.TempDir(), "victim"), recorded: filepath.Join(dir, "recorded")}
	o := PoolOptions{Logs: t.TempDir(), Workers: 3}
	job := "job1"
	s.env = []string{jobVariable + "=" + job}
	if d.secret {
		o.Secret = filepath.Join(t.TempDir(), "secret")
	}
	var err error
	if s.pool, err = NewPool(o, s.out); err != nil {
		t.Fatal(err)
	}
	shown := ""
	if d.secret {
		shown = token(s.pool.key, job, "", time.Now().Add(time.Hour))
	}
	if d.token {
		s.env = append(s.env, tokenVariable+"="+shown)
	}
	l, err := net.Listen("tcp", net.JoinHostPort(d.host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	s.address = l.Addr().String()
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.pool.Serve(ctx, l) }()
	t.Cleanup(func() { cancel(); <-served })
	if err := os.Mkdir(s.victim, 0o700); err != nil {
		t.Fatal(err)
	}
	m := newTaskManager(t)
	s.record(func(address string) {
		conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		r, err := fnpb.NewBeamFnExternalWorkerPoolClient(conn).StartWorker(ctx, &fnpb.StartWorkerRequest{WorkerId: "own", ProvisionEndpoint: m.url(),
			LoggingEndpoint: m.url(), ControlEndpoint: m.url(), Params: map[string]string{jobVariable: job, tokenVariable: shown}})
		if err != nil || r.GetError() != "" {
			t.Fatal(err, r.GetError())
		}
	})
	<-m.joined
	return s
}

// record calls use with an address that leads to the pool, and writes what passes it.
func (s *siege) record(use func(address string)) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.Fatal(err)
	}
	defer l.Close()
	f, err := os.OpenFile(s.recorded, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		s.Fatal(err)
	}
	defer f.Close()
	go func() {
		in, err := l.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", s.address)
		if err != nil {
			in.Close()
			return
		}
		go func() { io.Copy(in, out); in.Close() }()
		io.Copy(io.MultiWriter(out, f), in)
		out.Close()
	}()
	use(l.Addr().String())
}

// attack runs an attack to its end and returns what the stranger says.
func (s *siege) attack(kind, victim string) string {
	s.Helper()
	out, err := s.command(kind, victim).CombinedOutput()
	if err != nil {
		s.Fatalf("%s: %v: %s", kind, err, out)
	}
	return string(out)
}

func (s *siege) command(kind, victim string) *exec.Cmd {
	args := stranger.Args(s.T, s.space, s.stranger)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = filepath.Dir(s.stranger)
	cmd.Env = append(s.env, attackVariable+"="+kind, targetVariable+"="+s.address, victimVariable+"="+victim)
	return cmd
}

// running returns the number of the pool's workers.
func (s *siege) running() int {
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	return s.pool.running
}

// started returns how many workers the pool has started.
func (s *siege) started() int {
	s.out.mu.Lock()
	defer s.out.mu.Unlock()
	return strings.Count(s.out.text.String(), " started\n")
}

func (s *siege) alive(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// doorways returns the ways to a pool.
func doorways(t *testing.T) []doorway {
	space, host := stranger.Namespace(t)
	return []doorway{
		{name: "another user, no secret", host: "127.0.0.1"},
		{name: "another user", host: "127.0.0.1", secret: true},
		{name: "another user with a job's token", host: "127.0.0.1", secret: true, token: true},
		{name: "another machine", host: host, secret: true, space: space},
	}
}

// Strangers execute, learn and end nothing, whatever they send.
func TestAPoolWithstandsStrangers(t *testing.T) {
	program := stranger.Program(t)
	for _, d := range doorways(t) {
		t.Run(d.name, func(t *testing.T) {
			s := besiege(t, d, program)
			most := 0 // workers that a stranger may start
			if d.token {
				most = s.pool.o.Workers - 1
			}
			said := s.attack("symbol", s.victim)
			if !s.alive(s.victim) || d.token && !strings.Contains(said, "is not a function of a stage") || !d.token && strings.Contains(said, "answer") {
				t.Errorf("symbol: the victim is there: %v: %s", s.alive(s.victim), said)
			}
			if said := s.attack("start", ""); !strings.Contains(said, fmt.Sprintf("workers started: %d\n", most)) && !d.token {
				t.Errorf("start: %s", said)
			}
			if got := s.running(); got > 1+most {
				t.Errorf("%d workers are running", got)
			}
			before := s.started()
			said = s.attack("replay", s.recorded) + s.attack("garbage", "")
			if s.started() != before {
				t.Errorf("a replay started a worker: %s", said)
			}
			if !s.alive(s.victim) || s.running() < 1 || strings.Contains(s.out.text.String(), `worker "own": process`+" ended") {
				t.Errorf("after the attacks %d workers are running: %s", s.running(), s.out.text.String())
			}
			for _, word := range []string{string(s.pool.key), s.pool.o.Logs} {
				if word != "" && strings.Contains(said, word) {
					t.Errorf("the pool discloses %q", word)
				}
			}
		})
	}
}

// Without what guards a pool, the same attacks succeed.
func TestAttacksOnAnUnguardedPoolSucceed(t *testing.T) {
	program := stranger.Program(t)
	guarded = false
	t.Setenv(openVariable, "1")
	t.Cleanup(func() { guarded = true })
	for _, d := range doorways(t) {
		if d.space != "" {
			continue // its TaskManager would be on another loopback
		}
		t.Run(d.name, func(t *testing.T) {
			s := besiege(t, d, program)
			if said := s.attack("symbol", s.victim); s.alive(s.victim) {
				t.Errorf("symbol: the victim is there: %s", said)
			}
			before := s.started()
			if said := s.attack("replay", s.recorded); s.started() != before+1 {
				t.Errorf("a replay started no worker: %s", said)
			}
			if d.secret {
				return
			}
			if said := s.attack("start", ""); !strings.Contains(said, "workers started: 40\n") {
				t.Errorf("start: %s", said)
			}
		})
	}
}

// What a flood costs a pool, in its CPU time and in the time to start a worker.
func TestAFloodedPoolStartsWorkers(t *testing.T) {
	program := stranger.Program(t)
	for _, d := range doorways(t) {
		t.Run(d.name, func(t *testing.T) {
			s := besiege(t, d, program)
			s.pool.o.Workers = 1 << 10
			stop := filepath.Join(filepath.Dir(program), "flooding")
			if err := os.WriteFile(stop, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			calm, _ := s.starts(5)
			flood := s.command("flood", stop)
			said := new(lines)
			flood.Stdout = said
			if err := flood.Start(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(200 * time.Millisecond)
			flooded, used := s.starts(5)
			os.Remove(stop)
			flood.Wait()
			t.Logf("a worker starts in %v, flooded in %v and %v of the pool's CPU time; %s", calm, flooded, used, strings.TrimSpace(said.text.String()))
		})
	}
}

// starts returns the mean time to start a worker, and the CPU time that it took.
func (s *siege) starts(n int) (wall, used time.Duration) {
	m := newTaskManager(s.T)
	job := "job1"
	params := map[string]string{jobVariable: job}
	if s.secret {
		params[tokenVariable] = token(s.pool.key, job, "", time.Now().Add(time.Hour))
	}
	conn, err := grpc.NewClient(s.address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		s.Fatal(err)
	}
	defer conn.Close()
	begin, before := time.Now(), cpu()
	for i := range n {
		req := &fnpb.StartWorkerRequest{WorkerId: fmt.Sprint("more", i), ProvisionEndpoint: m.url(), LoggingEndpoint: m.url(), ControlEndpoint: m.url(), Params: params}
		r, err := fnpb.NewBeamFnExternalWorkerPoolClient(conn).StartWorker(s.Context(), req, grpc.WaitForReady(true))
		for tries := 0; i == 0 && tries < 5 && status.Code(err) == codes.Unavailable; tries++ { // closed before it has shown its token
			r, err = fnpb.NewBeamFnExternalWorkerPoolClient(conn).StartWorker(s.Context(), req, grpc.WaitForReady(true))
			s.Log("asked again")
		}
		if err != nil || r.GetError() != "" {
			s.Fatal(err, r.GetError())
		}
		<-m.joined
	}
	return time.Since(begin) / time.Duration(n), (cpu() - before) / time.Duration(n)
}

func cpu() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
