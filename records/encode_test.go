package records

import (
	"bytes"
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestWireFormHasTheseBytes(t *testing.T) {
	e := &Example{
		InputIDs: []int32{5, 300}, InputMask: []int32{1, 1}, SegmentIDs: []int32{0, 1},
		MaskedLMPositions: []int32{1}, MaskedLMIDs: []int32{16384}, MaskedLMWeights: []float32{1},
		NextSentenceLabel: 1,
	}
	want := "\x0a\xc9\x01" + // Example.features, 201 bytes
		"\x0a\x16" + "\x0a\x09input_ids" + "\x12\x09" + "\x1a\x07" + "\x0a\x05" + "\x05\xac\x02"
	want = strings.Replace(want, "\x0a\x16", "\x0a\x14", 1)
	want = strings.Replace(want, "\x12\x09\x1a\x07\x0a\x05", "\x12\x07\x1a\x05\x0a\x03", 1)
	want += "\x0a\x14" + "\x0a\x0ainput_mask" + "\x12\x06" + "\x1a\x04" + "\x0a\x02" + "\x01\x01" +
		"\x0a\x15" + "\x0a\x0bsegment_ids" + "\x12\x06" + "\x1a\x04" + "\x0a\x02" + "\x00\x01" +
		"\x0a\x1c" + "\x0a\x13masked_lm_positions" + "\x12\x05" + "\x1a\x03" + "\x0a\x01" + "\x01" +
		"\x0a\x18" + "\x0a\x0dmasked_lm_ids" + "\x12\x07" + "\x1a\x05" + "\x0a\x03" + "\x80\x80\x01" +
		"\x0a\x1d" + "\x0a\x11masked_lm_weights" + "\x12\x08" + "\x12\x06" + "\x0a\x04" + "\x00\x00\x80\x3f" +
		"\x0a\x1d" + "\x0a\x14next_sentence_labels" + "\x12\x05" + "\x1a\x03" + "\x0a\x01" + "\x01"
	want = strings.Replace(want, "\xc9\x01", string(binary.AppendUvarint(nil, uint64(len(want)-3))), 1)
	if diff := cmp.Diff([]byte(want), e.Append(nil)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWireFormIsThatOfAPlainWriter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := anyExample().Draw(t, "example")
		if rapid.Bool().Draw(t, "negative") {
			e.InputIDs[0] = rapid.Int32Max(-1).Draw(t, "id")
		}
		want := append([]byte("before"), example(entries(e)...)...)
		if got := e.Append([]byte("before")); !bytes.Equal(got, want) {
			t.Fatalf("got  %x\nwant %x", got, want)
		}
	})
}

// anyParts draws the parts of an example, and the example they are of.
func anyParts(t *rapid.T) (*Encoder, Parts, *Example) {
	id := rapid.OneOf(rapid.Int32Range(0, 200), rapid.Int32Range(0, 40000), rapid.Int32Min(0))
	s, p := rapid.IntRange(1, 300).Draw(t, "S"), rapid.IntRange(0, 320).Draw(t, "P")
	tokens, predictions := rapid.IntRange(0, s).Draw(t, "tokens"), rapid.IntRange(0, p).Draw(t, "predictions")
	second := rapid.IntRange(0, tokens).Draw(t, "second")
	e := &Example{
		InputIDs: make([]int32, s), InputMask: make([]int32, s), SegmentIDs: make([]int32, s),
		MaskedLMPositions: make([]int32, p), MaskedLMIDs: make([]int32, p), MaskedLMWeights: make([]float32, p),
		NextSentenceLabel: rapid.Int32Range(0, 1).Draw(t, "label"),
	}
	pad := rapid.OneOf(rapid.Just(int32(0)), id).Draw(t, "pad")
	for i := range s {
		e.InputIDs[i] = pad
	}
	for i := range tokens {
		e.InputIDs[i] = id.Draw(t, "id")
		e.InputMask[i] = 1
		if i >= second {
			e.SegmentIDs[i] = 1
		}
	}
	for i := range predictions {
		e.MaskedLMPositions[i] = rapid.Int32Range(0, 70000).Draw(t, "position")
		e.MaskedLMIDs[i] = id.Draw(t, "masked id")
		e.MaskedLMWeights[i] = 1
	}
	return NewEncoder(s, p, pad), Parts{
		Tokens: tokens, Second: second, Predictions: predictions,
		IDs:        AppendPacked(nil, e.InputIDs[:tokens]),
		Positions:  AppendPacked(nil, e.MaskedLMPositions[:predictions]),
		Labels:     AppendPacked(nil, e.MaskedLMIDs[:predictions]),
		RandomNext: e.NextSentenceLabel == 1,
	}, e
}

func TestPartsAreWrittenAsTheirExample(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		enc, parts, e := anyParts(t)
		want := e.Append([]byte("before"))
		if got := enc.Append([]byte("before"), parts); !bytes.Equal(got, want) {
			t.Fatalf("got  %x\nwant %x", got, want)
		}
	})
}

// TestTheTemplateIsThePlainEncoding compares both encodings, in memory of exactly the
// capacity that Longest returns.
func TestTheTemplateIsThePlainEncoding(t *testing.T) {
	templates := 0
	rapid.Check(t, func(t *rapid.T) {
		enc, parts, _ := anyParts(t)
		if rapid.Bool().Draw(t, "one segment") {
			enc = enc.For(Masked)
		}
		memory := bytes.Repeat([]byte{0xa5}, enc.Longest()+1)
		got, ok := enc.appendMasks(memory[:0:enc.Longest()], parts)
		if !ok {
			return
		}
		templates++
		if want := enc.appendPlain(nil, parts); !bytes.Equal(got, want) {
			t.Fatalf("got  %x\nwant %x", got, want)
		}
		if &got[0] != &memory[0] || memory[enc.Longest()] != 0xa5 {
			t.Fatalf("a payload of %d bytes did not fit %d", len(got), enc.Longest())
		}
	})
	if templates == 0 {
		t.Error("no example fitted the template")
	}
}

func TestPackedListsAreVarints(t *testing.T) {
	values := []int32{0, 1, 127, 128, 16383, 16384, 1<<21 - 1, 1 << 21, 1<<28 - 1}
	for _, more := range [][]int32{nil, {1 << 28}, {math.MaxInt32}, {-1}} {
		all := append(values[:len(values):len(values)], more...)
		var want []byte
		for _, v := range all {
			want = binary.AppendUvarint(want, uint64(int64(v)))
		}
		if got := AppendPacked([]byte("x"), all); !bytes.Equal(got, append([]byte("x"), want...)) {
			t.Errorf("%d: got %x, want %x", all, got, want)
		}
	}
}
