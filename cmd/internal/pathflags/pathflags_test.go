//go:build unix

package pathflags

import (
	"bytes"
	"context"
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pretext/cmd/internal/cli"
	preparedata "pretext/cmd/prepare-data/command"
	trainbert "pretext/cmd/train-bert/command"
	"pretext/internal/dev/torture"
	"pretext/pipeline/stage"
)

// asProgram is the environment variable that makes this test binary run as one of the
// programs.
const asProgram = "PATHFLAGS_PROGRAM"

func TestMain(m *testing.M) {
	switch ctx, _ := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM); os.Getenv(asProgram) {
	case "prepare-data":
		stage.Init(os.Args[1:])
		root := preparedata.NewRoot()
		root.SetArgs(preparedata.Args(os.Args[1:]))
		os.Exit(preparedata.Report(os.Stderr, root.ExecuteContext(ctx)))
	case "train-bert":
		root := trainbert.NewRoot()
		root.SetArgs(os.Args[1:])
		os.Exit(trainbert.Report(os.Stderr, root.ExecuteContext(ctx)))
	}
	os.Exit(m.Run())
}

// settings are the options of commands that have no flag.
var settings = map[string]bool{}

var roots = map[string]func() *cobra.Command{"prepare-data": preparedata.NewRoot, "train-bert": trainbert.NewRoot}

// Every flag with a text value is in the table of path flags, or in the list of flags
// that name no path.
func TestEveryFlagWithTextIsInTheTable(t *testing.T) {
	known := map[string]bool{}
	for _, c := range commands {
		for _, f := range c.flags {
			known[c.path()+" "+f.name] = true
		}
	}
	found := map[string]bool{}
	for program, root := range roots {
		r := root()
		known[program+" config"] = true
		eachFlag(r, func(c *cobra.Command, f *pflag.Flag) {
			name := c.CommandPath() + " " + f.Name
			found[name] = true
			_, word := wordsOf[name]
			if !known[name] && !word && !slices.Contains(words, f.Name) {
				t.Errorf("--%s of %s: is it a path? Add it to the commands, or to the words", f.Name, c.CommandPath())
			}
		})
	}
	for name := range known {
		if !found[name] && !strings.HasSuffix(name, " config") {
			t.Errorf("no flag %s: take it from the table", name)
		}
	}
}

// path returns the program and the command.
func (c command) path() string {
	path := c.program
	for _, word := range strings.Fields(c.line) {
		if strings.HasPrefix(word, "-") || strings.ToLower(word) != word {
			break
		}
		path += " " + word
	}
	return path
}

// eachFlag calls visit for every flag whose value is text.
func eachFlag(c *cobra.Command, visit func(*cobra.Command, *pflag.Flag)) {
	if c.Name() == "completion" || c.Name() == "help" {
		return
	}
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		switch f.Value.Type() {
		case "bool", "int", "int32", "int64", "uint", "uint64", "float64", "duration", "size", "intSlice", "tokens", "true|false|auto":
		default:
			visit(c, f)
		}
	})
	for _, sub := range c.Commands() {
		eachFlag(sub, visit)
	}
}

// A try is a command line in which a flag names a thing.
type try struct {
	command
	flag  pathFlag
	thing thing
}

// If a path flag names a wrong thing, the program ends at once with exit code 2 and
// one line, and replaces nothing.
func TestWhateverAPathFlagNames(t *testing.T) {
	dir := t.TempDir()
	fx := newFixture(t, dir)
	for _, root := range roots {
		eachFlag(root(), func(c *cobra.Command, f *pflag.Flag) { settings[c.CommandPath()+" "+f.Name] = cli.IsSetting(f) })
	}
	var tries []try
	for _, c := range commands {
		for _, f := range c.flags {
			for _, th := range fx.things {
				if th.fits(f) {
					tries = append(tries, try{c, f, th})
				}
			}
		}
	}
	share := torture.Cases(16, 1)
	before := fx.state(t)
	var group sync.WaitGroup
	slots := make(chan bool, 2)
	count := 0
	for _, tr := range tries {
		h := fnv.New32a()
		fmt.Fprint(h, tr.path(), tr.flag.name, tr.thing.name)
		if h.Sum32()%uint32(share) != 0 {
			continue
		}
		count++
		slots <- true
		group.Go(func() {
			defer func() { <-slots }()
			tr.run(t, fx)
		})
	}
	group.Wait()
	for path, was := range before {
		if now := fx.look(path); now != was {
			t.Errorf("%s was %s, is %s", path, was, now)
		}
	}
	t.Logf("%d of %d", count, len(tries))
}

// maxRSS is the maximum memory, in kB, of a command that refuses its arguments.
const maxRSS = 100_000

func (tr try) run(t *testing.T, fx *fixture) {
	args := fx.expand(strings.Fields(tr.line), tr.flag.name)
	if settings[tr.path()+" "+tr.flag.name] {
		args = append(args, "--set", tr.flag.name+"="+tr.thing.path)
	} else {
		args = append(args, "--"+tr.flag.name, tr.thing.path)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // processors may be busy; SIGTERM must end it then
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Dir, cmd.Env = fx.dir, fx.environment(tr.program)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	if tr.thing.only != nil { // a folder that can be locked
		fx.alone.Lock()
		defer fx.alone.Unlock()
	}
	text, err := cmd.CombinedOutput()
	name := fmt.Sprintf("%s %s --%s: %s", tr.program, tr.line, tr.flag.name, tr.thing.name)
	code := cmd.ProcessState.ExitCode()
	rss := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss
	switch {
	case ctx.Err() != nil:
		t.Errorf("%s: does not end: %v", name, err)
	case slices.Contains(tr.flag.takes, tr.thing.name):
		if code < 0 || strings.Contains(string(text), "goroutine ") {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	case code == 4 && tr.flag.class == input && strings.Contains(tr.thing.name, " file"): // damaged data, as far as the program knows
	case code != 2:
		t.Errorf("%s: exit code %d, want 2: %s", name, code, text)
	case !strings.HasPrefix(lastLine(text), tr.program+": "):
		t.Errorf("%s: want one line of the program: %s", name, text)
	case rss > maxRSS:
		t.Errorf("%s: took %d kB", name, rss)
	}
}

// lastLine returns the last line of a text; notes may precede it.
func lastLine(text []byte) string {
	text = bytes.TrimSpace(text)
	return string(text[bytes.LastIndexByte(text, '\n')+1:])
}
