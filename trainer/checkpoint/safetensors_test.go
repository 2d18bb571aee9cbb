package checkpoint

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pretext/internal/dev/realdata"
	"pretext/trainer"
)

// file puts a header and data together as the format says.
func file(header string, data []byte) []byte {
	return append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...), data...)
}

func parse(b []byte) (*Safetensors, error) { return NewSafetensors(bytes.NewReader(b), int64(len(b))) }

func TestValuesOfEveryFloatingTypeAreConverted(t *testing.T) {
	values := []float64{0, 1, -2.5, 65504, 6.103515625e-05, 5.960464477539063e-08, math.Inf(1), math.Inf(-1), math.NaN()}
	encode := map[DType]func(dst []byte, v float64) []byte{
		F64: func(dst []byte, v float64) []byte { return binary.LittleEndian.AppendUint64(dst, math.Float64bits(v)) },
		F32: func(dst []byte, v float64) []byte {
			return binary.LittleEndian.AppendUint32(dst, math.Float32bits(float32(v)))
		},
		BF16: func(dst []byte, v float64) []byte {
			return binary.LittleEndian.AppendUint16(dst, uint16(math.Float32bits(float32(v))>>16))
		},
		F16: func(dst []byte, v float64) []byte {
			return binary.LittleEndian.AppendUint16(dst, halves[fmt.Sprint(v)])
		},
	}
	for dtype, f := range encode {
		var data []byte
		for _, v := range values {
			data = f(data, v)
		}
		s, err := parse(file(fmt.Sprintf(`{"x":{"dtype":"%s","shape":[3,3],"data_offsets":[0,%d]}}`, dtype, len(data)), data))
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Float32s("x", nil)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range values {
			want := float32(v)
			if dtype == BF16 {
				want = math.Float32frombits(math.Float32bits(want) &^ 0xffff)
			}
			if got[i] != want && !(math.IsNaN(v) && math.IsNaN(float64(got[i]))) {
				t.Errorf("%s: got %v, want %v", dtype, got[i], want)
			}
		}
	}
}

// halves are the binary16 forms of the values above (IEEE 754).
var halves = map[string]uint16{
	"0": 0, "1": 0x3c00, "-2.5": 0xc100, "65504": 0x7bff, "6.103515625e-05": 0x0400, "5.960464477539063e-08": 1,
	"+Inf": 0x7c00, "-Inf": 0xfc00, "NaN": 0x7e00,
}

