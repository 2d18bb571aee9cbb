package records

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFeaturesListsAnyExample(t *testing.T) {
	payload := example(
		entry("words", KindBytes, message{}.bytes(1, []byte("a")).bytes(1, nil)),
		entry("numbers", KindInt64, append(packed(1, -2, 3), message{}.varint(1, 4)...)),
		entry("weights", KindFloat, packedFloats(0.5, 2)),
		message{}.bytes(1, []byte("nothing")),
		message{}.bytes(1, []byte("displaced")).bytes(2, message{}.bytes(3, packed(7)).bytes(1, message{}.bytes(1, []byte("z"))).bytes(3, packed(8, 9))),
	)
	var got []string
	for f, err := range Features(payload) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s %v %d: %q %v %v", f.Name, f.Kind, f.Count,
			f.AppendBytes(nil), f.AppendInts(nil), f.AppendFloats(nil)))
	}
	want := []string{
		`words bytes 2: ["a" ""] [] []`,
		`numbers int64 4: [] [1 -2 3 4] []`,
		`weights float 2: [] [] [0.5 2]`,
		`nothing none 0: [] [] []`,
		`displaced int64 2: [] [8 9] []`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFeaturesStopsWhenAskedOrAtTheError(t *testing.T) {
	good := entry("a", KindInt64, packed(1))
	bad := message{}.bytes(1, []byte("b")).bytes(2, []byte{0x1a, 9})
	n := 0
	for range Features(example(good, good)) {
		n++
		break
	}
	if n != 1 {
		t.Errorf("got %d features after break, want 1", n)
	}
	var errs []error
	for _, err := range Features(example(good, bad, good)) {
		errs = append(errs, err)
	}
	if len(errs) != 2 || errs[0] != nil || errs[1] == nil || errs[1].Error() != "feature b: cut within a field" {
		t.Errorf("got %v, want one feature and one error", errs)
	}
}
