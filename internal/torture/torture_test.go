package torture

import (
	"fmt"
	"testing"
)

func Example() {
	for range Times(&testing.B{}, "PRETEXT_KILLS_OF_THE_EXAMPLE", 2, 2) {
		fmt.Println("kill")
	}
	// Output:
	// kill
	// kill
}

func TestTheEnvironmentDecidesHowLong(t *testing.T) {
	t.Setenv("PRETEXT_TORTURE", "")
	t.Setenv("PRETEXT_FULL", "")
	if n := Times(t, "PRETEXT_X", 3, 50); n != 3 || Long() || Full() || Cases(1, 2) != 1 {
		t.Errorf("a share: got %d", n)
	}
	t.Setenv("PRETEXT_FULL", "1")
	if n := Times(t, "PRETEXT_X", 3, 50); n != 3 || Long() || !Full() || Cases(1, 2) != 2 {
		t.Errorf("full: got %d", n)
	}
	t.Setenv("PRETEXT_FULL", "")
	t.Setenv("PRETEXT_TORTURE", "1")
	if n := Times(t, "PRETEXT_X", 3, 50); n != 50 || !Long() || !Full() {
		t.Errorf("torture: got %d", n)
	}
	t.Setenv("PRETEXT_X", "7")
	if n := Times(t, "PRETEXT_X", 3, 50); n != 7 {
		t.Errorf("a number given: got %d", n)
	}
}

func TestASeedRepeats(t *testing.T) {
	t.Setenv("PRETEXT_TORTURE", "")
	if a, b := Random(t).Uint64(), Random(t).Uint64(); a != b {
		t.Errorf("a share: got %d, then %d", a, b)
	}
	t.Setenv("PRETEXT_TORTURE", "1")
	if a, b := Random(t).Uint64(), Random(t).Uint64(); a == b {
		t.Errorf("torture: got %d twice", a)
	}
	t.Setenv("PRETEXT_SEED", "42")
	if a, b := Random(t).Uint64(), Random(t).Uint64(); a != b {
		t.Errorf("got %d, then %d", a, b)
	}
}
