package stage_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	dataset "pretext/sharding/verify"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/graphx"
	fnpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/fnexecution_v1"
	jobpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/jobmanagement_v1"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"pretext/internal/store"
	"pretext/pipeline"
	"pretext/pipeline/stage"
)

// Prism serves whoever reaches its ports, and runs the program that a submitted
// pipeline names. These tests attack real runs: the victim and the attacker are
// processes of their own, made from this test binary by TestMain.

const (
	victimVariable   = "PRETEXT_TEST_VICTIM"    // the folder to run in
	unguarded        = "PRETEXT_TEST_UNGUARDED" // the victim has no guard
	runnerVariable   = "PRETEXT_TEST_RUNNER"
	socketsVariable  = "PRETEXT_TEST_SOCKETS"  // the folder to run in, counting sockets
	attackerVariable = "PRETEXT_TEST_ATTACKER" // addresses to attack, with commas
	markerVariable   = "PRETEXT_TEST_MARKER"   // the file that the attacker's program makes
)

func TestMain(m *testing.M) {
	stage.Init(os.Args[1:])
	actForAttacks()
	os.Exit(m.Run())
}

// filesOpen returns what the descriptors of this process are open on.
func filesOpen() (targets []string) {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if target, err := os.Readlink(filepath.Join("/proc/self/fd", e.Name())); err == nil {
			kind, _, _ := strings.Cut(target, ":")
			targets = append(targets, kind)
		}
	}
	return targets
}

// actForAttacks is the main program of victims and attackers.
func actForAttacks() {
	if out := os.Getenv(victimVariable); out != "" {
		victim(out)
		os.Exit(0)
	}
	if out := os.Getenv(socketsVariable); out != "" {
		countSockets(out)
		os.Exit(0)
	}
	if addresses := os.Getenv(attackerVariable); addresses != "" {
		attacker(strings.Split(addresses, ","), os.Getenv(markerVariable))
		os.Exit(0)
	}
}

// victim runs all stages. It waits inside the first task until its standard input
// ends, which it announces with a line, and tells how the run ended with another.
func victim(out string) {
	if os.Getenv(unguarded) != "" {
		stage.WithoutGuard()
	}
	var once sync.Once
	store.Intercept(func(step store.Step, path string) error {
		if step == store.StepCreate && strings.HasPrefix(filepath.Base(path), "documents-") {
			once.Do(func() {
				fmt.Println("at work")
				io.Copy(io.Discard, os.Stdin)
			})
		}
		return nil
	})
	_, err := pipeline.Demo(context.Background(), stage.Runner{Name: os.Getenv(runnerVariable), Workers: 2}, pipeline.DemoConfig(out))
	if err == nil {
		var v *dataset.Result
		if v, err = dataset.Dataset(context.Background(), out, dataset.Options{Workers: 2}); err == nil && !v.OK() {
			err = fmt.Errorf("%v", v.Problems)
		}
	}
	fmt.Println("ended:", err)
}

// countSockets runs all stages and prints how many steps of them found a socket
// open in this process.
func countSockets(out string) {
	var steps, seen atomic.Int64
	restore := store.Intercept(func(store.Step, string) error {
		steps.Add(1)
		if slices.Contains(filesOpen(), "socket") {
			seen.Add(1)
		}
		return nil
	})
	if _, err := pipeline.Demo(context.Background(), stage.Runner{Name: os.Getenv(runnerVariable), Workers: 2}, pipeline.DemoConfig(out)); err != nil {
		fmt.Println(err)
		return
	}
	restore()
	fmt.Printf("%d steps, %d with sockets\n", steps.Load(), seen.Load())
}

// attacker tries everything on every address, and prints by name which attacks
// succeeded. Then it holds connections open until its standard input ends.
func attacker(addresses []string, marker string) {
	successes := map[string][]string{}
	for _, attack := range attacks {
		for _, address := range addresses {
			if attack.try(address, marker) {
				successes[attack.name] = append(successes[attack.name], address)
			}
		}
	}
	for _, address := range addresses {
		for i := range 200 {
			conn, err := net.DialTimeout("tcp", address, 5*time.Second)
			if err != nil {
				continue
			}
			defer conn.Close()
			if i%20 == 0 { // the rest says nothing at all
				conn.Write(append([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), make([]byte, 1<<20)...))
			}
		}
	}
	json.NewEncoder(os.Stdout).Encode(successes)
	io.Copy(io.Discard, os.Stdin)
}

