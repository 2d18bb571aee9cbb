package command

import (
	"fmt"
	"io"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"pretext/trainer"
	"pretext/trainer/cpu"
)

func newDoctor() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Say what this machine can do, and how fast",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return doctor(cmd.OutOrStdout()) },
	}
}

func doctor(w io.Writer) error {
	fmt.Fprintf(w, "train-bert %s\nprocessors: %d\n", version(), runtime.GOMAXPROCS(0))
	for _, isa := range []string{"avx512", "avx2", "plain"} {
		speed, err := measure(isa)
		if err != nil {
			fmt.Fprintf(w, "cpu, %s: %v\n", isa, err)
			continue
		}
		fmt.Fprintf(w, "cpu, %s: %.0f tokens/s training the tiny model, 8 examples of 128 tokens\n", isa, speed)
	}
	_, err := fmt.Fprintln(w, "cuda: not in this build")
	return err
}

// measureTime is how long a measurement lasts.
const measureTime = 500 * time.Millisecond

// measure trains the smallest model on made-up tokens.
func measure(isa string) (tokensPerSecond float64, err error) {
	const sequences, length, vocab = 8, 128, 30522
	config, err := trainer.Preset("tiny", vocab)
	if err != nil {
		return 0, err
	}
	heads, schedule := trainer.PretrainHeads(), trainer.Schedule{Kind: trainer.Constant, Peak: 1e-4, Steps: 1}
	model, err := cpu.Backend{ISA: isa}.Open(config, heads, trainer.Options{
		Tokens: sequences * length, Sequences: sequences, Masked: sequences * length, Precision: trainer.Float32, Train: true,
		Optimizer: trainer.DefaultOptimizer(trainer.AdamW),
	})
	if err != nil {
		return 0, err
	}
	defer model.Close()
	if _, err := model.Load(trainer.Weights, trainer.InitialWeights(config, heads, 1)); err != nil {
		return 0, err
	}
	b := madeUp(sequences, length, vocab)
	start, tokens := time.Now(), 0
	for time.Since(start) < measureTime {
		if err := model.Accumulate(b, b.Counts(heads).Coef()); err != nil {
			return 0, err
		}
		if _, err := model.Apply(schedule, trainer.Alone{}); err != nil {
			return 0, err
		}
		tokens += b.Tokens()
	}
	return float64(tokens) / time.Since(start).Seconds(), nil
}

// madeUp returns a batch of full examples with every seventh token to predict.
func madeUp(sequences, length, vocab int) *trainer.Batch {
	b := &trainer.Batch{}
	for s := range sequences {
		q := trainer.Sequence{Position: int64(s), IDs: make([]int32, length), Segments: make([]int32, length)}
		for i := range q.IDs {
			q.IDs[i] = int32((s*length + i) * 7919 % vocab)
			if i%7 == 1 {
				q.MaskedPositions = append(q.MaskedPositions, int32(i))
				q.MaskedIDs = append(q.MaskedIDs, q.IDs[i])
				q.MaskedWeights = append(q.MaskedWeights, 1)
			}
		}
		b.Append(q)
	}
	return b
}
