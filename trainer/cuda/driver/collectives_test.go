//go:build cgo && linux

package driver_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pretext/trainer"
	"pretext/trainer/cuda/device"
	"pretext/trainer/cuda/driver"
	"pretext/trainer/cuda/driver/drivertest"
)

// connected opens a device and a communicator of it.
func connected(t *testing.T, rank, ranks int) (device.Device, device.Collectives, device.Communicator) {
	t.Helper()
	d := open(t)
	c := d.(device.Collectives)
	id := must(t, c.UniqueID)
	comm := must(t, func() (device.Communicator, error) { return c.Connect(t.Context(), id, rank, ranks) })
	return d, c, comm
}

func TestArgumentsOfCollectivesArriveInTheirPlaces(t *testing.T) {
	f := drivertest.New(t)
	t.Setenv("FAKE_NCCL_BUSY", "2") // Connect, Collect and Disconnect wait for that
	t.Setenv("FAKE_BUSY", "1")
	d := open(t)
	c := d.(device.Collectives)
	f.Calls()
	var n names
	s, e := must(t, d.NewStream), must(t, func() (device.Event, error) { return d.NewEvent(false) })
	p, q := must(t, func() (device.Pointer, error) { return d.Alloc(4096) }), must(t, func() (device.Pointer, error) { return d.Alloc(4096) })
	n.add("s", uint64(s))
	n.add("e", uint64(e))
	n.add("p", uint64(p))
	n.add("q", uint64(q))
	n.add("q+512", uint64(q+512))
	id := must(t, c.UniqueID)
	for i, b := range id {
		if int(b) != i+1 {
			t.Fatalf("byte %d of the ID is %d", i, b)
		}
	}
	comm := must(t, func() (device.Communicator, error) { return c.Connect(t.Context(), id, 3, 7) })
	check(t,
		c.Collect(s, comm, device.Collective{Kind: device.AllReduce, Type: device.Float32, Send: p, Receive: q, N: 11}),
		c.Collect(s, comm,
			device.Collective{Kind: device.ReduceScatter, Type: device.BFloat16, Send: p, Receive: q.Add(512), N: 12},
			device.Collective{Kind: device.AllGather, Type: device.Float16, Send: q, Receive: p, N: 13},
			device.Collective{Kind: device.Broadcast, Type: device.Float32, Send: p, Receive: q, N: 14, Root: 5}),
		c.Collect(s, comm), // nothing
		d.Record(s, e), d.SyncStream(s), d.SyncEvent(e), c.AsyncError(comm), c.Disconnect(comm),
		d.SyncStream(s), // with no communicator the driver waits itself
		d.Close(),
	)
	id128 := 0
	for i, b := range id {
		id128 += (i + 1) * int(b)
	}
	if id128 != 707264 {
		t.Fatalf("the ID sums to %d", id128)
	}
	poll := []string{"ncclCommGetAsyncError alive=1", "ncclCommGetAsyncError alive=1", "ncclCommGetAsyncError alive=1"}
	want := slices.Concat([]string{
		"cuStreamCreate flags=1", "cuEventCreate flags=2", "cuMemAlloc_v2 bytes=4096", "cuMemAlloc_v2 bytes=4096", "ncclGetVersion", "ncclGetUniqueId",
		"ncclCommInitRankConfig ranks=7 id=707264 rank=3 size=24 magic=cafebeef version=21400 blocking=0",
	}, poll, []string{
		"ncclGroupStart", "ncclAllReduce send=p receive=q count=11 type=7 op=0 rank=3 stream=s", "ncclGroupEnd",
	}, poll, []string{
		"ncclGroupStart",
		"ncclReduceScatter send=p receive=q+512 count=12 type=9 op=0 rank=3 stream=s",
		"ncclAllGather send=q receive=p count=13 type=6 rank=3 stream=s",
		"ncclBroadcast send=p receive=q count=14 type=7 root=5 rank=3 stream=s",
		"ncclGroupEnd",
	}, poll, []string{
		"cuEventRecord event=e stream=s", "cuStreamQuery stream=s", "cuStreamQuery stream=s", "cuEventQuery event=e", "cuEventQuery event=e",
		"ncclCommGetAsyncError alive=1", "ncclCommFinalize alive=1",
	}, poll, []string{
		"ncclCommDestroy finalized=1", "cuStreamSynchronize stream=s", "cuStreamSynchronize stream=s", "cublasLtDestroy", "cuEventDestroy_v2 event=e",
		"cuStreamSynchronize stream=s", "cuStreamDestroy_v2 stream=s",
	})
	got := n.in(f.Calls())
	if diff := cmp.Diff(want, got[:min(len(got), len(want))]); diff != "" {
		t.Error(diff)
	}
}