// attacks are what another user of the network may try; the last one ends the
// process.
var attacks = []struct {
	name string
	try  func(address, marker string) bool
}{
	{"list", func(address, _ string) bool { return len(listJobs(address)) > 0 }},
	{"exec", execute},
	{"worker", workerServices},
	{"cancel", func(address, _ string) bool {
		cancelled := false
		for _, job := range listJobs(address) {
			reply := call(address, func(ctx context.Context, c *grpc.ClientConn) (*jobpb.CancelJobResponse, error) {
				return jobpb.NewJobServiceClient(c).Cancel(ctx, &jobpb.CancelJobRequest{JobId: job})
			})
			cancelled = cancelled || reply.GetState() == jobpb.JobState_CANCELLING || reply.GetState() == jobpb.JobState_CANCELLED
		}
		return cancelled
	}},
	{"panic", crash},
}

// call calls something at an address; nil when it is refused.
func call[R any](address string, do func(context.Context, *grpc.ClientConn) (R, error)) (reply R) {
	reply, _ = callErr(address, do)
	return reply
}

func callErr[R any](address string, do func(context.Context, *grpc.ClientConn) (R, error)) (reply R, err error) {
	conn, err := grpc.NewClient("passthrough:"+address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		panic(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return do(ctx, conn)
}

func listJobs(address string) (ids []string) {
	reply := call(address, func(ctx context.Context, c *grpc.ClientConn) (*jobpb.GetJobsResponse, error) {
		return jobpb.NewJobServiceClient(c).GetJobs(ctx, &jobpb.GetJobsRequest{})
	})
	for _, info := range reply.GetJobInfo() {
		ids = append(ids, info.GetJobId())
	}
	return ids
}

// execute submits a pipeline whose worker is a program of the attacker's choice,
// and reports whether the program ran.
func execute(address, marker string) bool {
	p, s := beam.NewPipelineWithRoot()
	beam.ParDo(s, &stage.TaskFn{}, beam.CreateList(s, []stage.Task{{}}))
	edges, _, err := p.Build()
	if err != nil {
		panic(err)
	}
	script := filepath.Join(filepath.Dir(marker), "program")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n: > "+marker+"\n"), 0o777); err != nil {
		panic(err)
	}
	payload, err := proto.Marshal(&pipepb.ProcessPayload{Command: script})
	if err != nil {
		panic(err)
	}
	pipeline, err := graphx.Marshal(edges, &graphx.Options{Environment: &pipepb.Environment{Urn: "beam:env:process:v1", Payload: payload}})
	if err != nil {
		panic(err)
	}
	prepared := call(address, func(ctx context.Context, c *grpc.ClientConn) (*jobpb.PrepareJobResponse, error) {
		return jobpb.NewJobServiceClient(c).Prepare(ctx, &jobpb.PrepareJobRequest{Pipeline: pipeline, JobName: "stranger"})
	})
	if prepared == nil {
		return false
	}
	call(address, func(ctx context.Context, c *grpc.ClientConn) (*jobpb.RunJobResponse, error) {
		return jobpb.NewJobServiceClient(c).Run(ctx, &jobpb.RunJobRequest{PreparationId: prepared.GetPreparationId()})
	})
	for range 200 {
		if _, err := os.Stat(marker); err == nil {
			return true
		}
		time.Sleep(50 * time.Millisecond)
	}
	return false
}

// workerServices asks the services that are meant for Beam's workers. Any answer
// that is of the service, if only that it knows no such worker, is a success.
func workerServices(address, _ string) bool {
	asks := []func(context.Context, *grpc.ClientConn) error{
		func(ctx context.Context, c *grpc.ClientConn) error {
			_, err := fnpb.NewProvisionServiceClient(c).GetProvisionInfo(ctx, &fnpb.GetProvisionInfoRequest{})
			return err
		},
		func(ctx context.Context, c *grpc.ClientConn) error {
			_, err := fnpb.NewBeamFnExternalWorkerPoolClient(c).StopWorker(ctx, &fnpb.StopWorkerRequest{WorkerId: "nobody"})
			return err
		},
		func(ctx context.Context, c *grpc.ClientConn) error {
			stream, err := fnpb.NewBeamFnControlClient(c).Control(metadata.AppendToOutgoingContext(ctx, "worker_id", "nobody"))
			if err == nil {
				_, err = stream.Recv()
			}
			return err
		},
	}
	return slices.ContainsFunc(asks, func(ask func(context.Context, *grpc.ClientConn) error) bool {
		_, err := callErr(address, func(ctx context.Context, c *grpc.ClientConn) (any, error) { return nil, ask(ctx, c) })
		return err == nil || !slices.Contains([]codes.Code{codes.Unavailable, codes.DeadlineExceeded, codes.Unimplemented}, status.Code(err))
	})
}

// crash answers a request for artifacts of a job that does not exist, which
// Prism's process does not survive, and reports whether nobody listens any more.
func crash(address, _ string) bool {
	if !listens(address) {
		return false // nor did anybody before
	}
	call(address, func(ctx context.Context, c *grpc.ClientConn) (any, error) {
		stream, err := jobpb.NewArtifactStagingServiceClient(c).ReverseArtifactRetrievalService(ctx)
		if err == nil {
			err = stream.Send(&jobpb.ArtifactResponseWrapper{StagingToken: "nobody"})
		}
		if err == nil {
			_, err = stream.Recv()
		}
		return nil, err
	})
	for range 20 {
		if !listens(address) {
			return true
		}
		time.Sleep(50 * time.Millisecond)
	}
	return false
}

func listens(address string) bool {
	conn, err := net.DialTimeout("tcp", address, 5*time.Second)
	if err == nil {
		conn.Close()
	}
	return err == nil
}

// A process is a running victim or attacker.
type process struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	lines  *bufio.Scanner
	stderr bytes.Buffer
}

