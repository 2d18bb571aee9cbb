package records

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// small returns a sound example of 9 tokens in 12 places, 2 of 3 predictions
// used: [CLS] a b c [SEP] d e f [SEP].
func small() *Example {
	return &Example{
		InputIDs:          []int32{101, 1037, 103, 20000, 102, 103, 7, 2, 102, 0, 0, 0},
		InputMask:         []int32{1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0},
		SegmentIDs:        []int32{0, 0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0},
		MaskedLMPositions: []int32{2, 5, 0},
		MaskedLMIDs:       []int32{300, 16384, 0},
		MaskedLMWeights:   []float32{1, 1, 0},
		NextSentenceLabel: 1,
	}
}

// smallRules fit small.
var smallRules = Rules{MaxSeqLength: 12, MaxPredictionsPerSeq: 3, VocabSize: 30522, CLS: 101, SEP: 102}

// message is a slow writer of protocol buffers for tests: fields of a message
// one after the other.
type message []byte

func (m message) bytes(number int, content []byte) message {
	m = binary.AppendUvarint(m, uint64(number)<<3|wireBytes)
	m = binary.AppendUvarint(m, uint64(len(content)))
	return append(m, content...)
}

func (m message) varint(number int, v uint64) message {
	return binary.AppendUvarint(binary.AppendUvarint(m, uint64(number)<<3|wireVarint), v)
}

func (m message) fixed32(number int, v uint32) message {
	m = binary.AppendUvarint(m, uint64(number)<<3|wireFixed32)
	return binary.LittleEndian.AppendUint32(m, v)
}

// packed returns an Int64List.
func packed(values ...int32) message {
	var content []byte
	for _, v := range values {
		content = binary.AppendUvarint(content, uint64(int64(v)))
	}
	if len(values) == 0 {
		return message{}
	}
	return message{}.bytes(1, content)
}

// packedFloats returns a FloatList.
func packedFloats(values ...float32) message {
	var content []byte
	for _, v := range values {
		content = binary.LittleEndian.AppendUint32(content, math.Float32bits(v))
	}
	if len(values) == 0 {
		return message{}
	}
	return message{}.bytes(1, content)
}

// entry returns an entry of the feature map.
func entry(name string, kind Kind, list []byte) message {
	feature := message{}.bytes(int(kind), list)
	return message{}.bytes(1, []byte(name)).bytes(2, feature)
}

// entries returns the entries of e in the order of the format.
func entries(e *Example) []message {
	return []message{
		entry(InputIDs, KindInt64, packed(e.InputIDs...)),
		entry(InputMask, KindInt64, packed(e.InputMask...)),
		entry(SegmentIDs, KindInt64, packed(e.SegmentIDs...)),
		entry(MaskedLMPositions, KindInt64, packed(e.MaskedLMPositions...)),
		entry(MaskedLMIDs, KindInt64, packed(e.MaskedLMIDs...)),
		entry(MaskedLMWeights, KindFloat, packedFloats(e.MaskedLMWeights...)),
		entry(NextSentenceLabels, KindInt64, packed(e.NextSentenceLabel)),
	}
}

// example returns a tf.train.Example of the entries.
func example(entries ...message) []byte {
	var features message
	for _, e := range entries {
		features = features.bytes(1, e)
	}
	return message{}.bytes(1, features)
}

// anyExample draws an example of any values, sound or not.
func anyExample() *rapid.Generator[*Example] {
	return rapid.Custom(func(t *rapid.T) *Example {
		id := rapid.OneOf(rapid.Int32Range(0, 200), rapid.Int32Range(0, 40000), rapid.Int32Min(0))
		s := rapid.IntRange(1, 140).Draw(t, "S")
		p := rapid.IntRange(0, 30).Draw(t, "P")
		list := func(n int, label string) []int32 { return rapid.SliceOfN(id, n, n).Draw(t, label) }
		bit := rapid.Int32Range(0, 1)
		return &Example{
			InputIDs:          list(s, "ids"),
			InputMask:         rapid.SliceOfN(bit, s, s).Draw(t, "mask"),
			SegmentIDs:        list(s, "segments"),
			MaskedLMPositions: list(p, "positions"),
			MaskedLMIDs:       list(p, "labels"),
			MaskedLMWeights:   rapid.SliceOfN(rapid.Float32(), p, p).Draw(t, "weights"),
			NextSentenceLabel: id.Draw(t, "label"),
		}
	})
}

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
	return NewEncoder(s, p), Parts{
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
		"floats for ids":   {with(0, entry(InputIDs, KindFloat, packedFloats(1, 2))), "feature input_ids: float values where int64 is due"},
		"ints for weights": {with(5, entry(MaskedLMWeights, KindInt64, packed(1))), "feature masked_lm_weights: int64 values where float is due"},
		"bytes for label":  {with(6, entry(NextSentenceLabels, KindBytes, message{}.bytes(1, []byte("1")))), "feature next_sentence_labels: bytes values where int64 is due"},
		"two labels":       {with(6, entry(NextSentenceLabels, KindInt64, packed(1, 0))), "feature next_sentence_labels: 2 values where 1 is due"},
		"no label":         {with(6, entry(NextSentenceLabels, KindInt64, packed())), "feature next_sentence_labels: 0 values where 1 is due"},
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
		"too many":         {with(0, list(make([]byte, maxValues+9)...)), "feature input_ids: more than 1048576 values"},
		"too many weights": {with(5, entry(MaskedLMWeights, KindFloat, message{}.bytes(1, make([]byte, 4*maxValues+4)))), "feature masked_lm_weights: more than 1048576 values"},
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

func TestSteadyStateAllocatesNothing(t *testing.T) {
	e := small()
	buf := e.Append(nil)
	var got Example
	if err := got.Decode(buf); err != nil {
		t.Fatal(err)
	}
	buf = make([]byte, 0, 2*len(buf))
	allocs := testing.AllocsPerRun(100, func() {
		buf = e.Append(buf[:0])
		if err := got.Decode(buf); err != nil {
			t.Fatal(err)
		}
		if err := smallRules.Check(&got); err != nil {
			t.Fatal(err)
		}
	})
	if allocs != 0 {
		t.Errorf("got %v allocations, want 0", allocs)
	}
}
