// Package drivertest makes a libcuda and a libcublasLt for tests, which record
// every call, can be told to fail, and compute copies and single-precision
// products in host memory. Kernels are recorded and not run.
//
//	f := drivertest.New(t)          // compiled by gcc; the driver finds them and no others
//	d, err := driver.Open(0)
//	f.FailAt(3, 719)                // the third call from the start of the library fails
//	calls := f.Calls()              // "cuMemAlloc_v2 bytes=1001", …
//
// Environment variables set what the fake machine is: FAKE_DEVICES, FAKE_VERSION
// (of CUDA, 12080), FAKE_MAJOR (compute capability), FAKE_MEMORY_MB; FAKE_FAULTY
// makes memory return another bit. See testdata/fake.c.
package drivertest

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// A Fake is the libraries in a directory of their own: every test loads copies,
// whose state is new.
type Fake struct {
	Dir string // of libcuda.so.1 and libcublasLt.so.12
	t   *testing.T
}

// compiled holds the libraries once for all tests of the process.
var compiled struct {
	sync.Once
	libraries map[string][]byte
	err       error
}

// Compile makes a library of fake.c. options are those of gcc, -DFAKE_CUDA or
// -DFAKE_BLAS among them.
func Compile(to string, options ...string) error {
	_, here, _, _ := runtime.Caller(0)
	source := filepath.Join(filepath.Dir(here), "testdata", "fake.c")
	args := append([]string{"-shared", "-fPIC", "-O1", "-o", to, source}, options...)
	cmd := exec.Command("gcc", append(args, "-lm", "-ldl")...)
	cmd.Stderr = os.Stderr
	return cmd.Run()
}

// New makes the driver find fake libraries, and no others, until the test ends.
// Without gcc the test is skipped, and fails under CI. It locks the goroutine to
// its thread: on another one the device's context is made current again, which is
// one call more.
func New(t *testing.T) *Fake {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip("needs gcc to compile the fake libraries")
	}
	compiled.Do(func() { compiled.libraries, compiled.err = libraries() })
	if compiled.err != nil {
		t.Fatal(compiled.err)
	}
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	f := &Fake{Dir: t.TempDir(), t: t}
	for name, b := range compiled.libraries {
		if err := os.WriteFile(filepath.Join(f.Dir, name), b, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PRETEXT_CUDA_LIBS", f.Dir)
	t.Setenv("FAKE_LOG", f.log())
	return f
}

func libraries() (map[string][]byte, error) {
	dir, err := os.MkdirTemp("", "fake")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	all := map[string][]byte{}
	for name, define := range map[string]string{"libcuda.so.1": "-DFAKE_CUDA", "libcublasLt.so.12": "-DFAKE_BLAS"} {
		path := filepath.Join(dir, name)
		if err := Compile(path, define); err != nil {
			return nil, err
		}
		if all[name], err = os.ReadFile(path); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (f *Fake) log() string { return filepath.Join(f.Dir, "log") }

// Calls returns the calls since the last time, and forgets them: the function's
// name, then each argument as name=value, pointers in hexadecimal.
func (f *Fake) Calls() []string {
	f.t.Helper()
	b, err := os.ReadFile(f.log())
	if err == nil {
		err = os.Truncate(f.log(), 0)
	}
	if err != nil {
		f.t.Fatal(err)
	}
	return strings.Split(strings.TrimRight(string(b), "\n"), "\n")
}

// FailAt makes the n-th call since the libraries were loaded fail with a code,
// counted from 1; 0: none.
func (f *Fake) FailAt(n, code int) {
	f.t.Setenv("FAKE_FAIL_AT", strconv.Itoa(n))
	f.t.Setenv("FAKE_FAIL_CODE", strconv.Itoa(code))
}
