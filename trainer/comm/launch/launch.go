// Package launch starts the ranks of a run on this machine, one process each, and ends
// them all when one fails.
//
//	code, err := launch.Run(ctx, launch.Options{Ranks: 2, Args: os.Args[1:], Stdout: os.Stdout, Stderr: os.Stderr})
//
// The processes run this program with the environment variables that
// [pretext/trainer/comm.FromEnv] reads, with a random secret and a free port.
package launch

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"pretext/internal/failure"
	"pretext/trainer/comm"
)

// Options describe the ranks.
type Options struct {
	Ranks  int      // number of processes; at least 1
	Args   []string // arguments of each
	Stdout io.Writer
	Stderr io.Writer

	program  string        // "": this program
	grace    time.Duration // time between the failure of a rank and the killing of the others; 0: ten seconds
	patience time.Duration // maximum time without progress in writing a checkpoint; 0: two minutes
}

// Run starts the ranks and waits for all of them. It returns the exit code of the first
// rank that failed; 0 if none did. The code of a rank that was killed by a signal is 5,
// as for a network error. If the first failed rank was interrupted, and a later one fails
// for another reason than the network, Run returns the code of the later one. It does so
// too if the first one reported a network error: ranks that lose a failed rank can end
// before it.
//
// When a rank fails, the other ranks lose the connection to it and end. Run kills ranks
// that have not ended after ten seconds. It waits longer for a rank that is writing a
// checkpoint (see [Reporter]), and kills it only if nothing was written for two minutes.
//
// Stdout and Stderr get the output of rank 0. Stderr also gets the lines that other ranks
// write to stderr, prefixed with "rank N: ". A line that another rank has just written is
// omitted. Run holds back lines in which ranks report the failure of another rank. At the
// end it writes each such line once, unless the failed rank has itself reported the error.
//
// When ctx is done, Run sends SIGTERM to all ranks, once, and waits. On Linux, the ranks
// are killed if this process is killed.
func Run(ctx context.Context, o Options) (exitCode int, err error) {
	if o.program == "" {
		if o.program, err = os.Executable(); err != nil {
			return 0, err
		}
	}
	o.grace, o.patience = cmp.Or(o.grace, 10*time.Second), cmp.Or(o.patience, 2*time.Minute)
	port, err := freePort()
	if err != nil {
		return 0, err
	}
	l := launcher{Options: o, ends: make(chan end, o.Ranks), saves: make(chan rankSave), stop: make(chan struct{}), output: newOutput(o.Stdout, o.Stderr)}
	started := make(chan error)
	go func() {
		// Linux kills a process when the thread that started it ends.
		runtime.LockOSThread()
		started <- l.start(port, rand.Text())
		<-l.stop
	}()
	defer close(l.stop)
	if err := <-started; err != nil {
		l.signal(syscall.SIGKILL)
		for range l.ranks {
			<-l.ends
		}
		return 0, err
	}
	return l.wait(ctx), nil
}

// An end reports that a rank's process has ended.
type end struct {
	rank int
	err  error // result of exec.Cmd.Wait
}

type launcher struct {
	Options
	ranks  []*exec.Cmd
	ends   chan end
	saves  chan rankSave
	stop   chan struct{}
	output *output
}

// start starts all ranks, or returns an error with some of them started.
func (l *launcher) start(port int, secret string) error {
	for r := range l.Ranks {
		c := exec.Command(l.program, l.Args...)
		c.Args[0] = os.Args[0] // the behavior of some programs depends on this name
		c.Env = append(os.Environ(), "RANK="+strconv.Itoa(r), "LOCAL_RANK="+strconv.Itoa(r), "WORLD_SIZE="+strconv.Itoa(l.Ranks), "LOCAL_WORLD_SIZE="+strconv.Itoa(l.Ranks),
			"MASTER_ADDR=127.0.0.1", "MASTER_PORT="+strconv.Itoa(port), comm.SecretVariable+"="+secret, "TORCHELASTIC_USE_AGENT_STORE=")
		c.Stdout, c.Stderr = l.output.of(r)
		c.WaitDelay = time.Second // do not wait longer for a grandchild that keeps stderr open
		c.SysProcAttr = apart()
		read, write, err := reporting(c)
		if err == nil {
			err = c.Start()
			write.Close()
		}
		if err != nil {
			read.Close()
			return fmt.Errorf("start rank %d: %w", r, err)
		}
		l.ranks = append(l.ranks, c)
		if read != nil {
			go l.listen(r, read)
		}
		go func() { l.ends <- end{r, c.Wait()} }()
	}
	return nil
}

// signal sends a signal to all ranks that have not ended.
func (l *launcher) signal(s syscall.Signal) {
	for _, c := range l.ranks {
		if err := c.Process.Signal(s); errors.Is(err, errors.ErrUnsupported) { // Windows
			c.Process.Kill()
		}
	}
}

// codeOf returns the exit code of a process, given the result of exec.Cmd.Wait. If a
// signal ended the process, it is the code of network errors.
func codeOf(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil || errors.Is(err, exec.ErrWaitDelay):
		return 0
	case errors.As(err, &exit) && exit.Exited():
		return exit.ExitCode()
	}
	return failure.ExitNetwork
}

// signalOf returns the signal that ended a process, given the result of exec.Cmd.Wait; 0
// if none did.
func signalOf(err error) syscall.Signal {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if s, ok := exit.Sys().(syscall.WaitStatus); ok && s.Signaled() {
			return s.Signal()
		}
	}
	return 0
}

// freePort returns a port of the loopback address on which nothing listens.
func freePort() (int, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, failure.Network(err.Error())
	}
	defer ln.Close()
	return ln.Addr().(*net.TCPAddr).Port, nil
}
