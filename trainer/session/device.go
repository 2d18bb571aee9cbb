package session

import (
	"time"

	"pretext/trainer"
	"pretext/trainer/cpu"
)

// A Device computes. The processor is the only one of this build.
type Device struct {
	Threads int    // 0: one a processor; decides no bit of the result
	ISA     string // instruction set: "avx512", "avx2", "plain"; "": the best there is
}

func (d Device) backend() cpu.Backend { return cpu.Backend{Threads: d.Threads, ISA: d.ISA} }

// Open returns a model without weights. Its precision is single; limits gives the
// rest. Close it after use.
func (d Device) Open(c trainer.Config, h trainer.Heads, limits trainer.Options) (trainer.Model, error) {
	limits.Precision = trainer.Float32
	return d.backend().Open(c, h, limits)
}

// Peak measures the fastest matrix product for at least t, in floating-point
// operations a second.
func (d Device) Peak(t time.Duration) (float64, error) { return d.backend().Peak(t) }
