package torchfile

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTensorsOfTorch reads a file that PyTorch 1.13 wrote (testdata/make.py): whole
// tensors, views in any order, and every floating type.
func TestTensorsOfTorch(t *testing.T) {
	var want map[string]struct {
		Shape  []int64
		Values []float64
	}
	b, err := os.ReadFile("testdata/tensors.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &want); err != nil {
		t.Fatal(err)
	}
	f, err := Open("testdata/tensors.bin")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if len(f.Tensors) != len(want) {
		t.Errorf("%d tensors, want %d", len(f.Tensors), len(want))
	}
	for _, tensor := range f.Tensors {
		w := want[tensor.Name]
		if !slices.Equal(tensor.Shape, w.Shape) {
			t.Errorf("%s: shape %v, want %v", tensor.Name, tensor.Shape, w.Shape)
		}
		got := []float64{}
		err := f.Read(tensor, func(i int64, b []byte) {
			if i != int64(len(got)) {
				t.Fatalf("%s: element %d comes as number %d", tensor.Name, i, len(got))
			}
			got = append(got, value(t, tensor.DType, b))
		})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(w.Values, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tensor.Name, diff)
		}
	}
}

// value converts an element of the types in testdata.
func value(t *testing.T, dtype string, b []byte) float64 {
	switch dtype {
	case "F32":
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	case "F64":
		return math.Float64frombits(binary.LittleEndian.Uint64(b))
	case "I64":
		return float64(int64(binary.LittleEndian.Uint64(b)))
	case "BF16":
		return float64(math.Float32frombits(uint32(binary.LittleEndian.Uint16(b)) << 16))
	case "F16": // those of testdata are normal numbers
		h := binary.LittleEndian.Uint16(b)
		v := (1 + float64(h&1023)/1024) * math.Pow(2, float64(h>>10&31)-15)
		if h>>15 == 1 {
			v = -v
		}
		return v
	}
	t.Fatalf("type %s", dtype)
	return 0
}

func TestAStateDictionaryHasItsTensors(t *testing.T) {
	f, err := Open("testdata/state_dict.bin")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var names []string
	for _, tensor := range f.Tensors {
		names = append(names, fmt.Sprint(tensor.Name, tensor.Shape))
	}
	if diff := cmp.Diff([]string{"weight[2 3]", "bias[2]"}, names); diff != "" {
		t.Error(diff)
	}
}

func TestOtherFilesOfTorchAreRefusedWithTheCure(t *testing.T) {
	for file, want := range map[string]string{
		"module.bin":     `it would run "torch.nn.modules.linear.Linear"`,
		"checkpoint.bin": `"state_dict", a dictionary; "epoch"`,
		"tensor.bin":     "a single tensor: save the dictionary",
		"legacy.bin":     "before 1.6: load it once with torch.load",
		"expanded.bin":   "save it with .clone()",
	} {
		_, err := Open(filepath.Join("testdata", file))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", file, err, want)
		}
		if file != "expanded.bin" && !errors.Is(err, ErrFormat) {
			t.Errorf("%s: %v does not match ErrFormat", file, err)
		}
	}
}

// An archive is a file in torch's format, made entry by entry.
type archive struct {
	pickle   string
	storages map[string][]byte
	extra    func(*zip.Writer)
	method   uint16 // of compression
}