func TestCollectivesOfOneRankCopy(t *testing.T) {
	drivertest.New(t)
	d, c, comm := connected(t, 0, 1)
	s := must(t, d.NewStream)
	h := must(t, func() ([]byte, error) { return d.AllocHost(16) })
	p, q := must(t, func() (device.Pointer, error) { return d.Alloc(16) }), must(t, func() (device.Pointer, error) { return d.Alloc(16) })
	copy(h, "abcdefghijklmnop")
	check(t, d.ToDevice(s, p, h), d.Clear(s, q, 16), c.Collect(s, comm, device.Collective{Kind: device.AllGather, Type: device.BFloat16, Send: p, Receive: q, N: 5}), d.ToHost(s, h, q), d.SyncStream(s))
	if got, want := string(h), "abcdefghij\x00\x00\x00\x00\x00\x00"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	check(t, c.Disconnect(comm), d.Close())
}

// Every way in which a communicator can end before its time: nothing waits, the cause
// is the error of all that follows, and the device closes.
func TestAnAbortedCommunicatorHangsNothing(t *testing.T) {
	lost := errors.New("rank 1 was lost")
	for name, use := range map[string]func(t *testing.T, d device.Device, c device.Collectives, comm device.Communicator, s device.Stream) error{
		"while the GPU works": func(t *testing.T, d device.Device, c device.Collectives, comm device.Communicator, s device.Stream) error {
			t.Setenv("FAKE_BUSY", "300")
			time.AfterFunc(time.Millisecond, func() { c.Abort(comm, lost) })
			return d.SyncStream(s)
		},
		"while the ranks set up a collective": func(t *testing.T, d device.Device, c device.Collectives, comm device.Communicator, s device.Stream) error {
			t.Setenv("FAKE_NCCL_BUSY", "1000000")
			time.AfterFunc(20*time.Millisecond, func() { c.Abort(comm, lost) })
			return c.Collect(s, comm, device.Collective{N: 1})
		},
		"before a collective": func(t *testing.T, d device.Device, c device.Collectives, comm device.Communicator, s device.Stream) error {
			c.Abort(comm, lost)
			c.Abort(comm, errors.New("a second cause"))
			return c.Collect(s, comm, device.Collective{N: 1})
		},
		"before a question": func(t *testing.T, d device.Device, c device.Collectives, comm device.Communicator, s device.Stream) error {
			c.Abort(comm, lost)
			return c.AsyncError(comm)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := drivertest.New(t)
			d, c, comm := connected(t, 0, 2)
			s := must(t, d.NewStream)
			if err := use(t, d, c, comm, s); !errors.Is(err, lost) {
				t.Errorf("got %v, want %v", err, lost)
			}
			check(t, c.Disconnect(comm), d.SyncStream(s), d.Close())
			calls := f.Calls()
			if !slices.Contains(calls, "ncclCommAbort ") || slices.ContainsFunc(calls, func(c string) bool { return strings.HasPrefix(c, "LEAK") }) {
				t.Errorf("calls %q", calls)
			}
		})
	}
}

