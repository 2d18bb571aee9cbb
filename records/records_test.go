package records

import (
	"encoding/binary"
	"math"
	"testing"

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
