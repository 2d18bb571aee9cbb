//go:build cgo && linux

package driver_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"pretext/trainer/cuda/device"
	"pretext/trainer/cuda/driver"
)

// A fake is the libraries of testdata/fake.c in a directory of their own: every
// test loads copies, whose state is new.
type fake struct {
	t   *testing.T
	dir string
	log string
}

var compiled struct {
	sync.Once
	dir string
	err error
}

func TestMain(m *testing.M) {
	code := m.Run()
	os.RemoveAll(compiled.dir)
	os.Exit(code)
}

// compile makes a library of fake.c.
func compile(to string, options ...string) error {
	args := append([]string{"-shared", "-fPIC", "-O1", "-o", to, "testdata/fake.c"}, options...)
	out, err := exec.Command("gcc", append(args, "-lm", "-ldl")...).CombinedOutput()
	if err != nil {
		os.Stderr.Write(out)
	}
	return err
}

// newFake makes the driver find fake libraries, and no others.
func newFake(t *testing.T) *fake {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip("needs gcc to compile the fake libraries")
	}
	compiled.Do(func() {
		if compiled.dir, compiled.err = os.MkdirTemp("", "fake"); compiled.err != nil {
			return
		}
		if compiled.err = compile(filepath.Join(compiled.dir, "libcuda.so.1"), "-DFAKE_CUDA"); compiled.err == nil {
			compiled.err = compile(filepath.Join(compiled.dir, "libcublasLt.so.12"), "-DFAKE_BLAS")
		}
	})
	if compiled.err != nil {
		t.Fatal(compiled.err)
	}
	// On another thread the device's context is made current again: one call more.
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	f := &fake{t: t, dir: t.TempDir()}
	f.log = filepath.Join(f.dir, "log")
	for _, name := range []string{"libcuda.so.1", "libcublasLt.so.12"} {
		b, err := os.ReadFile(filepath.Join(compiled.dir, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(f.dir, name), b, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PRETEXT_CUDA_LIBS", f.dir)
	t.Setenv("FAKE_LOG", f.log)
	return f
}

// open opens a device of the fake.
func (f *fake) open() device.Device {
	f.t.Helper()
	d, err := driver.Open(0)
	if err != nil {
		f.t.Fatal(err)
	}
	return d
}

// calls returns the calls since the last time, and forgets them.
func (f *fake) calls() []string {
	f.t.Helper()
	b, err := os.ReadFile(f.log)
	if err == nil {
		err = os.Truncate(f.log, 0)
	}
	if err != nil {
		f.t.Fatal(err)
	}
	return strings.Split(strings.TrimRight(string(b), "\n"), "\n")
}

// failAt makes the n-th call from now on fail, counted from 1; 0: none.
func (f *fake) failAt(n, code int) {
	f.t.Setenv("FAKE_FAIL_AT", strconv.Itoa(n))
	f.t.Setenv("FAKE_FAIL_CODE", strconv.Itoa(code))
}
