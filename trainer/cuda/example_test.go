package cuda_test

import (
	"fmt"

	"pretext/trainer"
	"pretext/trainer/cuda"
	"pretext/trainer/cuda/sim"
)

// One step on a simulated GPU; driver.Open opens a real one.
func Example() {
	gpu := sim.NewGPU(sim.Options{Seed: 1})
	defer gpu.Close()
	c, err := trainer.Preset("tiny", 100)
	if err != nil {
		panic(err)
	}
	h := trainer.PretrainHeads()
	m, err := cuda.New(gpu).Open(c, h, trainer.Options{
		Tokens: 16, Sequences: 2, Masked: 4, Precision: trainer.BFloat16, Train: true, Optimizer: trainer.DefaultOptimizer(trainer.AdamW),
	})
	if err != nil {
		panic(err)
	}
	defer m.Close()
	if _, err := m.Load(trainer.Weights, trainer.InitialWeights(c, h, 1)); err != nil {
		panic(err)
	}
	var b trainer.Batch
	b.Append(trainer.Sequence{
		IDs: []int32{2, 14, 4, 3, 51, 3}, Segments: []int32{0, 0, 0, 0, 1, 1}, NSPLabel: 1,
		MaskedPositions: []int32{2}, MaskedIDs: []int32{33}, MaskedWeights: []float32{1},
	})
	if err := m.Accumulate(&b, b.Counts(h).Coef(), true); err != nil {
		panic(err)
	}
	info, err := m.Apply(trainer.Schedule{Kind: trainer.Constant, Peak: 1e-3, Steps: 1})
	if err != nil {
		panic(err)
	}
	fmt.Printf("loss %.1f, %d step\n", info.Sums.Loss(), m.State().Step)
	// Output: loss 5.5, 1 step
}