func TestDamagedSafetensorsAreRefused(t *testing.T) {
	tensor := func(dtype, shape, at string) string {
		return fmt.Sprintf(`{"dtype":"%s","shape":%s,"data_offsets":%s}`, dtype, shape, at)
	}
	good := tensor("F32", "[2]", "[0,8]")
	cases := []struct {
		name, header string
		data         int
	}{
		{"empty header", "", 0},
		{"an array", "[]", 0},
		{"blank first", ` {"a":` + good + `}`, 8},
		{"text behind", `{"a":` + good + `}x`, 8},
		{"cut", `{"a":` + good, 8},
		{"not UTF-8", "{\"\xff\":" + good + `}`, 8},
		{"name twice", `{"a":` + good + `,"a":` + tensor("F32", "[0]", "[8,8]") + `}`, 8},
		{"key twice", `{"a":{"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 8},
		{"key in capitals", `{"a":{"DTYPE":"F32","shape":[2],"data_offsets":[0,8]}}`, 8},
		{"no shape", `{"a":{"dtype":"F32","data_offsets":[0,8]}}`, 8},
		{"no offsets", `{"a":{"dtype":"F32","shape":[2]}}`, 8},
		{"unknown type", `{"a":` + tensor("F31", "[2]", "[0,8]") + `}`, 8},
		{"negative dimension", `{"a":` + tensor("F32", "[-2]", "[0,8]") + `}`, 8},
		{"fraction", `{"a":` + tensor("F32", "[2.0]", "[0,8]") + `}`, 8},
		{"huge number", `{"a":` + tensor("F32", "[99999999999999999999]", "[0,8]") + `}`, 8},
		{"product overflows", `{"a":` + tensor("F32", "[4294967296,4294967296]", "[0,8]") + `}`, 8},
		{"shape larger than data", `{"a":` + tensor("F32", "[3]", "[0,8]") + `}`, 8},
		{"ends before it begins", `{"a":` + tensor("F32", "[2]", "[8,0]") + `}`, 8},
		{"gap", `{"a":` + good + `,"b":` + tensor("F32", "[1]", "[12,16]") + `}`, 16},
		{"overlap", `{"a":` + good + `,"b":` + tensor("F32", "[2]", "[4,12]") + `}`, 12},
		{"bytes left over", `{"a":` + good + `}`, 12},
		{"data cut", `{"a":` + good + `}`, 4},
		{"metadata not text", `{"__metadata__":{"format":1},"a":` + good + `}`, 8},
		{"three offsets", `{"a":` + tensor("F32", "[2]", "[0,4,8]") + `}`, 8},
	}
	for _, c := range cases {
		if _, err := parse(file(c.header, make([]byte, c.data))); err == nil {
			t.Errorf("%s: accepted", c.name)
		}
	}
	for n := range 16 {
		if _, err := parse(bytes.Repeat([]byte{255}, n)); err == nil {
			t.Errorf("%d bytes of 255: accepted", n)
		}
	}
	if _, err := parse(file(`{"a":`+good+`}   `, make([]byte, 8))); err != nil {
		t.Errorf("padded header: %v", err)
	}
}

func TestWrongUseOfTensorsIsAnError(t *testing.T) {
	s, err := parse(file(`{"f":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"i":{"dtype":"I64","shape":[1],"data_offsets":[4,12]}}`,
		[]byte{0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Float32s("missing", nil); err == nil {
		t.Error("a missing tensor was read")
	}
	if _, err := s.Float32s("i", nil); err == nil {
		t.Error("integers were read as floats")
	}
	if _, err := s.Int32s("f", nil); err == nil {
		t.Error("floats were read as integers")
	}
	if _, err := s.Int32s("i", nil); err == nil {
		t.Error("2^32 was read as 32 bits")
	}
}

func TestWrittenSafetensorsReadBackTheSame(t *testing.T) {
	c := trainer.Config{VocabSize: 7, HiddenSize: 4, Layers: 1, AttentionHeads: 2, IntermediateSize: 6, MaxPositions: 5, Segments: 2, InitializerRange: 1}
	specs := trainer.Tensors(c, trainer.PretrainHeads())
	var b bytes.Buffer
	if err := WriteSafetensors(&b, specs, trainer.InitialWeights(c, trainer.PretrainHeads(), 1)); err != nil {
		t.Fatal(err)
	}
	s, err := parse(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if s.base%8 != 0 {
		t.Errorf("data begins at byte %d, want a multiple of 8", s.base)
	}
	if diff := cmp.Diff(map[string]string{"format": "pt"}, s.Metadata); diff != "" {
		t.Error(diff)
	}
	i := 0
	for want := range trainer.InitialWeights(c, trainer.PretrainHeads(), 1) {
		got, err := s.Float32s(want.Name, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want.Data) || s.Entries[i].Name != want.Name {
			t.Errorf("%s: not what was written", want.Name)
		}
		i++
	}
	if err := WriteSafetensors(&b, specs[1:], trainer.InitialWeights(c, trainer.PretrainHeads(), 1)); err == nil {
		t.Error("other tensors than announced were written")
	}
	if err := WriteSafetensors(&b, append(specs, specs[0]), trainer.InitialWeights(c, trainer.PretrainHeads(), 1)); err == nil {
		t.Error("a name was written twice")
	}
}

func TestOracleWeightsAreTheTensorsOfTheirConfig(t *testing.T) {
	for _, dir := range []string{"oracle/pretrain", "oracle/optim"} {
		s, err := OpenSafetensors(realdata.Path(t, dir+"/model.safetensors"))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		c, err := trainer.ParseConfig(realdata.Read(t, dir+"/config.json"))
		if err != nil {
			t.Fatal(err)
		}
		if want := len(trainer.Tensors(c, trainer.PretrainHeads())); len(s.Entries) != want || s.Metadata["format"] != "pt" {
			t.Errorf("%s: got %d tensors of %d, metadata %v", dir, len(s.Entries), want, s.Metadata)
		}
	}
}

func FuzzSafetensors(f *testing.F) {
	f.Add(file(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, make([]byte, 8)))
	f.Add(file(`{"__metadata__":{"format":"pt"},"b":{"dtype":"I64","shape":[],"data_offsets":[0,8]},"a":{"dtype":"U8","shape":[0,3],"data_offsets":[8,8]}}`, make([]byte, 8)))
	f.Add(file(`{"\u0041<&":{"dtype":"BF16","shape":[1,2],"data_offsets":[0,4]}} `, []byte{1, 2, 3, 4}))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := parse(b)
		if err != nil {
			return
		}
		head, err := appendHeader(nil, s.Metadata, s.Entries)
		if err != nil {
			t.Fatalf("writing what was read: %v", err)
		}
		again, err := parse(append(head, b[s.base:]...))
		if err != nil {
			t.Fatalf("reading what was written: %v\n%s", err, head)
		}
		if diff := cmp.Diff(s.Entries, again.Entries); diff != "" {
			t.Fatal(diff)
		}
		if diff := cmp.Diff(s.Metadata, again.Metadata); diff != "" {
			t.Fatal(diff)
		}
		for _, e := range s.Entries {
			x, err := s.Float32s(e.Name, nil)
			if err == nil && int64(len(x)) != e.Elements() {
				t.Fatalf("%q: %d elements of %d", e.Name, len(x), e.Elements())
			}
		}
	})
}

func TestErrorsNameTheTensor(t *testing.T) {
	_, err := parse(file(`{"some.weight":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}}`, make([]byte, 8)))
	if err == nil || !strings.Contains(err.Error(), `"some.weight"`) {
		t.Errorf("got %v", err)
	}
}

func BenchmarkFloat32s(b *testing.B) {
	data := make([]byte, 4<<20)
	s, err := parse(file(fmt.Sprintf(`{"a":{"dtype":"F32","shape":[%d],"data_offsets":[0,%d]}}`, len(data)/4, len(data)), data))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	var dst []float32
	for b.Loop() {
		if dst, err = s.Float32s("a", dst); err != nil {
			b.Fatal(err)
		}
	}
}

// encoding/json refuses NaN, so such a state must not be taken for a saved one.
func TestWhatIsNoJSONIsNotSaved(t *testing.T) {
	if err := new(folder).writeJSON("state.json", math.NaN()); err == nil {
		t.Error("NaN was written")
	}
}
