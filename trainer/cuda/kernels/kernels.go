package kernels

import (
	"embed"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strings"
)

//go:generate ../../../internal/dev/checks/env.sh nvrtc nvrtc.py ptx auto

//go:embed *.ptx
var files embed.FS

// A Type is the floating-point type that a module uses for weights and activations.
type Type string

// The types for which modules are compiled.
const (
	F32  Type = "f32"
	BF16 Type = "bf16"
	F16  Type = "f16"
)

// Types returns all types for which modules are compiled.
func Types() []Type { return []Type{F32, BF16, F16} }

// Size returns the size of one element in bytes.
func (t Type) Size() int {
	if t == F32 {
		return 4
	}
	return 2
}

// PTX returns the PTX text of the module with the given name, such as "norm",
// compiled for type t.
func PTX(module string, t Type) (string, error) {
	b, err := files.ReadFile(fmt.Sprintf("%s.%s.ptx", module, t))
	if err != nil {
		return "", fmt.Errorf("kernels: there is no module %s for type %s", module, t)
	}
	return string(b), nil
}

// Modules returns the names of the modules that exist for type t, sorted.
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

// entry matches the beginning of a kernel in PTX; its group is the kernel's name.
var entry = regexp.MustCompile(`(?m)^\.visible \.entry (\w+)\(`)

// Names returns the names of all kernels in a PTX text.
func Names(ptx string) []string {
	var names []string
	for _, m := range entry.FindAllStringSubmatch(ptx, -1) {
		names = append(names, m[1])
	}
	return names
}

// Dropout is the argument of kernels that apply dropout. trainer/dropout defines
// which elements are dropped.
type Dropout struct {
	Seed  uint64
	Site  uint32
	Keep  uint32  // an element is kept with probability Keep / 256; 256: nothing is dropped
	Scale float32 // factor of the kept elements, 256 / Keep
}

// Rows is the argument of kernels that maps the rows of a matrix to sequences and
// positions of the batch; norm.cu defines it. Pointers are addresses on the device.
type Rows struct {
	Sequence, Cu, Position, Selected uint64
	N                                int32
}

// Batch is the argument of kernels that describes the sequences of a batch;
// attention.cu defines it.
type Batch struct {
	Cu, Visible, Position uint64
	Tokens, Heads         int32
}

// Control is the state of the optimizer on the device; optim.cu defines it.
// Initially the powers are 1, the loss scale is 1 or more, and the rest is 0.
type Control struct {
	Beta1Power, Beta2Power float64
	Norm, Factor           float32
	LossScale, C1, C2      float32
	Step, Good, Skipped    uint32
}

// Rule holds the constants of an optimizer update, such as the learning rate;
// optim.cu defines it.
type Rule struct {
	Beta1, Rest1, Beta2, Rest2, Epsilon, Decay, Rate, Clip float32
	Correct, Growth                                        uint32
}

// A Part is a range of up to [PartSize] elements of one tensor in the flat buffer
// of all weights. One block of threads updates one Part.
type Part struct {
	First     int64
	N, Tensor int32
}

// PartSize is the maximum number of elements of a [Part]. The index of the first
// element in the flat buffer is a multiple of 64.
const PartSize = 4096

// FlashShared is the dynamic shared memory in bytes that flash_backward and
// flash_backward_keys need: six tiles of 64 rows of 72 elements of 2 bytes.
const FlashShared = 6 * 64 * 72 * 2

// Pack returns the argument bytes of a launch, in the layout of C: each argument is
// at a multiple of its alignment. Arguments are numbers or structs of numbers; the
// size of a struct is padded to a multiple of its alignment.
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
		panic(fmt.Sprintf("BUG: Pack does not support arguments of type %s", v.Type()))
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
