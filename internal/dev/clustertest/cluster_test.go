//go:build cluster

package clustertest

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Ports of the cluster, on loopback.
const (
	restPort, rpcPort, metricsPort       = 18081, 16123, 19249 // of metrics: the first of ten
	jobPort, artifactPort, expansionPort = 18099, 18098, 18097
	poolPort                             = 15000
	zooKeeperPort                        = 19181
)

// times is the number of jobs that every fault meets, at once.
var times = flag.Int("times", 5, "jobs that every fault meets")

// insideVariable marks the process that runs in the namespaces.
const insideVariable = "CLUSTERTEST_INSIDE"

// shared is the cluster of all tests.
var shared *cluster

func TestMain(m *testing.M) {
	flag.Parse()
	if os.Getenv(insideVariable) == "" && os.Geteuid() == 0 {
		code, err := isolated()
		if err == nil {
			os.Exit(code)
		}
		fmt.Fprintln(os.Stderr, "no namespaces:", err, "- the job server's ports are open to other machines until the tests end")
	}
	os.Exit(run(m))
}

// isolated runs this test in namespaces of its own: no other machine reaches its
// network, its mounts and processes end with it.
func isolated() (code int, err error) {
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), insideVariable+"=1", "PRETEXT_MINIO="+minioProgram)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID, Pdeathsig: syscall.SIGKILL}
	err = cmd.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return exit.ExitCode(), nil
	}
	return 0, err
}

func run(m *testing.M) int {
	if os.Getenv(insideVariable) != "" {
		for _, args := range [][]string{{"mount", "--make-rprivate", "/"}, {"mount", "-t", "proc", "proc", "/proc"}, {"ip", "link", "set", "lo", "up"}} {
			if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
				fmt.Fprintf(os.Stderr, "%v: %v: %s", args, err, out)
				return 1
			}
		}
	}
	dir, err := os.MkdirTemp("", "pretext-cluster-*")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if shared, err = newCluster(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer shared.close()
	return m.Run()
}

// A cluster is a Flink cluster with Beam's job server, and the programs that
// submit to it.
type cluster struct {
	dir, dist    string
	prepareData  string
	probe        string
	procs        map[string]*exec.Cmd
	ended        map[string]chan struct{} // closed when the process has ended
	taskManagers int
}

// newCluster builds the programs and starts a cluster below dir.
func newCluster(dir string) (*cluster, error) {
	begin := time.Now()
	dist := exec.Command("./dist.sh")
	dist.Stderr = os.Stderr
	out, err := dist.Output()
	if err != nil {
		return nil, fmt.Errorf("dist.sh: %w", err)
	}
	c := &cluster{dir: dir, dist: strings.TrimSpace(string(out)), procs: map[string]*exec.Cmd{}, ended: map[string]chan struct{}{}, taskManagers: 2}
	c.prepareData, c.probe = filepath.Join(dir, "prepare-data"), filepath.Join(dir, "probe")
	build := exec.Command("go", "build", "-tags", "cluster", "-o", dir, "pretext/cmd/prepare-data", "pretext/internal/dev/clustertest/probe")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build: %w: %s", err, out)
	}
	fmt.Printf("programs and distribution ready after %v\n", time.Since(begin).Round(time.Second))
	for _, sub := range []string{"conf", "log", "tmp", "ha"} {
		if err := os.Mkdir(c.path(sub), 0o700); err != nil {
			return nil, err
		}
	}
	if err := c.configure("fixed-delay", true); err != nil {
		return nil, err
	}
	begin = time.Now()
	for _, name := range []string{"zookeeper", "jobmanager", "taskmanager1", "taskmanager2", "jobserver"} {
		if err := c.start(name); err != nil {
			return nil, err
		}
	}
	err = c.ready()
	fmt.Printf("cluster ready after %v\n", time.Since(begin).Round(time.Second))
	return c, err
}

func (c *cluster) path(names ...string) string {
	return filepath.Join(append([]string{c.dir}, names...)...)
}

// slots is the number of task slots of a TaskManager.
const slots = 8