func (a archive) bytes(t testing.TB) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	add := func(name string, data []byte) {
		e, err := w.CreateHeader(&zip.FileHeader{Name: "archive/" + name, Method: a.method})
		if err == nil {
			_, err = e.Write(data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	add("data.pkl", []byte(a.pickle))
	for key, data := range a.storages {
		add("data/"+key, data)
	}
	if a.extra != nil {
		a.extra(w)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func parse(b []byte) (*File, error) { return New(bytes.NewReader(b), int64(len(b))) }

// Parts of a pickle.
func text(s string) string {
	return "X" + string(binary.LittleEndian.AppendUint32(nil, uint32(len(s)))) + s
}

func integer(n int64) string {
	return "\x8a\x08" + string(binary.LittleEndian.AppendUint64(nil, uint64(n)))
}

func tuple(items ...string) string { return "(" + strings.Join(items, "") + "t" }

func integersOf(n []int64) string {
	var items []string
	for _, v := range n {
		items = append(items, integer(v))
	}
	return tuple(items...)
}

// view is the pickle of a tensor on the storage "0" of so many floats.
func view(elements, offset int64, shape, stride []int64) string {
	id := tuple(text("storage"), "ctorch\nFloatStorage\n", text("0"), text("cpu"), integer(elements)) + "Q"
	return "ctorch._utils\n_rebuild_tensor_v2\n" + tuple(id, integer(offset), integersOf(shape), integersOf(stride), "\x89", "N") + "R"
}

// dictionary is the pickle of {"w": value}.
func dictionary(value string) string { return "\x80\x02}(" + text("w") + value + "u." }

var fourFloats = map[string][]byte{"0": []byte("sixteen bytes...")}

func TestHostileFilesAreRefused(t *testing.T) {
	good := dictionary(view(4, 0, []int64{2, 2}, []int64{2, 1}))
	if _, err := parse(archive{pickle: good, storages: fourFloats}.bytes(t)); err != nil {
		t.Fatal(err)
	}
	run := "cos\nsystem\n" + tuple(text("touch /tmp/owned")) + "R"
	for _, test := range []struct {
		name   string
		pickle string
		want   string
	}{
		{"a command", dictionary(run), `would run "os.system"`},
		{"a command by STACK_GLOBAL", dictionary(text("posix") + text("system") + "\x93" + tuple(text("id")) + "R"), `would run "posix.system"`},
		{"a command by INST", dictionary("(" + text("id") + "ios\nsystem\n"), "instruction 0x69"},
		{"a command by NEWOBJ", dictionary("csubprocess\nPopen\n" + tuple(text("id")) + "\x81"), `would run "subprocess.Popen"`},
		{"an extension", dictionary("\x82\x01"), "instruction 0x82"},
		{"a class of storages that is none", dictionary("ctorch\nload\n"), `would run "torch.load"`},
		{"attributes of a tensor", dictionary(view(4, 0, []int64{4}, []int64{1}) + "}b"), "attributes"},
		{"OrderedDict of a list", dictionary("ccollections\nOrderedDict\n" + tuple("]") + "R"), "arguments that torch.save never writes"},
		{"a long name", dictionary("c" + strings.Repeat("x", 10000) + "\ny\n"), "and so on"},
		{"deeply nested tuples as a key", "}(" + "N" + strings.Repeat("\x85", 1<<20) + "Nu.", "is a list, not a name"},
		{"a list in itself", "}(]q\x00h\x00aNu.", "is a list, not a name"},
		{"no pickle", "", "ends early"},
		{"no end", "}", "ends early"},
		{"an empty stack", ".", "stack is empty"},
		{"a value never stored", "h\x07.", "was never set"},
		{"a string beyond the end", "X\xff\xff\xff\xff.", "ends early"},
		{"a string of 2⁶⁴ bytes", "\x8d\xff\xff\xff\xff\xff\xff\xff\xff.", "ends early"},
		{"a name twice", "}(" + text("w") + "N" + text("w") + "Nu.", "appears twice"},
		{"a storage that is not there", strings.Replace(good, text("0"), text("1"), 1), `no storage "1"`},
		{"a storage of another size", dictionary(view(5, 0, []int64{4}, []int64{1})), "has 16 bytes, expected 20"},
		{"a storage of 2⁶² elements", dictionary(view(1<<62, 0, []int64{4}, []int64{1})), "offset 0 in a storage"},
		{"a storage of -1 elements", dictionary(view(-1, 0, []int64{4}, []int64{1})), "lacks its class, key or size"},
		{"a shape of 2⁶² elements", dictionary(view(4, 0, []int64{1 << 31, 1 << 31}, []int64{0, 0})), "in a storage of 4"},
		{"a shape whose size overflows to 4", dictionary(view(4, 0, []int64{1 << 32, 1 << 32, 4}, []int64{0, 0, 1})), "in a storage of 4"},
		{"a negative shape", dictionary(view(4, 0, []int64{-1, -4}, []int64{1, 1})), "negative"},
		{"a negative stride", dictionary(view(4, 3, []int64{4}, []int64{-1})), "negative"},
		{"a negative offset", dictionary(view(4, -1, []int64{4}, []int64{1})), "offset -1"},
		{"an offset beyond the end", dictionary(view(4, 3, []int64{2}, []int64{1})), "beyond the end"},
		{"an offset at the end", dictionary(view(4, 4, []int64{1}, []int64{1})), "beyond the end"},
		{"strides beyond the end", dictionary(view(4, 0, []int64{2, 2}, []int64{3, 1})), "beyond the end"},
		{"a stride of 2⁶³-1", dictionary(view(4, 0, []int64{2, 2}, []int64{math.MaxInt64, 1})), "beyond the end"},
		{"fewer strides", dictionary(view(4, 0, []int64{2, 2}, []int64{1})), "2 dimensions and 1 strides"},
		{"many dimensions", dictionary(view(4, 0, make([]int64, 100), make([]int64, 100))), "not a tuple, or too long"},
		{"an integer of nine bytes", "\x8a\x09123456789.", "9 bytes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := parse(archive{pickle: test.pickle, storages: fourFloats}.bytes(t))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
			if err != nil && len(err.Error()) > 1000 {
				t.Errorf("a message of %d bytes", len(err.Error()))
			}
		})
	}
}

func TestHostileArchivesAreRefused(t *testing.T) {
	good := archive{pickle: dictionary(view(4, 0, []int64{4}, []int64{1})), storages: fourFloats}
	entry := func(name string, data []byte) func(*zip.Writer) {
		return func(w *zip.Writer) {
			e, err := w.CreateHeader(&zip.FileHeader{Name: name})
			if err != nil {
				t.Fatal(err)
			}
			e.Write(data)
		}
	}
	with := func(change func(*archive)) []byte {
		a := good
		change(&a)
		return a.bytes(t)
	}
	whole := good.bytes(t)
	flipped := bytes.Clone(whole)
	at := bytes.Index(flipped, fourFloats["0"])
	flipped[at+5] ^= 1
	for _, test := range []struct {
		name string
		file []byte
		want string
	}{
		{"a compressed bomb", with(func(a *archive) { a.method = zip.Deflate }), "is compressed"},
		{"two pickles", with(func(a *archive) { a.extra = entry("other/data.pkl", nil) }), "two pickles"},
		{"an entry twice", with(func(a *archive) { a.extra = entry("archive/data/0", make([]byte, 16)) }), "appears twice"},
		{"big-endian", with(func(a *archive) { a.extra = entry("archive/byteorder", []byte("big")) }), `byte order "big"`},
		{"a pickle of 5 MiB", with(func(a *archive) { a.pickle = strings.Repeat("N", 5<<20) }), "more than"},
		{"no pickle", func() []byte {
			var b bytes.Buffer
			w := zip.NewWriter(&b)
			entry("archive/data/0", nil)(w)
			w.Close()
			return b.Bytes()
		}(), "without data.pkl"},
		{"storages that overlap", overlapping(t), "overlap"},
		{"truncated", whole[:len(whole)-30], "zip"},
		{"empty", nil, "not a zip archive"},
		{"a pointer of Git LFS", []byte("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n"), "git lfs pull"},
		{"a tar archive", append(make([]byte, 257), "ustar\x0000 "...), "tar archive"},
		{"a bare pickle", []byte("\x80\x04}."), "bare pickle"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := parse(test.file); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
	f, err := parse(flipped)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Read(f.Tensors[0], func(int64, []byte) {}); err == nil || !strings.Contains(err.Error(), "checksum") {
		t.Errorf("a changed byte: got %v", err)
	}
}

// overlapping is an archive whose directory gives two storages the same bytes.
func overlapping(t *testing.T) []byte {
	two := strings.Replace(view(4, 0, []int64{4}, []int64{1}), text("0"), text("1"), 1)
	pickle := "}(" + text("a") + view(4, 0, []int64{4}, []int64{1}) + text("b") + two + "u."
	b := archive{pickle: pickle, storages: map[string][]byte{"0": make([]byte, 16), "1": make([]byte, 16)}}.bytes(t)
	// The places of the local headers are at byte 42 of the directory's entries, the names at 46.
	first, second := bytes.LastIndex(b, []byte("archive/data/0")), bytes.LastIndex(b, []byte("archive/data/1"))
	copy(b[first-4:first], b[second-4:second])
	return b
}

func FuzzNew(f *testing.F) {
	for _, name := range []string{"tensors.bin", "state_dict.bin", "module.bin", "expanded.bin"} {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		file, err := parse(b)
		if err != nil {
			return
		}
		for _, tensor := range file.Tensors {
			n := int64(0)
			err := file.Read(tensor, func(i int64, e []byte) {
				if i != n || int64(len(e)) != tensor.storage.kind.size {
					t.Fatalf("element %d of %d bytes as number %d", i, len(e), n)
				}
				n++
			})
			if err == nil && n != tensor.Elements() {
				t.Fatalf("%d elements of %v", n, tensor.Shape)
			}
		}
	})
}

func FuzzUnpickle(f *testing.F) {
	f.Add([]byte(dictionary(view(4, 0, []int64{2, 2}, []int64{1, 2}))))
	f.Add([]byte(dictionary("cos\nsystem\n" + tuple(text("id")) + "R")))
	f.Add([]byte("\x80\x04\x95\x00\x00\x00\x00\x00\x00\x00\x00}\x94(\x8c\x01wNu."))
	f.Fuzz(func(t *testing.T, code []byte) {
		tensors, err := unpickle(code)
		if err != nil {
			return
		}
		for _, tensor := range tensors {
			if tensor.check() == nil && tensor.Elements() > tensor.storage.elements {
				t.Fatalf("%v in a storage of %d elements", tensor.Shape, tensor.storage.elements)
			}
		}
	})
}
