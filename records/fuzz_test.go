package records

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// FuzzDecode decodes anything. What decodes must have a canonical form that
// decodes to the same and is reached in one step, Features must agree with
// Decode about what is there, and Check must not panic.
func FuzzDecode(f *testing.F) {
	for _, payload := range variants(small()) {
		f.Add(payload)
	}
	f.Add([]byte("plain text"))
	f.Add(append(small().Append(nil), "\n\x05\n\x03\x12\x010"...)) // a feature without a name, which is cut off
	f.Fuzz(func(t *testing.T, payload []byte) {
		var e, again Example
		err := e.Decode(payload)
		checkFeatures(t, payload, err == nil)
		if err != nil {
			if !errors.Is(err, ErrExample) {
				t.Fatalf("got %v, want an ErrExample", err)
			}
			return
		}
		_ = smallRules.Check(&e)
		canonical := e.Append(nil)
		if err := again.Decode(canonical); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(e, again, cmpopts.EquateNaNs(), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
		if !bytes.Equal(again.Append(nil), canonical) {
			t.Fatal("the canonical form has another canonical form")
		}
	})
}

func checkFeatures(t *testing.T, payload []byte, decodes bool) {
	for f, err := range Features(payload) {
		switch {
		case err != nil && !errors.Is(err, ErrExample):
			t.Fatalf("got %v, want an ErrExample", err)
		case err != nil && decodes && eachFeature(payload, func(_, _ []byte) error { return nil }) != nil:
			t.Fatalf("Decode accepts what is no Example: %v", err)
		case err != nil: // a list that Decode does not read
			return
		}
		if n := len(f.AppendInts(nil)) + len(f.AppendFloats(nil)) + len(f.AppendBytes(nil)); n != f.Count {
			t.Fatalf("feature %s: got %d values, want %d", f.Name, n, f.Count)
		}
	}
}
