package session

import (
	"errors"
	"time"

	"pretext/internal/failure"
	"pretext/trainer/cuda"
)

// A ModelTime has the work of a GPU by kernel and shape of product, with the time that it
// took and the time that a model on paper expects from its bytes and operations.
type ModelTime struct {
	GPU      string       `json:"gpu"`
	Chip     string       `json:"chip,omitempty"` // GPU whose data sheet the model uses; "": unknown, so nothing is expected
	Kernels  []KernelTime `json:"kernels"`        // the longest first
	Measured float64      `json:"measured_ms"`    // sum over all
	Expected float64      `json:"expected_ms"`    // sum over those with an expected time
	Compared float64      `json:"compared_ms"`    // sum of what those took
}

// A KernelTime is a line of a [ModelTime].
type KernelTime struct {
	Name       string  `json:"name"`
	Calls      int     `json:"calls"`
	Measured   float64 `json:"measured_ms"`
	Expected   float64 `json:"expected_ms,omitempty"` // 0: the model does not say
	Bytes      float64 `json:"bytes,omitempty"`       // 0: unknown
	Operations float64 `json:"flop,omitempty"`
}

// errNotProfiled is a usage error of ModelTime.
var errNotProfiled = failure.Usage(errors.New("--model-time needs --device cuda: the model is of GPUs"))

// ModelTime measures the work that train queues. The device must have been opened with
// Profile.
func (o *Opened) ModelTime(train func() error) (*ModelTime, error) {
	if o.profile == nil {
		return nil, errNotProfiled
	}
	o.profile.Start()
	err := train()
	work, stopErr := o.profile.Stop()
	if err := errors.Join(err, stopErr); err != nil {
		return nil, err
	}
	chip, known := o.profile.Chip()
	t := &ModelTime{GPU: o.profile.Properties().Name, Chip: chip.Name}
	for _, w := range work {
		t.add(w, chip, known)
	}
	return t, nil
}

func (t *ModelTime) add(w cuda.Work, chip cuda.Chip, known bool) {
	millis := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	k := KernelTime{Name: w.Name, Calls: w.Calls, Measured: millis(w.Took), Bytes: w.Bytes, Operations: w.Operations}
	if known {
		k.Expected = millis(chip.Expected(w))
	}
	t.Kernels = append(t.Kernels, k)
	t.Measured += k.Measured
	if k.Expected > 0 {
		t.Expected += k.Expected
		t.Compared += k.Measured
	}
}