// startSelf starts this test binary with variables set, behind the words of a
// command that starts others.
func startSelf(t *testing.T, variables []string, behind ...string) *process {
	t.Helper()
	args := append(behind, os.Args[0])
	p := &process{cmd: exec.Command(args[0], args[1:]...)}
	p.cmd.Env = append(os.Environ(), variables...)
	p.cmd.Stderr = &p.stderr
	stdout, err := p.cmd.StdoutPipe()
	if err == nil {
		p.stdin, err = p.cmd.StdinPipe()
	}
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	p.lines = bufio.NewScanner(stdout)
	t.Cleanup(func() {
		p.cmd.Process.Kill()
		p.cmd.Wait()
	})
	return p
}

// line returns the next line that the process prints, "" after its end.
func (p *process) line() string {
	p.lines.Scan()
	return p.lines.Text()
}

// sockets returns the inodes of the sockets that a process has open.
func sockets(t *testing.T, pid int) (inodes []string) {
	t.Helper()
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		target, _ := os.Readlink(filepath.Join(dir, e.Name()))
		if inode, ok := strings.CutPrefix(target, "socket:["); ok {
			inodes = append(inodes, strings.TrimSuffix(inode, "]"))
		}
	}
	return inodes
}

// ports returns the TCP ports on which a process listens.
func ports(t *testing.T, pid int) (list []string) {
	t.Helper()
	own := sockets(t, pid)
	for _, table := range []string{"tcp", "tcp6"} {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, table))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			const listen = "0A"
			if f := strings.Fields(line); len(f) > 9 && f[3] == listen && slices.Contains(own, f[9]) {
				_, hex, _ := strings.Cut(f[1], ":")
				port, err := strconv.ParseUint(hex, 16, 16)
				if err != nil {
					t.Fatal(err)
				}
				list = append(list, fmt.Sprint(port))
			}
		}
	}
	return list
}

// addresses returns where the ports of a process may be reached on this machine.
func addresses(t *testing.T, pid int) (list []string) {
	hosts := []string{"127.0.0.1", "::1"}
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && !n.IP.IsLoopback() && n.IP.To4() != nil {
			hosts = append(hosts, n.IP.String())
			break
		}
	}
	for _, port := range ports(t, pid) {
		for _, host := range hosts {
			if address := net.JoinHostPort(host, port); listens(address) {
				list = append(list, address)
			}
		}
	}
	return list
}

// attackRun has an attacker attack a victim in the midst of its run. It returns
// which attacks succeeded and how the run ended.
func attackRun(t *testing.T, guarded bool, targets func(victim *process) []string, victimBehind, attackerBehind []string) (successes map[string][]string, end string) {
	t.Helper()
	dir := t.TempDir()
	variables := []string{victimVariable + "=" + filepath.Join(dir, "out"), runnerVariable + "=" + stage.Prism}
	if !guarded {
		variables = append(variables, unguarded+"=yes")
	}
	victim := startSelf(t, variables, victimBehind...)
	if line := victim.line(); line != "at work" {
		t.Fatalf("the victim says %q, stderr %s", line, &victim.stderr)
	}
	at := targets(victim)
	if len(at) == 0 {
		t.Fatal("a run with Prism listens nowhere")
	}
	attacker := startSelf(t, []string{attackerVariable + "=" + strings.Join(at, ","), markerVariable + "=" + filepath.Join(dir, "marker")}, attackerBehind...)
	report := attacker.line()
	if err := json.Unmarshal([]byte(report), &successes); err != nil {
		t.Fatalf("the attacker says %q, stderr %s", report, &attacker.stderr)
	}
	victim.stdin.Close() // it ends its run while the attacker holds connections
	return successes, victim.line()
}

