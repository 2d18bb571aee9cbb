package checkpoint

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/klauspost/compress/snappy"

	"pretext/internal/dev/realdata"
	"pretext/trainer"
)

const toy = "models/bert-toy-tf/bert_model.ckpt"

func TestATensorFlowCheckpointEqualsItsConversion(t *testing.T) {
	realdata.Path(t, toy+".index")
	p, err := OpenTensorFlow(filepath.Join(realdata.Root(), filepath.FromSlash(toy)))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	want, err := OpenSafetensors(realdata.Path(t, "models/bert-toy-safetensors/model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	defer want.Close()
	if len(p.Names()) != len(want.Entries) || len(p.Names()) != 46 {
		t.Errorf("%d tensors, want %d", len(p.Names()), len(want.Entries))
	}
	for got, err := range p.Tensors() {
		if err != nil {
			t.Fatal(err)
		}
		w, err := want.Float32s(got.Name, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.Data, w) {
			t.Errorf("%s differs", got.Name)
		}
	}
	if p.Config.Activation != trainer.GELUNew {
		t.Errorf("activation %q, want Google's tanh form", p.Config.Activation)
	}
	h, err := p.Heads()
	if err != nil || h != trainer.PretrainHeads() {
		t.Errorf("heads %+v, %v", h, err)
	}
}

func TestSlotsOfATrainingCheckpointAreItsMoments(t *testing.T) {
	realdata.Path(t, toy+".index")
	p, err := OpenTensorFlow(filepath.Join(realdata.Root(), filepath.FromSlash(toy)))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	entries, err := parseBundleIndex(realdata.Read(t, toy+".index"))
	if err != nil {
		t.Fatal(err)
	}
	data := realdata.Read(t, toy+".data-00000-of-00001")
	for kind, slot := range map[trainer.Kind]string{trainer.FirstMoment: "/adam_m", trainer.SecondMoment: "/adam_v"} {
		n := 0
		for got, err := range p.Moments(kind) {
			if err != nil {
				t.Fatal(err)
			}
			n++
			google, transpose := trainer.GoogleName(got.Name)
			e, ok := findVariable(entries, google+slot)
			if !ok {
				t.Fatalf("no variable %s", google+slot)
			}
			for i, v := range got.Data {
				j := i
				if transpose {
					j = i%got.Shape[1]*got.Shape[0] + i/got.Shape[1]
				}
				if want := math.Float32frombits(binary.LittleEndian.Uint32(data[int(e.offset)+4*j:])); v != want {
					t.Fatalf("%s, element %d: got %v, want %v", got.Name, i, v, want)
				}
			}
		}
		if n != len(p.Names()) {
			t.Errorf("%d tensors of %v, want %d", n, kind, len(p.Names()))
		}
	}
	e, ok := findVariable(entries, "global_step")
	step, has := p.Step()
	if ok != has || ok && step != int64(binary.LittleEndian.Uint64(data[e.offset:])) {
		t.Errorf("step %d, %v; in the index %v", step, has, ok)
	}
}

// copyToy copies the toy checkpoint to a folder and changes one file of it.
func copyToy(t *testing.T, name string, change func([]byte) []byte) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range []string{"bert_config.json", "bert_model.ckpt.index", "bert_model.ckpt.data-00000-of-00001"} {
		b := realdata.Read(t, "models/bert-toy-tf/"+f)
		if f == name {
			b = change(b)
		}
		if err := os.WriteFile(filepath.Join(dir, f), b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "bert_model.ckpt")
}

func readAll(prefix string) error {
	p, err := OpenTensorFlow(prefix)
	if err != nil {
		return err
	}
	defer p.Close()
	for _, err := range p.Tensors() {
		if err != nil {
			return err
		}
	}
	return nil
}

func TestDamageInATensorFlowCheckpointIsFound(t *testing.T) {
	flip := func(at int) func([]byte) []byte {
		return func(b []byte) []byte {
			if at < 0 {
				at += len(b)
			}
			b[at] ^= 4
			return b
		}
	}
	half := func(b []byte) []byte { return b[:len(b)/2] }
	index, data := "bert_model.ckpt.index", "bert_model.ckpt.data-00000-of-00001"
	for name, prefix := range map[string]string{
		"index flipped":  copyToy(t, index, flip(100)),
		"footer flipped": copyToy(t, index, flip(-45)),
		"magic flipped":  copyToy(t, index, flip(-3)),
		"index cut":      copyToy(t, index, half),
		"data flipped":   copyToy(t, data, flip(55)),
		"data cut":       copyToy(t, data, half),
		"config broken":  copyToy(t, "bert_config.json", half),
		"nothing there":  filepath.Join(t.TempDir(), "bert_model.ckpt"),
	} {
		if err := readAll(prefix); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if err := readAll(copyToy(t, "", nil)); err != nil {
		t.Errorf("copied: %v", err)
	}
}

// bundleIndex writes an index file of one block, as a table writer would.
func bundleIndex(entries map[string][]byte, compress bool) []byte {
	var out []byte
	block := func(b []byte) (offset, size int) {
		kind := byte(0)
		if compress {
			b, kind = snappy.Encode(nil, b), 1
		}
		offset, size = len(out), len(b)
		out = append(append(out, b...), kind)
		c := crc32.Checksum(out[offset:], castagnoli)
		out = binary.LittleEndian.AppendUint32(out, (c>>15|c<<17)+0xa282ead8)
		return offset, size
	}
	table := func(keys []string, values map[string][]byte) (b []byte) {
		last := ""
		for _, k := range keys {
			shared := 0
			for shared < min(len(k), len(last)) && k[shared] == last[shared] {
				shared++
			}
			b = binary.AppendUvarint(b, uint64(shared))
			b = binary.AppendUvarint(b, uint64(len(k)-shared))
			b = binary.AppendUvarint(b, uint64(len(values[k])))
			b = append(append(b, k[shared:]...), values[k]...)
			last = k
		}
		return append(b, 0, 0, 0, 0, 1, 0, 0, 0) // one restart, at 0
	}
	var keys []string
	for k := range entries {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	offset, size := block(table(keys, entries))
	handle := binary.AppendUvarint(binary.AppendUvarint(nil, uint64(offset)), uint64(size))
	offset, size = block(table([]string{"z"}, map[string][]byte{"z": handle}))
	foot := binary.AppendUvarint(binary.AppendUvarint([]byte{0, 0}, uint64(offset)), uint64(size))
	foot = append(foot, make([]byte, 40-len(foot))...)
	return append(out, binary.LittleEndian.AppendUint64(foot, bundleMagic)...)
}

// description is a BundleEntryProto of a 2×3 matrix of floats.
var description = []byte{
	0x08, 1, // float
	0x12, 8, 0x12, 2, 0x08, 2, 0x12, 2, 0x08, 3, // 2×3
	0x20, 5, 0x28, 24, // bytes [5, 29)
	0x35, 1, 2, 3, 4,
}

func TestIndexBlocksMayBeCompressed(t *testing.T) {
	for _, compress := range []bool{false, true} {
		entries, err := parseBundleIndex(bundleIndex(map[string][]byte{"": {8, 1}, "bert/a": description, "bert/ab": description}, compress))
		if err != nil {
			t.Fatal(err)
		}
		e, ok := findVariable(entries, "bert/ab")
		if !ok || !slices.Equal(e.shape, []int64{2, 3}) || e.offset != 5 || e.size != 24 || e.crc != 0x04030201 || e.check() != nil || len(entries) != 2 {
			t.Errorf("compressed %v: got %+v", compress, entries)
		}
	}
}

func FuzzBundleIndex(f *testing.F) {
	f.Add([]byte("bert/a"), description, false)
	f.Add([]byte(""), []byte{8, 1}, true)
	f.Add([]byte("x"), []byte{0x12, 2, 0x12, 0}, false)
	f.Fuzz(func(t *testing.T, name, value []byte, compress bool) {
		b := bundleIndex(map[string][]byte{string(name): value}, compress)
		entries, err := parseBundleIndex(b)
		if err == nil && len(name) > 0 && (len(entries) != 1 || entries[0].name != string(name)) {
			t.Fatalf("got %+v, want one entry %q", entries, name)
		}
		for i := range b { // every byte before the footer is under a checksum
			damaged := bytes.Clone(b)
			damaged[i] ^= 1 << (i % 8)
			if _, err := parseBundleIndex(damaged); err == nil && i < len(b)-bundleFooter {
				t.Fatalf("byte %d flipped: accepted", i)
			}
			if _, err := parseBundleIndex(b[:i]); err == nil {
				t.Fatalf("cut at byte %d: accepted", i)
			}
		}
		if e, err := parseBundleEntry(string(name), value); err == nil && e.check() == nil {
			n := int64(4)
			for _, d := range e.shape {
				n *= d
			}
			if n != e.size {
				t.Fatalf("%+v passed the check", e)
			}
		}
	})
}
