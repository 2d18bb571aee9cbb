// Package torture says how long the tests of faults shall go on: kills, signals,
// damage, full disks and hostile files, of which there is no end.
//
// A plain go test runs a share that fits into a minute or two, the same one each
// time: a change is not refused for what chance finds elsewhere. With
// $PRETEXT_TORTURE set (make torture) the same tests run as long as it takes to
// trust the result, each time on other chances. Their seed is printed by a test
// that fails, and $PRETEXT_SEED repeats it.
//
//	for range torture.Times(t, "PRETEXT_KILLS", 60, 1000) { … }
package torture

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"
)

// Long reports whether tests shall be long.
func Long() bool { return os.Getenv("PRETEXT_TORTURE") != "" }

// Times returns how often a test does what it does: the share in a plain run,
// long under torture, and what the environment variable says where it is set.
func Times(tb testing.TB, variable string, share, long int) int {
	tb.Helper()
	if s := os.Getenv(variable); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			tb.Fatalf("%s: %v", variable, err)
		}
		return n
	}
	if Long() {
		return long
	}
	return share
}

// Random returns a source of chance for a test and logs its seed.
func Random(tb testing.TB) *rand.Rand {
	tb.Helper()
	seed := uint64(1)
	if Long() {
		seed = uint64(time.Now().UnixNano())
	}
	if s := os.Getenv("PRETEXT_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			tb.Fatalf("PRETEXT_SEED: %v", err)
		}
	}
	tb.Logf("PRETEXT_SEED=%d repeats this", seed)
	return rand.New(rand.NewPCG(seed, 0))
}
