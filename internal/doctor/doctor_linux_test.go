package doctor

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/cpu"
)

// find returns the check of a name.
func find(t *testing.T, checks []Check, name string) Check {
	t.Helper()
	for _, c := range checks {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("no check %q in %v", name, checks)
	return Check{}
}

func TestAFolderIsTriedAndLeftAsItWas(t *testing.T) {
	dir := t.TempDir()
	checks := Examine(context.Background(), Options{Out: filepath.Join(dir, "not", "yet"), Memory: 1})
	if c := find(t, checks, "output folder"); c.Level != OK {
		t.Errorf("got %+v", c)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

func TestAFolderThatCannotBeWrittenToFails(t *testing.T) {
	c := find(t, Examine(context.Background(), Options{Out: "/proc", Memory: 1}), "output folder")
	if c.Level != Fail || c.Advice == "" {
		t.Errorf("got %+v", c)
	}
}

func TestTooLittleIsFoundToBe(t *testing.T) {
	checks := Examine(context.Background(), Options{Out: t.TempDir(), Memory: math.MaxInt64 / 2, Disk: math.MaxInt64})
	for _, name := range []string{"memory", "output folder, free space"} {
		if c := find(t, checks, name); c.Level != Fail || c.Advice == "" {
			t.Errorf("got %+v", c)
		}
	}
	if Worst(checks) != Fail {
		t.Errorf("got %s", Worst(checks))
	}
	if Worst([]Check{{Level: OK}, {Level: Warn}, {Level: OK}}) != Warn || Worst(nil) != OK {
		t.Error("the worst level is not")
	}
}

func TestAWrongClockIsToldOf(t *testing.T) {
	if c := clock(time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC)); c.Level != Warn {
		t.Errorf("got %+v", c)
	}
	if c := clock(written.Add(time.Hour)); c.Level != OK {
		t.Errorf("got %+v", c)
	}
}

func TestMeminfoIsRead(t *testing.T) {
	free, total, ok := parseMeminfo(strings.NewReader("MemTotal:  1000 kB\nMemFree: 1 kB\nMemAvailable:   300 kB\n"))
	if free != 300*1024 || total != 1000*1024 || !ok {
		t.Errorf("got %d, %d, %v", free, total, ok)
	}
	for _, text := range []string{"", "MemTotal: x kB\n", "MemTotal: -4 kB\nMemAvailable: 9223372036854775807 kB\n"} {
		if _, _, ok := parseMeminfo(strings.NewReader(text)); ok {
			t.Errorf("%q was taken for memory", text)
		}
	}
}

func Example() {
	for _, c := range Examine(context.Background(), Options{Memory: 1}) {
		if c.Name == "clock" {
			fmt.Println(c.Name, c.Level)
		}
	}
	// Output: clock ok
}

func TestExtensionsOfTheProcessorAreNamed(t *testing.T) {
	if got := features(); strings.Contains(got, "AVX2") != cpu.X86.HasAVX2 || strings.Contains(got, "NEON") != cpu.ARM64.HasASIMD {
		t.Errorf("got %q", got)
	}
}
