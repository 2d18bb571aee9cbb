package failure_test

import (
	"errors"
	"testing"

	"pretext/internal/failure"
)

func TestNewerVersionsAreUsageErrors(t *testing.T) {
	for got, want := range map[string]int{"PTDEFS2\n": 0, "PTDEFS1\n": 0, "PTDEFS3\n": 3, "PTDEFS9\nmore": 9, "PTDEFSx\n": 0, "PTDEFS3": 0, "XTDEFS3\n": 0, "": 0} {
		err := failure.CheckMagic(got, "PTDEFS2\n")
		newer := (*failure.Newer)(nil)
		if errors.As(err, &newer) != (want > 0) || want > 0 && newer.Version != want {
			t.Errorf("%q: got %v, want version %d", got, err, want)
		}
	}
	err := failure.CheckVersion(3, 2)
	var usage interface{ Usage() bool }
	var damaged interface{ Damaged() bool }
	const want = "written by a newer pretext: format version 3, this program knows up to 2: install a newer one"
	if !errors.As(err, &usage) || errors.As(err, &damaged) || err.Error() != want || failure.CheckVersion(2, 2) != nil {
		t.Errorf("got %v", err)
	}
}
