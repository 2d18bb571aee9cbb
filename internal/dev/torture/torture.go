// Package torture sets the length of fault tests: kills, signals, corruption,
// full disks and hostile files, whose number of cases is unlimited.
//
// A plain go test runs a fraction that takes a minute or two, always the same
// cases, so that a change never fails because of an unrelated random case. With
// $PRETEXT_TORTURE set (make torture) the same tests run many more cases, with
// another random seed each time. A failing test prints its seed; $PRETEXT_SEED
// repeats it.
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

// Long reports whether tests should be long.
func Long() bool { return os.Getenv("PRETEXT_TORTURE") != "" }

// Full reports whether tests whose cases are a fixed list or a fixed number of seeds
// should run all of them: if $PRETEXT_FULL is set, as make check does, or in a long
// run. A plain go test runs cases chosen so that each promise is tested once.
func Full() bool { return os.Getenv("PRETEXT_FULL") != "" || Long() }

// Cases returns the number of cases, or the size of one, that a test of a fixed list
// takes: some, or all of them in a full run.
func Cases(some, all int) int {
	if Full() {
		return all
	}
	return some
}

// Times returns the number of repetitions of a test: short in a plain run, and
// long if $PRETEXT_TORTURE is set. The environment variable with the given
// name, if it is set, overrides both.
func Times(tb testing.TB, variable string, short, long int) int {
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
	return short
}

// Random returns a random source for a test and logs its seed.
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
