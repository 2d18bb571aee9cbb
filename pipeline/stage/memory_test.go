package stage

import (
	"math"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"
)

func TestSmallHeapsAreCollectedLessOften(t *testing.T) {
	const mb = 1 << 20
	for _, test := range []struct{ live, small, want int64 }{
		{0, 64 * mb, 400}, {4 * mb, 64 * mb, 400}, {16 * mb, 64 * mb, 300}, {20 * mb, 64 * mb, 220}, {31 * mb, 64 * mb, 106}, {32 * mb, 64 * mb, 100},
		{200 * mb, 64 * mb, 100}, {4 * mb, 8 * mb, 100}, {8 * mb, 0, 100},
	} {
		if got := percentFor(test.live, test.small); int64(got) != test.want {
			t.Errorf("%d MB of %d: %d %%, want %d %%", test.live/mb, test.small/mb, got, test.want)
		}
	}
}

// It needs a process of its own: what other tests keep is no small heap.
func TestCollectionsSetThePercentage(t *testing.T) {
	const alone = "STAGE_TEST_COLLECTIONS"
	if os.Getenv(alone) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.count=1")
		cmd.Env = append(os.Environ(), alone+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(math.MaxInt64))
	LimitMemory(4 << 30)
	wait := func(why string, is func(percent uint64) bool) {
		t.Helper()
		now := []metrics.Sample{{Name: "/gc/gogc:percent"}}
		for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
			runtime.GC()
			if metrics.Read(now); is(now[0].Value.Uint64()) {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("%s: %d %%", why, now[0].Value.Uint64())
			}
		}
	}
	large := make([]byte, 64<<20)
	wait("a large heap", func(percent uint64) bool { return percent == gcPercent })
	runtime.KeepAlive(large)
	wait("a small heap", func(percent uint64) bool { return percent > gcPercent })
}
