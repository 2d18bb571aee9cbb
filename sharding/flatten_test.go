package sharding

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOptionsAreFlattenedWithTheirDigits(t *testing.T) {
	tests := map[string]map[string]string{
		`{"a":{"b":1,"c":"x"},"d":[1,2],"e":true}`: {"a.b": "1", "a.c": `"x"`, "d": "[1,2]", "e": "true"},
		`{"seed":9007199254740993}`:                {"seed": "9007199254740993"}, // more than a float64 holds
		`{"share":0.10}`:                           {"share": "0.10"},
		`{}`:                                       {},
		`not JSON`:                                 {},
	}
	for raw, want := range tests {
		if diff := cmp.Diff(want, FlattenOptions(json.RawMessage(raw))); diff != "" {
			t.Errorf("%s: %s", raw, diff)
		}
	}
}
