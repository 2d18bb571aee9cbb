package pyrepr_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"testing"
	"unicode/utf8"

	"pretext/trainer/finetune/internal/pyrepr"
)

// The values on the right are CPython 3.11's repr and numpy 2's str of float32.
func TestNumbersAreWrittenAsPythonDoes(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0.0", 1: "1.0", -1.5: "-1.5", 0.1: "0.1", 1e-4: "0.0001", 9.9e-5: "9.9e-05", 1e15: "1000000000000000.0", 1e16: "1e+16", 123456789.125: "123456789.125",
		5e-324: "5e-324", 0.30000000000000004: "0.30000000000000004", math.Inf(-1): "-Infinity", math.Inf(1): "Infinity", math.Copysign(0, -1) + 2.5: "2.5",
	} {
		if got := string(pyrepr.AppendFloat(nil, v, 64)); got != want {
			t.Errorf("repr(%v) = %s, want %s", v, got, want)
		}
	}
	if got := string(pyrepr.AppendFloat(nil, float64(float32(0.1)), 32)); got != "0.1" {
		t.Errorf("float32 0.1: got %s", got)
	}
	if got := string(pyrepr.AppendFloat(nil, math.NaN(), 64)); got != "NaN" {
		t.Errorf("NaN: got %s", got)
	}
}

func FuzzWhatIsWrittenIsReadBack(f *testing.F) {
	f.Add(0.1, "a\"\\\n\u2028😀\x7f")
	f.Add(1e300, "\b\f\r\t\x00")
	f.Fuzz(func(t *testing.T, v float64, s string) {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			got, err := strconv.ParseFloat(string(pyrepr.AppendFloat(nil, v, 64)), 64)
			if err != nil || got != v {
				t.Errorf("%v became %v, %v", v, got, err)
			}
		}
		if !utf8.ValidString(s) {
			return
		}
		b := pyrepr.AppendString(nil, s)
		var got string
		if err := json.Unmarshal(b, &got); err != nil || got != s {
			t.Errorf("%q became %q, %v", s, got, err)
		}
		for _, c := range b {
			if c < ' ' || c > '~' {
				t.Fatalf("%q holds %q", b, c)
			}
		}
	})
}

func Example() {
	fmt.Printf("%s: %s\n", pyrepr.AppendString(nil, "né"), pyrepr.AppendFloat(nil, 1e-5, 64))
	// Output: "n\u00e9": 1e-05
}
