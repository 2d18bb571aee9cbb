// Package doctor looks at a machine before it is trusted with hours of work: its
// processor, memory, disks, limits and clock.
//
//	for _, c := range doctor.Examine(ctx, doctor.Options{Out: "data", Memory: 600e6}) {
//		fmt.Println(c.Level, c.Name, c.Found, c.Advice)
//	}
//
// Each check says what it found and, unless all is well, what to do. Nothing is
// left behind: what is written in a folder is removed. Checks that a system does
// not offer are left out. The package keeps no state and prints nothing.
package doctor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/cpu"

	"pretext/internal/humanize"
	"pretext/internal/store"
)

// The levels of a check.
const (
	OK   = "ok"
	Warn = "warn" // it works, but slowly, or may not
	Fail = "fail" // it will not work
)

// A Check is one thing that was looked at.
type Check struct {
	Name   string `json:"name"`
	Level  string `json:"level"` // [OK], [Warn] or [Fail]
	Found  string `json:"found"`
	Advice string `json:"advice,omitempty"` // what to do; "" when all is well
}

// Options say what the machine is wanted for.
type Options struct {
	Out    string // folder that will be written to; "": none is looked at
	Memory int64  // bytes that a run may use
	Disk   int64  // bytes that should be free at Out; 0: 1 GB
}

// Examine looks at everything. It takes about a second.
func Examine(ctx context.Context, o Options) []Check {
	checks := []Check{processors(), memory(o.Memory)}
	checks = append(checks, limits()...)
	checks = append(checks, folder(ctx, "temporary folder", os.TempDir(), 0)...)
	if o.Out != "" {
		need := o.Disk
		if need <= 0 {
			need = 1e9
		}
		checks = append(checks, folder(ctx, "output folder", o.Out, need)...)
	}
	checks = append(checks, clock(time.Now()))
	return checks
}

// Worst returns the worst level of some checks.
func Worst(checks []Check) string {
	worst := OK
	for _, c := range checks {
		if c.Level == Fail || c.Level == Warn && worst == OK {
			worst = c.Level
		}
	}
	return worst
}

func processors() Check {
	c := Check{Name: "processors", Level: OK, Found: fmt.Sprintf("%d in use of %d, %s/%s%s", runtime.GOMAXPROCS(0), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, features())}
	if runtime.GOMAXPROCS(0) < 2 {
		c.Level, c.Advice = Warn, "work is done by one processor; more make it faster"
	}
	return c
}

// features names the extensions of the processor that the program makes use of.
func features() string {
	var list []string
	for _, f := range []struct {
		name string
		has  bool
	}{{"AVX2", cpu.X86.HasAVX2}, {"AVX-512", cpu.X86.HasAVX512}, {"SHA-512", cpu.ARM64.HasSHA512}, {"NEON", cpu.ARM64.HasASIMD}} {
		if f.has {
			list = append(list, f.name)
		}
	}
	if len(list) == 0 {
		return ""
	}
	return ", " + strings.Join(list, ", ")
}

// memory compares what is free with what a run may use. The system and its
// cache of files want some for themselves.
func memory(want int64) Check {
	c := Check{Name: "memory", Level: OK}
	free, total, ok := systemMemory()
	if !ok {
		c.Found = "not known"
		return c
	}
	c.Found = fmt.Sprintf("%s available of %s", humanize.Bytes(free), humanize.Bytes(total))
	switch {
	case free < want:
		c.Level, c.Advice = Fail, fmt.Sprintf("a run may use %s: give less --memory, or close something", humanize.Bytes(want))
	case free < want+want/2:
		c.Level, c.Advice = Warn, fmt.Sprintf("a run may use %s, which leaves little for the cache of files", humanize.Bytes(want))
	}
	return c
}

// leastFiles is how many files a run may have open at a time: one for each
// shard's and document's reader, and those of the runner.
const leastFiles = 256

func limits() (checks []Check) {
	if n, ok := openFiles(); ok {
		c := Check{Name: "open files", Level: OK, Found: fmt.Sprintf("at most %d", n)}
		if n < leastFiles {
			c.Level, c.Advice = Fail, fmt.Sprintf("raise the limit to %d or more: ulimit -n %d", leastFiles, 4*leastFiles)
		}
		checks = append(checks, c)
	}
	if n, ok := fileSize(); ok {
		c := Check{Name: "file size", Level: OK, Found: fmt.Sprintf("at most %s", humanize.Bytes(n))}
		if n < 1e9 {
			c.Level, c.Advice = Warn, "shards and documents may be larger: ulimit -f unlimited"
		}
		checks = append(checks, c)
	}
	return checks
}

// folder writes, syncs, renames and removes a file as a run does, and looks at
// the space that is left.
func folder(ctx context.Context, name, path string, need int64) []Check {
	write := Check{Name: name, Level: OK, Found: path + ": written, synced, renamed"}
	existing := nearest(path)
	if took, err := tryWrite(ctx, existing); err != nil {
		write.Level, write.Found, write.Advice = Fail, err.Error(), "give a folder that can be written to"
		return []Check{write}
	} else if took > time.Second {
		write.Level, write.Found = Warn, fmt.Sprintf("%s: a file of 1 MB took %s to be safe on disk", path, took.Round(time.Millisecond))
		write.Advice = "this disk is slow: a local one would be faster"
	}
	checks := []Check{write}
	free, ok := freeSpace(existing)
	if !ok {
		return checks
	}
	space := Check{Name: name + ", free space", Level: OK, Found: humanize.Bytes(free)}
	if free < need {
		space.Level, space.Advice = Fail, fmt.Sprintf("%s should be free (--disk): prepare-data plan says what a run needs", humanize.Bytes(need))
	}
	return append(checks, space)
}

// nearest returns the folder itself or, where it does not exist yet, the closest
// one above it that does.
func nearest(path string) string {
	for {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			return path
		}
		above := filepath.Dir(path)
		if above == path {
			return path
		}
		path = above
	}
}

// probeBytes is what a trial writes.
const probeBytes = 1 << 20

// tryWrite makes a folder of its own in the one given, commits a file there as a
// run does, reads it, and removes both.
func tryWrite(ctx context.Context, path string) (took time.Duration, err error) {
	in, err := store.Open(path)
	if err != nil {
		return 0, err
	}
	temp, remove, err := store.TempFolder(in)
	if err != nil {
		return 0, err
	}
	defer remove()
	probe, err := store.Open(temp)
	if err != nil {
		return 0, err
	}
	start := time.Now()
	content := make([]byte, probeBytes)
	content[probeBytes-1] = 1
	if err := store.WriteFile(ctx, probe, "probe", content); err != nil {
		return 0, err
	}
	took = time.Since(start)
	back, err := store.ReadFile(ctx, probe, "probe")
	if err == nil && string(back) != string(content) {
		err = fmt.Errorf("%s: what was written is not what is read", path)
	}
	return took, err
}

// written is about when this program was: a clock before it is wrong.
var written = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)

// clock sees that certificates of servers will be taken for valid.
func clock(now time.Time) Check {
	c := Check{Name: "clock", Level: OK, Found: now.UTC().Format("2006-01-02 15:04:05 MST")}
	if now.Before(written) || now.After(written.AddDate(20, 0, 0)) {
		c.Level, c.Advice = Warn, "the clock is wrong: downloads will fail. It decides no byte of the output"
	}
	return c
}