// A collective that fails ends its thread's group all the same.
func TestAFailedCollectiveLeavesNoGroupOpen(t *testing.T) {
	drivertest.New(t)
	d, c, comm := connected(t, 0, 2)
	s := must(t, d.NewStream)
	t.Setenv("FAKE_FAIL", "ncclAllReduce")
	t.Setenv("FAKE_FAIL_CODE", "5")
	if err := c.Collect(s, comm, device.Collective{N: 3}); err == nil || err.Error() != "all-reduce of 3 elements: ncclAllReduce: ncclInvalidUsage (5): as the test asked NCCL for" {
		t.Errorf("got %v", err)
	}
	t.Setenv("FAKE_FAIL", "")
	check(t, c.Collect(s, comm, device.Collective{N: 3}), c.Disconnect(comm), d.Close())
}

func TestConnectEndsWithItsContext(t *testing.T) {
	drivertest.New(t)
	t.Setenv("FAKE_NCCL_BUSY", "1000000")
	d := open(t)
	c := d.(device.Collectives)
	lost := errors.New("rank 1 was lost")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(10*time.Millisecond, func() { cancel(lost) })
	if _, err := c.Connect(ctx, must(t, c.UniqueID), 0, 2); !errors.Is(err, lost) || !strings.HasPrefix(err.Error(), "connect rank 0 of 2 by NCCL: ") {
		t.Errorf("got %v", err)
	}
	check(t, d.Close())
}

// NCCL's queued work fails on its own: a network, or another rank.
func TestErrorsOfQueuedCollectivesAreFound(t *testing.T) {
	drivertest.New(t)
	d, c, comm := connected(t, 0, 2)
	s := must(t, d.NewStream)
	t.Setenv("FAKE_NCCL_STATE", "6")
	want := "ncclRemoteError (6): as the test asked NCCL for"
	for _, err := range []error{c.AsyncError(comm), c.Collect(s, comm, device.Collective{N: 1})} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if err := c.Disconnect(comm); err == nil {
		t.Error("disconnected without an error")
	}
	check(t, d.Close())
}

func TestConnectSaysWhatIsMissing(t *testing.T) {
	old := filepath.Join(t.TempDir(), "old.so")
	for name, c := range map[string]struct {
		change func(f *drivertest.Fake)
		want   string // DIR stands for the directory
	}{
		"no NCCL":       {func(f *drivertest.Fake) { os.Remove(f.Dir + "/libnccl.so.2") }, "NCCL (libnccl.so.2) was not found in the directories of PRETEXT_CUDA_LIBS (DIR): install NCCL, or pip install nvidia-nccl-cu12, or name its directory in PRETEXT_CUDA_LIBS"},
		"not a library": {func(f *drivertest.Fake) { os.WriteFile(f.Dir+"/libnccl.so.2", []byte("text"), 0o644) }, "NCCL was found and cannot be loaded: DIR/libnccl.so.2: file too short"},
		"an older NCCL, by a function": {func(f *drivertest.Fake) {
			if err := drivertest.Compile(old, "-DFAKE_NCCL", "-DncclCommInitRankConfig=other"); err != nil {
				t.Fatal(err)
			}
			os.Rename(old, f.Dir+"/libnccl.so.2")
		}, "NCCL is too old: DIR/libnccl.so.2 has no function ncclCommInitRankConfig; version 2.14.0 or newer is needed"},
		"an older NCCL, by its version": {func(f *drivertest.Fake) { t.Setenv("FAKE_NCCL_VERSION", "21399") }, "NCCL is too old: DIR/libnccl.so.2 has version 2.13.99; version 2.14.0 or newer is needed"},
	} {
		t.Run(name, func(t *testing.T) {
			f := drivertest.New(t)
			dir := must(t, func() (string, error) { return filepath.EvalSymlinks(f.Dir) })
			c.change(f)
			t.Cleanup(func() { os.Unsetenv("FAKE_NCCL_VERSION") })
			d := open(t) // needs no NCCL
			_, err := d.(device.Collectives).UniqueID()
			if !errors.Is(err, trainer.ErrUnavailable) {
				t.Fatalf("got %v", err)
			}
			if got, want := strings.NewReplacer(dir, "DIR", f.Dir, "DIR").Replace(err.Error()), "device unavailable: "+c.want; got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
			if _, second := d.(device.Collectives).Connect(t.Context(), make([]byte, device.UniqueIDBytes), 0, 1); second == nil || second.Error() != err.Error() {
				t.Errorf("Connect: %v", second)
			}
			s := driver.Look()
			check(t, s.Err, d.Close())
			if s.NCCL == nil || s.NCCL.Error() != err.Error() || len(s.Libraries) != 2 {
				t.Errorf("Look: %+v", s)
			}
		})
	}
}

