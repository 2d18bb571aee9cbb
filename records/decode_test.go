package records

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func TestDecodeGivesBackWhatWasAppended(t *testing.T) {
	var got Example // used again and again: nothing of an earlier example may stay
	rapid.Check(t, func(t *rapid.T) {
		want := anyExample().Draw(t, "example")
		if err := got.Decode(want.Append(nil)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, &got, cmpopts.EquateNaNs(), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

// variants are other valid encodings of the same example.
func variants(e *Example) map[string][]byte {
	in := entries(e)
	reversed := make([]message, len(in))
	for i, m := range in {
		reversed[len(in)-1-i] = m
	}
	unpacked, long := message{}, []byte{}
	for _, v := range e.InputIDs {
		unpacked = unpacked.varint(1, uint64(v))
		long = append(long, byte(v)|0x80, byte(v>>7)|0x80, byte(v>>14)|0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0)
	}
	floats := message{}
	for _, w := range e.MaskedLMWeights {
		floats = floats.fixed32(1, math.Float32bits(w))
	}
	with := func(i int, m message) []byte {
		out := append([]message{}, in...)
		out[i] = m
		return example(out...)
	}
	key, value := []byte(InputIDs), message{}.bytes(int(KindInt64), packed(e.InputIDs...))
	half := len(e.InputIDs) / 2
	return map[string][]byte{
		"canonical":         example(in...),
		"reversed":          example(reversed...),
		"unpacked":          with(0, entry(InputIDs, KindInt64, unpacked)),
		"unpacked floats":   with(5, entry(MaskedLMWeights, KindFloat, floats)),
		"ten-byte varints":  with(0, entry(InputIDs, KindInt64, message{}.bytes(1, long))),
		"packed in two":     with(0, entry(InputIDs, KindInt64, append(packed(e.InputIDs[:half]...), packed(e.InputIDs[half:]...)...))),
		"value before key":  with(0, message{}.bytes(2, value).bytes(1, key)),
		"value in two":      with(0, message{}.bytes(2, message{}.bytes(3, packed(e.InputIDs[:half]...))).bytes(1, key).bytes(2, message{}.bytes(3, packed(e.InputIDs[half:]...)))),
		"key twice":         with(0, message{}.bytes(1, []byte("other")).bytes(2, value).bytes(1, key)),
		"entry twice":       append(example(entry(InputIDs, KindInt64, packed(1, 2, 3))), example(in...)...),
		"features in two":   append(example(in[:3]...), example(in[3:]...)...),
		"oneof displaced":   with(0, message{}.bytes(1, key).bytes(2, append(message{}.bytes(3, packed(9, 9)).bytes(2, packedFloats(1)), value...))),
		"unknown fields":    append(with(0, message{}.varint(9, 1).bytes(1, key).bytes(7, []byte("x")).bytes(2, value)), message{}.fixed32(4, 1).varint(1, 5)...),
		"another feature":   append(example(in...), example(entry("tokens", KindBytes, message{}.bytes(1, []byte("x"))))...),
		"model garden keys": example(append([]message{entry(inputWordIDs, KindInt64, packed(e.InputIDs...)), in[1], entry(inputTypeIDs, KindInt64, packed(e.SegmentIDs...))}, in[3:]...)...),
	}
}

func TestEveryValidEncodingDecodesToTheSame(t *testing.T) {
	for name, payload := range variants(small()) {
		t.Run(name, func(t *testing.T) {
			var got Example
			if err := got.Decode(payload); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(small(), &got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnEmptyListMayBeLeftOut(t *testing.T) {
	e := small()
	e.MaskedLMPositions, e.MaskedLMIDs, e.MaskedLMWeights = nil, nil, nil
	in := entries(e)
	for i, name := range []string{MaskedLMPositions, MaskedLMIDs, MaskedLMWeights} {
		in[3+i] = message{}.bytes(1, []byte(name)) // a key alone
	}
	var got Example
	if err := got.Decode(example(in...)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(e, &got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDecodeNamesTheFeatureAtFault(t *testing.T) {
	in := entries(small())
	with := func(i int, m message) []byte {
		out := append([]message{}, in...)
		out[i] = m
		return example(out...)
	}
	list := func(content ...byte) message { return entry(InputIDs, KindInt64, message{}.bytes(1, content)) }
	huge := binary.AppendUvarint(nil, 1<<31)
	for name, c := range map[string]struct {
		payload []byte
		want    string
	}{
		"nothing":          {nil, "feature input_ids: missing"},
		"no features":      {message{}.bytes(1, nil), "feature input_ids: missing"},
		"text":             {[]byte("plain text"), "not a tf.train.Example: cut within a field"},
		"zeros":            {make([]byte, 64), "not a tf.train.Example: bad field number"},
		"group":            {[]byte{0x0b, 0x0c}, "not a tf.train.Example: bad wire type"},
		"endless varint":   {bytes.Repeat([]byte{0xff}, 20), "not a tf.train.Example: bad field tag"},
		"cut":              {example(in...)[:200], "not a tf.train.Example: cut within a field"},
		"missing":          {example(append(append([]message{}, in[:4]...), in[5:]...)...), "feature masked_lm_ids: missing"},
		"floats for ids":   {with(0, entry(InputIDs, KindFloat, packedFloats(1, 2))), "feature input_ids: float values, want int64"},
		"ints for weights": {with(5, entry(MaskedLMWeights, KindInt64, packed(1))), "feature masked_lm_weights: int64 values, want float"},
		"bytes for label":  {with(6, entry(NextSentenceLabels, KindBytes, message{}.bytes(1, []byte("1")))), "feature next_sentence_labels: bytes values, want int64"},
		"two labels":       {with(6, entry(NextSentenceLabels, KindInt64, packed(1, 0))), "feature next_sentence_labels: 2 values, want 1"},
		"no label":         {with(6, entry(NextSentenceLabels, KindInt64, packed())), "feature next_sentence_labels: 0 values, want 1"},
		"short":            {with(1, entry(InputMask, KindInt64, packed(1, 1, 1))), "feature input_mask: 3 values where input_ids has 12"},
		"short ids":        {with(0, entry(InputIDs, KindInt64, packed(1, 1, 1))), "feature input_ids: 3 values where input_mask has 12"},
		"long positions":   {with(3, entry(MaskedLMPositions, KindInt64, packed(1, 2, 3, 4))), "feature masked_lm_positions: 4 values where masked_lm_ids has 3"},
		"negative":         {with(0, entry(InputIDs, KindInt64, packed(4, -1))), "feature input_ids: value 1 is negative: -1"},
		"beyond int32":     {with(0, list(huge...)), "feature input_ids: value 0 is beyond 32 bits: 2147483648"},
		"beyond int64":     {with(0, list(bytes.Repeat([]byte{0xff}, 10)...)), "feature input_ids: bad packed int64 list"},
		"cut varint":       {with(0, list(1, 0x80)), "feature input_ids: bad packed int64 list"},
		"cut float":        {with(5, entry(MaskedLMWeights, KindFloat, message{}.bytes(1, []byte{1, 2, 3}))), "feature masked_lm_weights: bad packed float list"},
		"damaged feature":  {with(0, message{}.bytes(1, []byte(InputIDs)).bytes(2, []byte{0x1a, 9})), "feature input_ids: cut within a field"},
		"empty":            {example(entry(InputIDs, KindInt64, nil), entry(InputMask, KindInt64, nil), entry(SegmentIDs, KindInt64, nil), in[3], in[4], in[5], in[6]), "feature input_ids: empty"},
		"too many":         {with(0, list(make([]byte, MaxValues+9)...)), "feature input_ids: more than 1048576 values"},
		"too many weights": {with(5, entry(MaskedLMWeights, KindFloat, message{}.bytes(1, make([]byte, 4*MaxValues+4)))), "feature masked_lm_weights: more than 1048576 values"},
	} {
		t.Run(name, func(t *testing.T) {
			err := new(Example).Decode(c.payload)
			var fe *FeatureError
			if !errors.As(err, &fe) || !errors.Is(err, ErrExample) {
				t.Fatalf("got %v, want a FeatureError", err)
			}
			if err.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}