// configure writes the configurations of Flink and ZooKeeper. available reports whether
// Flink is highly available: whether a job survives its JobManager. The memory sizes that
// Flink's start scripts would derive are explicit.
func (c *cluster) configure(restart string, available bool) error {
	config := fmt.Sprintf(`jobmanager:
  rpc: {address: 127.0.0.1, port: %[1]d}
  bind-host: 127.0.0.1
rest: {address: 127.0.0.1, bind-address: 127.0.0.1, port: %[2]d}
taskmanager:
  host: 127.0.0.1
  bind-host: 127.0.0.1
  numberOfTaskSlots: %[3]d
  cpu: {cores: %[3]d}
  load-balance: {mode: SLOTS}
  memory:
    framework: {heap: {size: 128m}, off-heap: {size: 128m}}
    task: {heap: {size: 256m}, off-heap: {size: 0m}}
    network: {min: 64m, max: 64m}
    managed: {size: 128m}
    jvm-metaspace: {size: 384m}
    jvm-overhead: {min: 192m, max: 192m}
parallelism: {default: 1}
heartbeat: {interval: 1000, timeout: 15000}
pekko: {ask: {timeout: 60 s}, startup-timeout: 120 s}
restart-strategy:
  type: %[4]s
  fixed-delay: {attempts: 4, delay: 1 s}
blob: {server: {port: "0"}}
jobstore: {type: Memory, max-capacity: 50}
metrics:
  reporters: prom
  reporter: {prom: {factory: {class: org.apache.flink.metrics.prometheus.PrometheusReporterFactory}, port: %[6]d-%[7]d}}
web: {tmpdir: %[5]s, refresh-interval: 200}
io: {tmp: {dirs: %[5]s}}
`, rpcPort, restPort, slots, restart, c.path("tmp"), metricsPort, metricsPort+9)
	if available { // a session is how long a lost JobManager counts as the leader
		config += fmt.Sprintf(`high-availability:
  type: zookeeper
  storageDir: "file://%s"
  zookeeper: {quorum: "127.0.0.1:%d", client: {session-timeout: 6000}}
`, c.path("ha"), zooKeeperPort)
	}
	quorum := fmt.Sprintf("clientPort=%d\nclientPortAddress=127.0.0.1\ndataDir=%s\ntickTime=1000\nadmin.enableServer=false\n", zooKeeperPort, c.path("tmp", "zookeeper"))
	log := `rootLogger.level = INFO
rootLogger.appenderRef.c.ref = C
appender.c.name = C
appender.c.type = CONSOLE
appender.c.layout.type = PatternLayout
appender.c.layout.pattern = %d{HH:mm:ss.SSS} %-5p %c{1} - %m%n
`
	for name, text := range map[string]string{"config.yaml": config, "log4j2.properties": log, "zoo.cfg": quorum} {
		if err := os.WriteFile(c.path("conf", name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// start starts one of the cluster's processes by its name.
func (c *cluster) start(name string) error {
	args := []string{"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Djava.io.tmpdir=" + c.path("tmp"), "-Dlog4j.configurationFile=" + c.path("conf", "log4j2.properties"),
		"--add-exports=java.base/sun.net.util=ALL-UNNAMED"}
	for _, p := range []string{"lang", "net", "io", "nio", "lang.reflect", "text", "time", "util", "util.concurrent", "util.concurrent.atomic", "util.concurrent.locks"} {
		args = append(args, "--add-opens=java.base/java."+p+"=ALL-UNNAMED")
	}
	lib := filepath.Join(c.dist, "lib", "*")
	switch {
	case name == "jobmanager":
		args = append(args, "-Xmx512m", "-cp", lib, "org.apache.flink.runtime.entrypoint.StandaloneSessionClusterEntrypoint", "--configDir", c.path("conf"), "--executionMode", "cluster")
	case strings.HasPrefix(name, "taskmanager"):
		args = append(args, "-Xmx384m", "-XX:MaxDirectMemorySize=256m", "-cp", lib, "org.apache.flink.runtime.taskexecutor.TaskManagerRunner",
			"--configDir", c.path("conf"), "-D", "taskmanager.resource-id="+name)
	case name == "jobserver": // as docs/cluster.md starts it
		args = []string{"-Xmx512m", "-cp", lib, jobServer, "--job-host=127.0.0.1", fmt.Sprintf("--job-port=%d", jobPort),
			fmt.Sprintf("--artifact-port=%d", artifactPort), fmt.Sprintf("--expansion-port=%d", expansionPort), "--artifacts-dir=" + c.path("tmp", "artifacts"),
			fmt.Sprintf("--flink-master=127.0.0.1:%d", restPort)}
	case name == "zookeeper":
		args = append(args, "-Xmx64m", "-cp", lib, "org.apache.flink.runtime.zookeeper.FlinkZooKeeperQuorumPeer", "--zkConfigFile", c.path("conf", "zoo.cfg"), "--peerId", "1")
	case name == "pool":
		return c.launch(name, exec.Command(c.prepareData, "worker", "--pool", "--secret", c.path("secret"), "--max-workers", "16", "--listen", fmt.Sprintf("127.0.0.1:%d", poolPort), "--metrics-listen", fmt.Sprint(poolMetrics)))
	case name == "probepool":
		return c.launch(name, exec.Command(c.probe, "-pool", fmt.Sprintf("127.0.0.1:%d", poolPort+1)))
	}
	return c.launch(name, exec.Command("java", args...))
}

// launch starts a process that writes to the log of its name.
func (c *cluster) launch(name string, cmd *exec.Cmd) error {
	log, err := os.OpenFile(c.path("log", name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr, cmd.Dir = log, log, c.dir
	cmd.Env = append(os.Environ(), "TMPDIR="+c.path("tmp"), "FLINK_PLUGINS_DIR="+filepath.Join(c.dist, "plugins"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() { cmd.Wait(); close(ended) }()
	c.procs[name], c.ended[name] = cmd, ended
	return nil
}

// kill kills a process and nothing that it started.
func (c *cluster) kill(name string) {
	c.procs[name].Process.Kill()
	<-c.ended[name]
	delete(c.procs, name)
}

func (c *cluster) close() {
	for name := range c.procs {
		c.kill(name)
	}
	for _, w := range workers("") {
		syscall.Kill(w.pid, syscall.SIGKILL)
	}
}

// startUp is the time in which the cluster must be ready, on a busy machine.
const startUp = 3 * time.Minute

// ready waits until the cluster takes jobs.
func (c *cluster) ready() error {
	for begin := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		var overview struct {
			TaskManagers int `json:"taskmanagers"`
		}
		if get("/overview", &overview) == nil && overview.TaskManagers == c.taskManagers && listens(expansionPort) { // the last of its ports
			return nil
		}
		for name, ended := range c.ended {
			select {
			case <-ended: // on a busy machine a JVM may give up while it starts
				if c.procs[name] != nil {
					if err := c.start(name); err != nil {
						return err
					}
				}
			default:
			}
		}
		if time.Since(begin) > startUp {
			return fmt.Errorf("the cluster is not ready after %v: %s", startUp, c.logs())
		}
	}
}

// logs returns the ends of the logs.
func (c *cluster) logs() string {
	var text strings.Builder
	for _, name := range []string{"zookeeper", "jobmanager", "taskmanager1", "taskmanager2", "jobserver", "pool"} {
		b, _ := os.ReadFile(c.path("log", name))
		fmt.Fprintf(&text, "\n--- %s\n%s", name, b[max(0, len(b)-3000):])
	}
	return text.String()
}

func listens(port int) bool {
	conn, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", port), time.Second)
	if err == nil {
		conn.Close()
	}
	return err == nil
}

// get reads JSON from Flink's REST interface.
func get(path string, to any) error {
	answer, err := (&http.Client{Timeout: 5 * time.Second}).Get(fmt.Sprintf("http://127.0.0.1:%d%s", restPort, path))
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	return json.NewDecoder(answer.Body).Decode(to)
}

// A process is a worker process.
type process struct{ pid, parent int }

// workers returns the worker processes whose parent is the process of a name, all
// for "".
func workers(parent string) (list []process) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		env, err := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		if err != nil || !strings.Contains("\x00"+string(env), "\x00PRETEXT_WORKER=1\x00") {
			continue
		}
		stat, err := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		if err != nil {
			continue
		}
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		ppid, _ := strconv.Atoi(fields[1])
		if p := shared.procs[parent]; fields[0] != "Z" && (parent == "" || p != nil && p.Process.Pid == ppid) {
			list = append(list, process{pid, ppid})
		}
	}
	return list
}

// onFlink are the flags that select the cluster.
func onFlink(parallelism int) []string {
	return []string{"--runner", "flink", "--endpoint", fmt.Sprintf("127.0.0.1:%d", jobPort), "--flink-rest", fmt.Sprintf("http://127.0.0.1:%d", restPort),
		"--set", "parallelism=" + strconv.Itoa(parallelism)}
}

// A submitter is a run of a program that submits jobs.
type submitter struct {
	cmd            *exec.Cmd
	stdout, stderr strings.Builder
	done           chan struct{}
}

// submit starts a program.
func submit(t *testing.T, program string, args ...string) *submitter {
	t.Helper()
	s := &submitter{cmd: exec.Command(program, args...), done: make(chan struct{})}
	s.cmd.Stdout, s.cmd.Stderr = &s.stdout, &s.stderr
	s.cmd.Env = append(os.Environ(), "TMPDIR="+shared.path("tmp"))
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { s.cmd.Wait(); close(s.done) }()
	return s
}

// patience is how long a submitter may take, on a busy machine.
const patience = 8 * time.Minute

// wait returns the exit code; -1 for a killed process.
func (s *submitter) wait(t *testing.T) int {
	t.Helper()
	select {
	case <-s.done:
	case <-time.After(patience):
		s.cmd.Process.Kill()
		<-s.done
		t.Fatalf("%v does not end: %s%s", s.cmd.Args, s.stderr.String(), shared.logs())
	}
	return s.cmd.ProcessState.ExitCode()
}

// mustEnd fails the test unless the run ends with an exit code.
func (s *submitter) mustEnd(t *testing.T, code int) {
	t.Helper()
	if got := s.wait(t); got != code {
		t.Fatalf("%v: exit code %d, want %d: %s", s.cmd.Args, got, code, s.stderr.String())
	}
}

// until waits for a condition.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for !is() {
		if ctx.Err() != nil {
			t.Fatalf("not in %v: %s%s", patience, what, shared.logs())
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// midStage waits until two tasks of a probe's run are done.
func midStage(t *testing.T, s *submitter, out string) {
	t.Helper()
	for begin := time.Now(); finished(out) < 2; time.Sleep(20 * time.Millisecond) {
		select {
		case <-s.done:
			t.Fatalf("%v ended before its tasks: %s", s.cmd.Args, s.stderr.String())
		default:
		}
		if time.Since(begin) > patience {
			s.cmd.Process.Signal(syscall.SIGQUIT) // prints what it waits for
			<-s.done
			t.Fatalf("%v: no two tasks in %v: %s%s", s.cmd.Args, patience, s.stderr.String(), shared.logs())
		}
	}
}
