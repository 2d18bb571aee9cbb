// Package drivertest builds fake libraries libcuda, libcublasLt and libnccl for
// tests. They record every call and can be told to fail. They perform copies,
// single-precision matrix products and collectives of one rank in host memory;
// launches of kernels are recorded but not run.
//
//	f := drivertest.New(t)          // compiles with gcc; package driver now finds only the fakes
//	d, err := driver.Open(0)
//	f.FailAt(3, 719)                // the third call from the start of the library fails
//	calls := f.Calls()              // "cuMemAlloc_v2 bytes=1001", …
//
// Environment variables describe the fake machine: FAKE_DEVICES, FAKE_VERSION (of
// CUDA, such as 12080), FAKE_MAJOR (compute capability) and FAKE_MEMORY_MB.
// FAKE_FAULTY flips a bit of the memory. FAKE_BUSY and FAKE_NCCL_BUSY are the number of
// polls that the fakes answer with "not ready". See testdata/fake.c.
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

// A Fake is a directory with copies of the fake libraries. Each test loads its own copies,
// so that it does not see the state of earlier tests.
type Fake struct {
	Dir string // directory with libcuda.so.1, libcublasLt.so.12 and libnccl.so.2
	t   *testing.T
}

// compiled caches the bytes of the libraries, so that each test process compiles
// them only once.
var compiled struct {
	sync.Once
	libraries map[string][]byte
	err       error
}

// Compile compiles fake.c to a library with the path to. options are for gcc and
// must include -DFAKE_CUDA, -DFAKE_BLAS or -DFAKE_NCCL.
func Compile(to string, options ...string) error {
	_, here, _, _ := runtime.Caller(0)
	source := filepath.Join(filepath.Dir(here), "testdata", "fake.c")
	args := append([]string{"-shared", "-fPIC", "-O1", "-o", to, source}, options...)
	cmd := exec.Command("gcc", append(args, "-lm", "-ldl")...)
	cmd.Stderr = os.Stderr
	return cmd.Run()
}

// New makes package driver find only fake libraries until the test ends. Without
// gcc the test is skipped, or fails under CI. New locks the goroutine to its thread,
// because a change of threads adds a recorded call, which makes the context current.
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
	for name, define := range map[string]string{"libcuda.so.1": "-DFAKE_CUDA", "libcublasLt.so.12": "-DFAKE_BLAS", "libnccl.so.2": "-DFAKE_NCCL"} {
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

// Calls returns and clears the recorded calls. Each is the name of the function and
// the arguments as name=value, with pointers in hexadecimal.
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

// FailAt makes the n-th call since the libraries were loaded return the error code.
// n counts from 1; 0 means that no call fails.
func (f *Fake) FailAt(n, code int) {
	f.t.Setenv("FAKE_FAIL_AT", strconv.Itoa(n))
	f.t.Setenv("FAKE_FAIL_CODE", strconv.Itoa(code))
}
