// Package doctor checks whether a machine is suitable before a run of hours: its processor,
// memory, disks, limits and clock.
//
//	for _, c := range doctor.Examine(ctx, doctor.Options{Out: "data", Memory: 600e6}) {
//		fmt.Println(c.Level, c.Name, c.Found, c.Advice)
//	}
//
// Each check reports what it found and, if that is a problem, advice. Files written by a
// check are removed. Checks that a system does not support are omitted. The package prints
// nothing.
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

// A Level is the rating of a check.
type Level string

// The levels, from best to worst.
const (
	OK   Level = "ok"
	Warn Level = "warn" // it works, but slowly or unreliably
	Fail Level = "fail" // it will not work
)

// A Check is the result of testing one property of the machine, such as free disk space.
type Check struct {
	Name   string `json:"name"`
	Level  Level  `json:"level"`
	Found  string `json:"found"`
	Advice string `json:"advice,omitempty"` // what to do; "" if the level is OK
}

// Options describe the intended use of the machine.
type Options struct {
	Out    string // output folder to check; "": none
	Memory int64  // memory that a run needs, in bytes
	Disk   int64  // bytes that should be free at Out; 0: 1 GB
}

// Examine runs all checks. It takes about a second.
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

// Worst returns the worst level of the checks.
func Worst(checks []Check) Level {
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

// features returns the names of the processor extensions that pretext uses.
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

// memory checks that the free memory has want bytes, and a margin for the system and its
// file cache.
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

// leastFiles is the minimum limit on open files: a run may have this many open at the same
// time, in the readers of shards and documents and in the Beam runner.
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

// folder checks that a file can be written, synced, renamed and removed in the
// folder at path, and that need bytes are free.
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
	free, ok := store.FreeSpace(existing)
	if !ok {
		return checks
	}
	space := Check{Name: name + ", free space", Level: OK, Found: humanize.Bytes(free)}
	if free < need {
		space.Level, space.Advice = Fail, fmt.Sprintf("%s should be free (--disk): prepare-data plan says what a run needs", humanize.Bytes(need))
	}
	return append(checks, space)
}

// nearest returns path, or its nearest existing parent.
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

// probeBytes is the size of the test file.
const probeBytes = 1 << 20

// tryWrite creates a folder in path, writes a file there as a run does, reads the file
// back, and removes both. It returns how long writing took.
func tryWrite(ctx context.Context, path string) (took time.Duration, err error) {
	in, err := store.Open(path)
	if err != nil {
		return 0, err
	}
	temp, remove, err := store.TempFolder(in, "")
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
		err = fmt.Errorf("%s: a test file has other content than was written: check the disk", path)
	}
	return took, err
}

// written is the approximate release date of this program. A clock before it is
// wrong.
var written = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)

// clock checks that the clock is not obviously wrong. With a wrong clock the
// certificates of servers are rejected.
func clock(now time.Time) Check {
	c := Check{Name: "clock", Level: OK, Found: now.UTC().Format("2006-01-02 15:04:05 MST")}
	if now.Before(written) || now.After(written.AddDate(20, 0, 0)) {
		c.Level, c.Advice = Warn, "the clock is wrong: downloads will fail. It decides no byte of the output"
	}
	return c
}
