package clitest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// A Program is a program under test. Its test binary also acts as the program: scripts
// find the binary on PATH under the program's name. The binary can also run as a host, a
// process that runs many command lines one after another. That saves a process start for
// each command.
//
// var program = &clitest.Program{Name: "prepare-data", Main: main, Init: start, Run:
// run}
//
// func TestMain(m *testing.M) { os.Exit(program.RunTests(m)) }
type Program struct {
	Name string
	Main func()                  // the program's main function
	Init func()                  // the part of Main that runs once, before the arguments are parsed
	Run  func(args []string) int // the rest of Main; returns the exit code

	mu   sync.Mutex
	idle []*host
}

// RunTests runs the tests and returns the exit code. If the process was started as
// the program or as a host, it does that work instead and does not return.
func (p *Program) RunTests(m testscript.TestingM) int {
	switch strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe") {
	case p.Name:
		p.Main()
		os.Exit(0)
	case p.hostName():
		p.serve()
	}
	dir, err := os.MkdirTemp("", p.Name+"-path-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := link(filepath.Join(dir, p.Name)); err != nil {
		panic(err)
	}
	os.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	defer p.endHosts()
	return m.Run()
}

func (p *Program) hostName() string { return p.Name + "-host" }

// link makes path a link to this test binary.
func link(path string) error {
	self, err := os.Executable()
	if err != nil || os.Symlink(self, path) == nil {
		return err
	}
	b, err := os.ReadFile(self) // copy, if the user may not make links
	return errors.Join(err, os.WriteFile(path+".exe", b, 0o777))
}

// A request is a command line that a host shall run.
type request struct {
	Args, Env []string // Env: NAME=VALUE, set before the command
	Dir       string
}

// A result is the output and the exit code of a command.
type result struct {
	Code           int
	Stdout, Stderr []byte
}

// serve is the main loop of a host: it answers requests until there are no more.
func (p *Program) serve() {
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	p.Init()
	for {
		var q request
		if err := in.Decode(&q); err != nil {
			os.Exit(0)
		}
		r, err := p.answer(q)
		if err != nil {
			panic(err)
		}
		if err := out.Encode(r); err != nil {
			panic(err)
		}
	}
}

// answer runs one command line in a host, with the arguments, directory and
// environment of the request.
func (p *Program) answer(q request) (r result, err error) {
	if err := os.Chdir(q.Dir); err != nil {
		return r, err
	}
	for _, v := range q.Env {
		name, value, _ := strings.Cut(v, "=")
		if err := os.Setenv(name, value); err != nil {
			return r, err
		}
	}
	stdin, empty, err := os.Pipe()
	if err != nil {
		return r, err
	}
	defer stdin.Close()
	empty.Close()
	defer func(in, out, err *os.File) { os.Stdin, os.Stdout, os.Stderr = in, out, err }(os.Stdin, os.Stdout, os.Stderr)
	stdout, outText, err := collect()
	if err != nil {
		return r, err
	}
	stderr, errText, err := collect()
	if err != nil {
		return r, err
	}
	debug.SetGCPercent(400) // garbage collection would take a third of a short command's time
	debug.SetMemoryLimit(math.MaxInt64)
	os.Args, os.Stdin, os.Stdout, os.Stderr = append([]string{p.Name}, q.Args...), stdin, stdout, stderr
	r.Code = p.Run(q.Args)
	r.Stdout, r.Stderr = outText(), errText()
	return r, nil
}

// collect returns the write end of a pipe, and a function that closes the pipe and returns
// the text written to it.
func collect() (w *os.File, text func() []byte, err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	var b bytes.Buffer
	done := make(chan error, 1)
	go func() { _, err := io.Copy(&b, r); done <- err }()
	return w, func() []byte { w.Close(); <-done; r.Close(); return b.Bytes() }, nil
}

// A host is a process that runs command lines for scripts.
type host struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	in     *json.Encoder
	out    *json.Decoder
	stderr bytes.Buffer
}

func (p *Program) startHost() (*host, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	h := &host{cmd: exec.Command(self)}
	h.cmd.Args[0] = p.hostName()
	h.cmd.Stderr = &h.stderr
	stdout, err := h.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if h.stdin, err = h.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	h.in, h.out = json.NewEncoder(h.stdin), json.NewDecoder(stdout)
	return h, h.cmd.Start()
}

// endHosts ends all idle hosts.
func (p *Program) endHosts() {
	for _, h := range p.idle {
		h.stdin.Close()
		h.cmd.Wait()
	}
}

// ask runs a command line in an idle host, or in a new one if all are busy.
func (p *Program) ask(q request) (r result, err error) {
	p.mu.Lock()
	var h *host
	if n := len(p.idle); n > 0 {
		h, p.idle = p.idle[n-1], p.idle[:n-1]
	}
	p.mu.Unlock()
	if h == nil {
		if h, err = p.startHost(); err != nil {
			return r, err
		}
	}
	err = h.in.Encode(q)
	if err == nil {
		err = h.out.Decode(&r)
	}
	if err != nil { // the host has panicked
		h.stdin.Close()
		return r, fmt.Errorf("the host of %s ended (%v, %w):\n%s", p.Name, h.cmd.Wait(), err, h.stderr.String())
	}
	p.mu.Lock()
	p.idle = append(p.idle, h)
	p.mu.Unlock()
	return r, nil
}
