package speed

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pretext/trainer"
	"pretext/trainer/cuda/device"
	"pretext/trainer/cuda/sim"
)

// A named is a simulated GPU that says it is an H100 and that each kernel takes a
// millisecond: the simulator has no clock.
type named struct {
	*sim.GPU
	name string
}

func (n named) Properties() device.Properties {
	p := n.GPU.Properties()
	p.Name = n.name
	return p
}

func (n named) Elapsed(from, to device.Event) (time.Duration, error) {
	_, err := n.GPU.Elapsed(from, to)
	return time.Millisecond, err
}

// TestModelTimeStandsBesideTheMeasurement rehearses --model-time: every kernel of one step
// with its time, and that of the model for a GPU that the model knows.
func TestModelTimeStandsBesideTheMeasurement(t *testing.T) {
	const config = `{"vocab_size": 70, "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 1, "intermediate_size": 64,
"hidden_act": "gelu_new", "max_position_embeddings": 32, "initializer_range": 0.1, "model_type": "bert"}`
	for _, name := range []string{"NVIDIA H100 80GB HBM3", "simulator"} {
		o := DefaultOptions()
		o.Model = filepath.Join(t.TempDir(), "config.json")
		if err := os.WriteFile(o.Model, []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		o.Rounds, o.Seconds, o.Batch, o.Length, o.VocabSize = 1, 1e-9, 2, 16, 70
		o.Device.Name, o.Device.Precision, o.Device.Profile = "cuda", trainer.BFloat16, true
		r, err := measure(t.Context(), o, o.Device.On(named{sim.NewGPU(sim.Options{Seed: 1}), name}))
		if err != nil {
			t.Fatal(err)
		}
		m, seen := r.ModelTime, map[string]bool{}
		if known := strings.Contains(name, "H100"); m.GPU != name || (m.Chip == "H100") != known || (m.Expected > 0) != known || (m.Compared > 0) != known {
			t.Errorf("%s: %+v", name, m)
		}
		calls := 0
		for _, k := range m.Kernels {
			if k.Measured != float64(k.Calls) || k.Calls < 1 {
				t.Errorf("%s: %+v", name, k)
			}
			calls += k.Calls
			kind, _, _ := strings.Cut(k.Name, " ")
			seen[kind] = true
			if kind == "flash_forward" && (k.Calls != 2 || !(k.Operations > 0 && k.Bytes > 0)) {
				t.Errorf("two layers, one step: %+v", k)
			}
		}
		if m.Measured != float64(calls) || m.Compared > m.Measured {
			t.Errorf("%s: %d calls, %+v", name, calls, m)
		}
		for _, kind := range []string{"product", "norm_forward", "norm_backward", "flash_backward", "adamw"} {
			if !seen[kind] {
				t.Errorf("%s: no %s in %v", name, kind, seen)
			}
		}
	}
}

func TestModelTimeNeedsAGPU(t *testing.T) {
	o := DefaultOptions()
	o.Device.Profile = true
	if _, err := Measure(t.Context(), o); err == nil || !strings.Contains(err.Error(), "--device cuda") {
		t.Errorf("got %v", err)
	}
}
