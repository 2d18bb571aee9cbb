package kernels

import (
	"embed"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strings"
)

//go:generate ../../../.venv-nvrtc/bin/python nvrtc.py ptx auto

//go:embed *.ptx
var files embed.FS

// A Type is the type of weights and activations that a module computes with.
type Type string

// The types.
const (
	F32  Type = "f32"
	BF16 Type = "bf16"
	F16  Type = "f16"
)

// Types lists them.
func Types() []Type { return []Type{F32, BF16, F16} }

// Size returns the bytes of an element.
func (t Type) Size() int {
	if t == F32 {
		return 4
	}
	return 2
}

// PTX returns the text of a module in a type.
func PTX(module string, t Type) (string, error) {
	b, err := files.ReadFile(fmt.Sprintf("%s.%s.ptx", module, t))
	if err != nil {
		return "", fmt.Errorf("kernels: there is no module %s for %s", module, t)
	}
	return string(b), nil
}

// Modules returns the names of the modules that exist in a type, sorted.
func Modules(t Type) []string {
	files, err := files.ReadDir(".")
	if err != nil {
		panic("BUG: " + err.Error())
	}
	var names []string
	for _, f := range files {
		if name, ok := strings.CutSuffix(f.Name(), "."+string(t)+".ptx"); ok {
			names = append(names, name)
		}
	}
	return names
}

// entry is how an entry point of PTX begins.
var entry = regexp.MustCompile(`(?m)^\.visible \.entry (\w+)\(`)

// Names returns the names of a module's kernels, from its PTX.
func Names(ptx string) []string {
	var names []string
	for _, m := range entry.FindAllStringSubmatch(ptx, -1) {
		names = append(names, m[1])
	}
	return names
}

// Dropout is the argument of kernels that drop: see trainer/dropout.
type Dropout struct {
	Seed  uint64
	Site  uint32
	Keep  uint32  // of 256; 256: nothing is dropped
	Scale float32 // 256 / Keep
}

// Rows says where the rows of a matrix lie in the batch; see norm.cu. Pointers
// are addresses on the device.
type Rows struct {
	Sequence, Cu, Position, Selected uint64
	N                                int32
}

// Batch is the sequences of a batch; see attention.cu.
type Batch struct {
	Cu, Visible, Position uint64
	Tokens, Heads         int32
}

// Control is the state of the update on the device; see optim.cu. A new one has
// powers and a loss scale of 1 or more, the rest 0.
type Control struct {
	Beta1Power, Beta2Power float64
	Norm, Factor           float32
	LossScale, C1, C2      float32
	Step, Good, Skipped    uint32
}

// Rule is the numbers of the update; see optim.cu.
type Rule struct {
	Beta1, Rest1, Beta2, Rest2, Epsilon, Decay, Rate, Clip float32
	Correct, Growth                                        uint32
}

// A Part is up to [PartSize] elements of one tensor in the flat buffer: what a
// block of the update works on.
type Part struct {
	First     int64
	N, Tensor int32
}

// PartSize is the most elements of a [Part]; its first is a multiple of 64.
const PartSize = 4096

// FlashShared is the bytes of dynamic shared memory that flash_backward and
// flash_backward_keys need: six tiles of 64 rows of 72.
const FlashShared = 6 * 64 * 72 * 2

// Pack lays arguments out as C does, each at a multiple of its alignment: numbers,
// and structs of numbers, which are padded to a multiple of their own.
func Pack(args ...any) []byte {
	var b []byte
	for _, a := range args {
		b = appendValue(b, reflect.ValueOf(a))
	}
	return b
}

func appendValue(b []byte, v reflect.Value) []byte {
	for len(b)%alignment(v.Type()) != 0 {
		b = append(b, 0)
	}
	var bits uint64
	switch {
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			b = appendValue(b, v.Field(i))
		}
		for len(b)%alignment(v.Type()) != 0 {
			b = append(b, 0)
		}
		return b
	case v.CanInt():
		bits = uint64(v.Int())
	case v.CanUint():
		bits = v.Uint()
	case v.Kind() == reflect.Float32:
		bits = uint64(math.Float32bits(float32(v.Float())))
	case v.Kind() == reflect.Float64:
		bits = math.Float64bits(v.Float())
	default:
		panic(fmt.Sprintf("BUG: an argument of type %s", v.Type()))
	}
	for i := range v.Type().Size() {
		b = append(b, byte(bits>>(8*i)))
	}
	return b
}

func alignment(t reflect.Type) int {
	if t.Kind() != reflect.Struct {
		return int(t.Size())
	}
	most := 1
	for i := range t.NumField() {
		most = max(most, alignment(t.Field(i).Type))
	}
	return most
}
