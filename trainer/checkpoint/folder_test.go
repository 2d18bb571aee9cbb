package checkpoint_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pretext/internal/dev/realdata"
	"pretext/internal/failure"
	"pretext/trainer"
	"pretext/trainer/checkpoint"
	"pretext/trainer/cpu"
)

func tiny() trainer.Config {
	return trainer.Config{
		VocabSize: 11, HiddenSize: 8, Layers: 1, AttentionHeads: 2, IntermediateSize: 12, Activation: trainer.GELUNew,
		HiddenDropout: 0.1, MaxPositions: 16, Segments: 2, InitializerRange: 0.1, LayerNormEps: 1e-12,
	}
}

func batch() *trainer.Batch {
	b := &trainer.Batch{}
	b.Append(trainer.Sequence{
		IDs: []int32{1, 2, 3, 4, 5}, Segments: []int32{0, 0, 0, 1, 1},
		MaskedPositions: []int32{1, 3}, MaskedIDs: []int32{6, 7}, MaskedWeights: []float32{1, 1}, NSPLabel: 1, Position: 12,
	})
	return b
}

func openTiny(t *testing.T) trainer.Model {
	t.Helper()
	m, err := cpu.Backend{Threads: 1}.Open(tiny(), trainer.PretrainHeads(), trainer.Options{
		Tokens: 8, Sequences: 2, Masked: 4, Precision: trainer.Float32, Train: true, Seed: 3, Optimizer: trainer.DefaultOptimizer(trainer.LAMB),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

func step(t *testing.T, m trainer.Model) {
	t.Helper()
	if err := m.Accumulate(batch(), batch().Counts(trainer.PretrainHeads()).Coef(), true); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Apply(trainer.Schedule{Kind: trainer.Linear, Peak: 0.1, Steps: 9}); err != nil {
		t.Fatal(err)
	}
}

func trained(t *testing.T) trainer.Model {
	t.Helper()
	m := openTiny(t)
	if _, err := m.Load(trainer.Weights, trainer.InitialWeights(tiny(), trainer.PretrainHeads(), 1)); err != nil {
		t.Fatal(err)
	}
	step(t, m)
	return m
}

func values(t *testing.T, m trainer.Model) map[string][]float32 {
	t.Helper()
	all := map[string][]float32{}
	for _, k := range []trainer.Kind{trainer.Weights, trainer.FirstMoment, trainer.SecondMoment} {
		for x, err := range m.Tensors(k) {
			if err != nil {
				t.Fatal(err)
			}
			all[k.String()+x.Name] = append([]float32{}, x.Data...)
		}
	}
	return all
}

var tokenizer = checkpoint.Tokenizer{Vocab: []byte("[PAD]\n[UNK]\n"), LowerCase: true}

func snapshot(t *testing.T, m trainer.Model) trainer.Snapshot {
	t.Helper()
	s, err := m.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func save(t *testing.T, out string, step int64, m trainer.Model) {
	t.Helper()
	s := &checkpoint.Saver{Dir: out, Config: tiny(), Tokenizer: tokenizer, State: checkpoint.State{Phase: 1, Heads: trainer.PretrainHeads(), Batch: 1}}
	if err := s.Save(trainer.Progress{Step: step, Position: step}, snapshot(t, m)); err != nil {
		t.Fatal(err)
	}
}

func TestARestoredModelGoesOnAsIfNotStopped(t *testing.T) {
	out := filepath.Join(t.TempDir(), "run")
	m := trained(t)
	planned := m.State()
	planned.Plans = map[string]string{"another device, version 12.1": "its algorithm"} // kept by a backend that does not use them
	m.SetState(planned)
	save(t, out, 1, m)
	c, err := checkpoint.Newest(out)
	if err != nil {
		t.Fatal(err)
	}
	want := checkpoint.State{
		Format: 1, Phase: 1, Progress: trainer.Progress{Step: 1, Position: 1}, Model: m.State(), Heads: trainer.PretrainHeads(), Batch: 1,
	}
	if diff := cmp.Diff(want, c.State); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(tiny(), c.Config); diff != "" {
		t.Error(diff)
	}
	r := openTiny(t)
	if err := c.Restore(r); err != nil {
		t.Fatal(err)
	}
	step(t, m)
	step(t, r)
	if diff := cmp.Diff(values(t, m), values(t, r)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(m.State(), r.State()); diff != "" || len(r.State().Plans) != 1 {
		t.Errorf("state %+v: %s", r.State(), diff)
	}
}

func TestAChangedRunIsRefusedByName(t *testing.T) {
	was := checkpoint.State{Phase: 1, Batch: 8, Tokens: 99, Ranks: 4, Seed: 1, Data: "aa", Options: map[string]string{"dynamic_masking": "true"}}
	same := was
	same.Ranks, same.Progress.Step, same.Options = 1, 77, map[string]string{"dynamic_masking": "true"}
	same.Device, same.Precision, same.Multiple = "cuda", trainer.BFloat16, 4
	if err := was.Check(same); err != nil {
		t.Errorf("other ranks: %v", err)
	}
	for want, change := range map[string]func(*checkpoint.State){
		"phase":              func(s *checkpoint.State) { s.Phase = 2 },
		"heads":              func(s *checkpoint.State) { s.Heads.MLM = true },
		"train_batch_size":   func(s *checkpoint.State) { s.Batch = 9 },
		"micro_batch_tokens": func(s *checkpoint.State) { s.Tokens = 9 },
		"seed":               func(s *checkpoint.State) { s.Seed = 9 },
		"data manifest":      func(s *checkpoint.State) { s.Data = "bb" },
		"schedule":           func(s *checkpoint.State) { s.Schedule.Peak = 1 },
		"optimizer":          func(s *checkpoint.State) { s.Optimizer.Beta1 = 1 },
		"dynamic_masking":    func(s *checkpoint.State) { s.Options = nil },
		"whole_word":         func(s *checkpoint.State) { s.Options = map[string]string{"dynamic_masking": "true", "whole_word": "1"} },
	} {
		other := was
		change(&other)
		if err := was.Check(other); err == nil || !strings.HasPrefix(err.Error(), want+":") {
			t.Errorf("%s: got %v", want, err)
		}
	}
}

func TestInitializingFillsWhatTheFilesLack(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "model")
	if err := checkpoint.WriteModel(dir, tiny(), trainer.PretrainHeads(), tokenizer, trainer.InitialWeights(tiny(), trainer.PretrainHeads(), 9)); err != nil {
		t.Fatal(err)
	}
	p, err := checkpoint.OpenPretrained(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	h := trainer.Heads{Labels: 2}
	m, err := cpu.Backend{}.Open(p.Config, h, trainer.Options{Tokens: 8, Sequences: 2, Precision: trainer.Float32})
	if err != nil {
		t.Fatal(err)
	}
	report, err := p.Initialize(m, h, 5)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"classifier.weight", "classifier.bias"}, report.Missing); diff != "" || len(report.Unexpected) != 7 {
		t.Error(diff, report.Unexpected)
	}
	own := map[string]bool{"classifier.weight": true, "classifier.bias": true}
	for want := range trainer.InitialWeights(tiny(), trainer.Heads{Labels: 2}, 5) {
		if !own[want.Name] {
			continue
		}
		for got := range m.Tensors(trainer.Weights) {
			if got.Name == want.Name && !cmp.Equal(got.Data, want.Data) {
				t.Errorf("%s is not the initial one", got.Name)
			}
		}
	}
	for got := range m.Tensors(trainer.Weights) {
		if own[got.Name] {
			continue
		}
		if want, err := p.Tensor(got.Name, nil); err != nil || !cmp.Equal(got.Data, want.Data) {
			t.Errorf("%s is not the files': %v", got.Name, err)
		}
	}
}

func TestEqualStateGivesEqualFolders(t *testing.T) {
	a, b, m := t.TempDir(), t.TempDir(), trained(t)
	save(t, a, 5, m)
	save(t, b, 5, m)
	save(t, b, 5, m) // again, over the first
	names, err := os.ReadDir(filepath.Join(a, "step-00000005"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, n := range names {
		got = append(got, n.Name())
		x, err := os.ReadFile(filepath.Join(a, "step-00000005", n.Name()))
		if err != nil {
			t.Fatal(err)
		}
		y, err := os.ReadFile(filepath.Join(b, "step-00000005", n.Name()))
		if err != nil || string(x) != string(y) {
			t.Errorf("%s differs: %v", n.Name(), err)
		}
	}
	want := []string{"config.json", "manifest.json", "model.safetensors", "optimizer.safetensors", "special_tokens_map.json", "tokenizer_config.json", "trainer.json", "vocab.txt"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if left, _ := filepath.Glob(filepath.Join(b, ".tmp*")); left != nil {
		t.Errorf("left over: %v", left)
	}
}

func TestDamagedCheckpointsArePassedOver(t *testing.T) {
	whole, m := t.TempDir(), trained(t)
	save(t, whole, 1, m)
	save(t, whole, 2, m)
	for _, name := range []string{"config.json", "manifest.json", "model.safetensors", "optimizer.safetensors", "trainer.json", "vocab.txt"} {
		for _, damage := range []string{"flip", "cut", "remove"} {
			out := t.TempDir()
			if err := os.CopyFS(out, os.DirFS(whole)); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(out, "step-00000002", name)
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			switch damage {
			case "flip":
				b[len(b)/2] ^= 1
				err = os.WriteFile(path, b, 0o666)
			case "cut":
				err = os.WriteFile(path, b[:len(b)-1], 0o666)
			case "remove":
				err = os.Remove(path)
			}
			if err != nil {
				t.Fatal(err)
			}
			c, err := checkpoint.Newest(out)
			if damage == "cut" && name == "manifest.json" && err == nil && c.State.Progress.Step == 2 {
				continue // only the last line end is gone: still the same manifest
			}
			if err != nil || c.State.Progress.Step != 1 {
				t.Errorf("%s, %s: got %+v, %v", name, damage, c, err)
			}
		}
	}
}

// A checkpoint of a later version is not passed over: an older one would lose what was
// trained since.
func TestACheckpointOfANewerVersionEndsTheSearch(t *testing.T) {
	for _, name := range []string{"manifest.json", "trainer.json"} {
		out, m := t.TempDir(), trained(t)
		save(t, out, 1, m)
		save(t, out, 2, m)
		dir := filepath.Join(out, "step-00000002")
		change := func(name, old, new string) {
			b, err := os.ReadFile(filepath.Join(dir, name))
			if err == nil && !strings.Contains(string(b), old) {
				t.Fatalf("%s without %s: %s", name, old, b)
			}
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, name), []byte(strings.Replace(string(b), old, new, 1)), 0o666)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		before, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		change(name, `"format": 1`, `"format": 2`)
		if name != "manifest.json" {
			after, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			change("manifest.json", fmt.Sprintf("%x", sha256.Sum256(before)), fmt.Sprintf("%x", sha256.Sum256(after)))
		}
		_, err = checkpoint.Newest(out)
		if newer := (*failure.Newer)(nil); !errors.As(err, &newer) || errors.Is(err, checkpoint.ErrDamaged) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestNewestIsByNumberAndUnfinishedFoldersDoNotCount(t *testing.T) {
	out, m := t.TempDir(), trained(t)
	if _, err := checkpoint.Newest(filepath.Join(out, "absent")); !errors.Is(err, checkpoint.ErrNone) {
		t.Errorf("absent folder: %v", err)
	}
	for _, n := range []int64{99999999, 100000000, 7} {
		save(t, out, n, m)
	}
	for _, name := range []string{".tmp-folder-200000000", "step-300000000", "step-x", "steps"} {
		if err := os.Mkdir(filepath.Join(out, name), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	c, err := checkpoint.Newest(out)
	if err != nil || c.State.Progress.Step != 100000000 {
		t.Fatalf("got %+v, %v", c, err)
	}
	if err := os.RemoveAll(filepath.Join(out, "step-300000000")); err != nil {
		t.Fatal(err)
	}
	keep := &checkpoint.Saver{Dir: out, Keep: 2, Config: tiny(), Tokenizer: tokenizer, State: checkpoint.State{Phase: 1, Heads: trainer.PretrainHeads(), Batch: 1}}
	if err := keep.Save(trainer.Progress{Step: 100000001}, snapshot(t, m)); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(out)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range left {
		names = append(names, e.Name())
	}
	if diff := cmp.Diff([]string{".tmp-folder-200000000", "step-100000000", "step-100000001", "step-x", "steps"}, names); diff != "" {
		t.Error(diff)
	}
}

func TestASaverKeepsTheNewestAndOnlyRankZeroWrites(t *testing.T) {
	out, m := t.TempDir(), trained(t)
	s := &checkpoint.Saver{Dir: out, Keep: 2, Config: tiny(), State: checkpoint.State{Heads: trainer.PretrainHeads()}}
	for i := range int64(4) {
		if err := s.Save(trainer.Progress{Step: i}, snapshot(t, m)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := filepath.Glob(filepath.Join(out, "*"))
	if err != nil || len(got) != 2 || filepath.Base(got[0]) != "step-00000002" {
		t.Errorf("got %v, %v", got, err)
	}
	other := &checkpoint.Saver{Dir: filepath.Join(out, "other"), Rank: 1}
	if err := other.Save(trainer.Progress{}, snapshot(t, m)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(other.Dir); err == nil {
		t.Error("rank 1 wrote")
	}
}

func TestOracleModelsSurviveBeingWritten(t *testing.T) {
	p, err := checkpoint.OpenPretrained(realdata.Path(t, "oracle/pretrain"))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	h, err := p.Heads()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "copy")
	inOrder := func(yield func(trainer.Tensor, error) bool) {
		for _, s := range trainer.Tensors(p.Config, h) {
			if !yield(p.Tensor(s.Name, nil)) {
				return
			}
		}
	}
	if err := checkpoint.WriteModel(dir, p.Config, h, checkpoint.Tokenizer{}, inOrder); err != nil {
		t.Fatal(err)
	}
	again, err := checkpoint.OpenPretrained(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if diff := cmp.Diff(p.Config, again.Config); diff != "" {
		t.Error(diff)
	}
	for want, err := range p.Tensors() {
		if err != nil {
			t.Fatal(err)
		}
		got, err := again.Tensor(want.Name, nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

func Example() {
	dir, err := os.MkdirTemp("", "model")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	c, heads := tiny(), trainer.PretrainHeads()
	dir = filepath.Join(dir, "bert")
	if err := checkpoint.WriteModel(dir, c, heads, checkpoint.Tokenizer{}, trainer.InitialWeights(c, heads, 1)); err != nil {
		fmt.Println(err)
		return
	}
	p, err := checkpoint.OpenPretrained(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()
	fmt.Println(len(p.Names()), "tensors, the first is", p.Names()[0])
	// Output: 30 tensors, the first is bert.embeddings.LayerNorm.bias
}