func TestARunWithPrismRefusesStrangers(t *testing.T) {
	needsProc(t)
	everywhere := func(victim *process) []string { return addresses(t, victim.cmd.Process.Pid) }
	successes, end := attackRun(t, true, everywhere, nil, nil)
	if len(successes) > 0 {
		t.Errorf("these attacks succeed: %v", successes)
	}
	if end != "ended: <nil>" {
		t.Errorf("the attacked run: %q", end)
	}
}

// Without the guard every attack succeeds; otherwise the tests beside this one
// would prove nothing.
func TestAttacksSucceedWithoutTheGuard(t *testing.T) {
	needsProc(t)
	successes, end := attackRun(t, false, func(victim *process) []string { return addresses(t, victim.cmd.Process.Pid) }, nil, nil)
	for _, attack := range attacks {
		if len(successes[attack.name]) == 0 {
			t.Errorf("%s does not succeed: is the attack well made?", attack.name)
		}
	}
	if end == "ended: <nil>" {
		t.Error("the victim lives: is the attack well made?")
	}
}

// The network is another machine's, as far as the kernel can make one.
func TestARunWithPrismRefusesOtherMachines(t *testing.T) {
	needsProc(t)
	victimSide, attackerSide := networks(t)
	remote := func(victim *process) (list []string) {
		for _, port := range ports(t, victim.cmd.Process.Pid) {
			list = append(list, net.JoinHostPort(victimAddress, port))
		}
		return list
	}
	successes, end := attackRun(t, true, remote, victimSide, attackerSide)
	if len(successes) > 0 {
		t.Errorf("these attacks succeed: %v", successes)
	}
	if end != "ended: <nil>" {
		t.Errorf("the attacked run: %q", end)
	}
	if successes, _ = attackRun(t, false, remote, victimSide, attackerSide); len(successes) != len(attacks) {
		t.Errorf("without the guard only these attacks succeed: %v", successes)
	}
}

// victimAddress is of a network that is reserved for documentation.
const victimAddress, attackerAddress = "192.0.2.1", "192.0.2.2"

// networks makes two network namespaces with a cable between them, and returns
// the words of the commands that start programs in each.
func networks(t *testing.T) (victim, attacker []string) {
	t.Helper()
	if os.Getuid() != 0 {
		skipOutsideCI(t, "needs root to make network namespaces")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		skipOutsideCI(t, "needs the program ip (iproute2)")
	}
	a, b := fmt.Sprintf("pretext-a-%d", os.Getpid()), fmt.Sprintf("pretext-b-%d", os.Getpid())
	ip := func(args string) {
		t.Helper()
		if out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput(); err != nil {
			t.Fatalf("ip %s: %v: %s", args, err, out)
		}
	}
	for _, name := range []string{a, b} {
		ip("netns add " + name)
		t.Cleanup(func() { exec.Command("ip", "netns", "del", name).Run() })
		ip("-n " + name + " link set lo up")
	}
	ip("-n " + a + " link add cable type veth peer name cable netns " + b)
	ip("-n " + a + " addr add " + victimAddress + "/24 dev cable")
	ip("-n " + b + " addr add " + attackerAddress + "/24 dev cable")
	ip("-n " + a + " link set cable up")
	ip("-n " + b + " link set cable up")
	return []string{"ip", "netns", "exec", a}, []string{"ip", "netns", "exec", b}
}

func needsProc(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("/proc/self/net/tcp"); err != nil {
		skipOutsideCI(t, "needs /proc/PID/net of Linux")
	}
}

// skipOutsideCI skips a test, which fails in continuous integration instead.
func skipOutsideCI(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal(why)
	}
	t.Skip(why)
}

// The default runner has no socket open at any step of any stage.
func TestADirectRunOpensNoSocket(t *testing.T) {
	needsProc(t)
	for _, test := range []struct {
		runner string
		want   bool
	}{{"", false}, {stage.Direct, false}, {stage.Prism, true}} {
		t.Run(test.runner, func(t *testing.T) {
			out := t.TempDir()
			p := startSelf(t, []string{socketsVariable + "=" + out, runnerVariable + "=" + test.runner})
			got := p.line()
			var steps, seen int
			if n, err := fmt.Sscanf(got, "%d steps, %d with sockets", &steps, &seen); n != 2 {
				t.Fatalf("the run says %q: %v, stderr %s", got, err, &p.stderr)
			}
			if steps < 100 || (seen > 0) != test.want {
				t.Errorf("got %s, want some with sockets: %t", got, test.want)
			}
		})
	}
}
