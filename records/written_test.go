package records

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"pretext/internal/dev/torture"
)

// checkWritten decodes a payload as a form with both readers. Both must give the same
// values, or the same error. It returns whether the reader of written payloads took it.
func checkWritten(t *testing.T, f Form, payload []byte) bool {
	t.Helper()
	var got, want Example
	lists, wanted := f.Lists(), f.wanted()
	ok, err := got.decodeWritten(lists, &wanted, payload)
	if !ok {
		return false
	}
	plain := want.decodeFields(lists, wanted, payload)
	if (err == nil) != (plain == nil) || err != nil && err.Error() != plain.Error() {
		t.Fatalf("%s: %x: got error %v, want %v", f, payload, err, plain)
	}
	canonical, _ := new(Example).DecodeCanonical(f, payload)
	if again := []byte(nil); canonical {
		if again = got.AppendForm(nil, f); !bytes.Equal(again, payload) {
			t.Fatalf("%s: %x is called canonical, is written as %x", f, payload, again)
		}
	}
	if err == nil && !cmp.Equal(got, want, cmpopts.EquateNaNs(), cmpopts.EquateEmpty()) {
		t.Fatalf("%s: %x: got %v, want %v", f, payload, got, want)
	}
	if found, err := FormOf(payload); err != nil || f == Pairs && found != Pairs {
		t.Fatalf("%s: %x: has the form %q, %v", f, payload, found, err)
	}
	return true
}

func TestWrittenPayloadsAreReadAsAnyOthers(t *testing.T) {
	for _, f := range forms {
		if !checkWritten(t, f, smallOf(f).AppendForm(nil, f)) {
			t.Errorf("%s: the general reader reads what AppendForm writes", f)
		}
	}
	long := full(512, 76).Append(nil)
	if !checkWritten(t, Pairs, long) {
		t.Error("the general reader reads examples of 512 tokens")
	}
}

// What AppendForm writes is known to be canonical, whatever the values; a varint, a length
// or an empty list that is written with more bytes is not.
func TestWhatIsCanonical(t *testing.T) {
	for _, f := range forms {
		if ok, err := new(Example).DecodeCanonical(f, smallOf(f).AppendForm(nil, f)); !ok || err != nil {
			t.Errorf("%s: not canonical, %v", f, err)
		}
	}
	var e Example
	e.InputIDs = []int32{5, 0, 1 << 7, 1 << 14, 0, 127, 1 << 21, 1}
	payload := e.AppendForm(nil, Tokens)
	if ok, err := e.DecodeCanonical(Tokens, payload); !ok || err != nil {
		t.Errorf("%x: not canonical, %v", payload, err)
	}
	// Two more bytes in each of the five lengths, and the value 5 in three bytes.
	longer := func(b []byte, at int) []byte { return slices.Insert(slices.Clone(b), at+1, 0x80, 0x00) }
	for at := range payload {
		if payload[at] >= 0x80 {
			continue
		}
		changed := longer(payload, at)
		changed[at] |= 0x80
		if ok, _ := e.DecodeCanonical(Tokens, changed); ok {
			t.Errorf("%x: a longer varint at byte %d is called canonical", changed, at)
		}
	}
	for offset := range 20 { // a byte 0 after a high one, wherever it is in a word
		b := bytes.Repeat([]byte{1}, 32)
		b[offset], b[offset+1] = 0x80, 0
		if shortest(b) || !shortest(append(b[:offset:offset], 0, 1, 0x80, 1)) {
			t.Errorf("offset %d", offset)
		}
	}
}

// Damage that leaves the structure alone is decoded, any other is left to the general
// reader: never does what is read differ.
func TestDamageIsReadAsByTheGeneralReader(t *testing.T) {
	taken := 0
	cases := torture.Cases(100_000, 1_000_000)
	for seed := range uint64(cases) {
		rng := rand.New(rand.NewPCG(seed, 3))
		f := forms[rng.IntN(len(forms))]
		payload := smallOf(f).AppendForm(nil, f)
		for range 1 + rng.IntN(2) {
			at := rng.IntN(len(payload))
			switch rng.IntN(4) {
			case 0:
				payload = slices.Delete(payload, at, at+1)
			case 1:
				payload = slices.Insert(payload, at, byte(rng.Uint32()))
			case 2:
				payload[at] ^= 1 << rng.IntN(8)
			default:
				payload[at] = byte(rng.Uint32())
			}
		}
		if len(payload) > 0 && checkWritten(t, f, payload) {
			taken++
		}
	}
	if taken < cases/50 || taken > cases/2 {
		t.Errorf("%d of %d damaged payloads have the structure of written ones", taken, cases)
	}
}

func FuzzWritten(f *testing.F) {
	for _, form := range forms {
		f.Add(smallOf(form).AppendForm(nil, form))
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		for _, form := range forms {
			checkWritten(t, form, payload)
		}
	})
}
