package stage

import (
	"encoding/json"
	"slices"
	"testing"

	"pretext/sharding"
)

// A folder made with another seed is refused by naming both seeds, also where
// they differ beyond the digits of a float64.
func TestSeedsThatDifferInTheLastDigitAreNamed(t *testing.T) {
	recipe := func(seed string) sharding.Recipe {
		return sharding.Recipe{Stage: "examples", Algorithm: 1, Options: json.RawMessage(`{"random_seed":` + seed + `}`)}
	}
	got := Differences(recipe("9007199254740992"), recipe("9007199254740993"))
	if want := []string{"random_seed was 9007199254740992, now 9007199254740993"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
