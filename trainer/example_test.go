package trainer_test

import (
	"context"
	"fmt"

	"pretext/trainer"
	"pretext/trainer/cpu"
)

// Example trains a toy model on sequences in memory for twelve steps.
func Example() {
	config, heads := loopConfig(), trainer.PretrainHeads()
	model, err := cpu.Backend{}.Open(config, heads, trainer.Options{
		Tokens: 64, Sequences: 16, Masked: 32, Precision: trainer.Float32, Train: true, Seed: 1,
		Optimizer: trainer.DefaultOptimizer(trainer.AdamW),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer model.Close()
	if _, err := model.Load(trainer.Weights, trainer.InitialWeights(config, heads, 1)); err != nil {
		fmt.Println(err)
		return
	}
	end, err := trainer.Train(context.Background(), trainer.Loop{
		Model: model, Heads: heads, Source: newMemory(10, 64), Batch: 6,
		Schedule: trainer.Schedule{Kind: trainer.Linear, Peak: 0.02, Steps: 12, Warmup: 2},
		Observe: func(r trainer.Report) error {
			if r.Progress.Step%4 == 0 {
				fmt.Printf("step %2d: rate %.4f, loss %.1f\n", r.Progress.Step, r.Info.Rate, r.Info.Sums.Loss())
			}
			return nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d steps, %d examples\n", end.Step, end.Position)
	// Output:
	// step  4: rate 0.0150, loss 3.4
	// step  8: rate 0.0083, loss 2.0
	// step 12: rate 0.0017, loss 1.5
	// 12 steps, 72 examples
}

func ExampleCut() {
	bounds, err := trainer.Cut([]int32{100, 60, 50, 120, 10}, 200, 2)
	if err != nil {
		fmt.Println(err)
		return
	}
	for j := 1; j < len(bounds); j++ {
		fmt.Printf("micro-batch %d: sequences %d to %d, rank %d of 2\n", j-1, bounds[j-1], bounds[j]-1, (j-1)%2)
	}
	// Output:
	// micro-batch 0: sequences 0 to 1, rank 0 of 2
	// micro-batch 1: sequences 2 to 4, rank 1 of 2
}