func TestNCCLIsFoundBesidePython(t *testing.T) {
	f := drivertest.New(t)
	venv := t.TempDir()
	dir := filepath.Join(venv, "lib/python3.11/site-packages/nvidia/nccl/lib")
	check(t, os.MkdirAll(dir, 0o755))
	check(t, os.Rename(f.Dir+"/libnccl.so.2", dir+"/libnccl.so.2"))
	check(t, os.Symlink(f.Dir+"/libcuda.so.1", dir+"/libcuda.so.1")) // which the fake NCCL asks
	t.Setenv("VIRTUAL_ENV", venv)
	d := open(t)
	os.Unsetenv("PRETEXT_CUDA_LIBS") // after the fake driver was found; t.Setenv restores it
	id, err := d.(device.Collectives).UniqueID()
	if err != nil && strings.Contains(err.Error(), "libnccl") && !strings.Contains(err.Error(), dir) {
		t.Skip("this machine has an NCCL of its own")
	}
	check(t, err, d.Close())
	if len(id) != device.UniqueIDBytes {
		t.Errorf("an ID of %d bytes", len(id))
	}
}

func TestMisuseOfCollectivesIsRefused(t *testing.T) {
	f := drivertest.New(t)
	d := open(t)
	c := d.(device.Collectives)
	id := must(t, c.UniqueID)
	f.Calls()
	for name, err := range map[string]error{
		"a short ID":      second(c.Connect(t.Context(), id[1:], 0, 1)),
		"a negative rank": second(c.Connect(t.Context(), id, -1, 1)),
		"too high a rank": second(c.Connect(t.Context(), id, 2, 2)),
		"no ranks":        second(c.Connect(t.Context(), id, 0, 0)),
	} {
		if err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	if calls := f.Calls(); len(calls) > 1 || calls[0] != "" {
		t.Errorf("the library was called: %q", calls)
	}
	check(t, d.Close())
}

// A GPU that works on after an abort: waiting ends all the same, and so does Close,
// which frees nothing.
func TestAGPUThatDoesNotStopHangsNothing(t *testing.T) {
	f := drivertest.New(t)
	d, c, comm := connected(t, 0, 2)
	s := must(t, d.NewStream)
	p := must(t, func() (device.Pointer, error) { return d.Alloc(16) })
	lost := errors.New("rank 1 was lost")
	c.Abort(comm, lost)
	t.Setenv("FAKE_BUSY", "1000000000")
	f.Calls()
	const stuck = "the GPU did not stop within 5s after its collectives were aborted"
	if err := d.SyncStream(s); !errors.Is(err, lost) || !strings.Contains(err.Error(), stuck) {
		t.Errorf("SyncStream: %v", err)
	}
	f.Calls()
	// What a model does when it is closed, and its device after it.
	for what, err := range map[string]error{"Disconnect": c.Disconnect(comm), "Free": d.Free(p), "FreeStream": d.FreeStream(s), "Sync": d.Sync(), "Close": d.Close()} {
		if what != "Disconnect" && what != "Sync" && (err == nil || !strings.Contains(err.Error(), stuck)) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if calls := f.Calls(); len(calls) > 1 || calls[0] != "" {
		t.Errorf("Close called the driver: %q", calls)
	}
}
