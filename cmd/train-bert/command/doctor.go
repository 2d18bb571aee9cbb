package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"pretext/cmd/internal/cli"
	"pretext/trainer"
	"pretext/trainer/session"
)

func newDoctor() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say what this machine can do, and how fast",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			found, err := doctor(cmd.Context())
			if err != nil {
				return err
			}
			return show(cmd, found)
		},
	}
	addJSON(cmd)
	return cmd
}

// A diagnosis is what this machine can train with.
type diagnosis struct {
	Version    string     `json:"version"`
	Processors int        `json:"processors"`
	Detected   string     `json:"detected"` // instruction set that training takes
	CPU        []capacity `json:"cpu"`      // by instruction set
	CUDA       bool       `json:"cuda"`
}

// A capacity is how fast an instruction set trains the tiny model, on 8 examples of
// 128 tokens, and multiplies matrices.
type capacity struct {
	ISA       string  `json:"isa"`
	Available bool    `json:"available"`
	Tokens    float64 `json:"tokens_per_second"`
	FLOPS     float64 `json:"flop_per_second"`
}

func doctor(ctx context.Context) (*diagnosis, error) {
	d := &diagnosis{Version: cli.Version(), Processors: runtime.GOMAXPROCS(0), Detected: best()}
	for _, isa := range isas {
		speed, flops, err := measure(ctx, isa)
		if err != nil && !errors.Is(err, trainer.ErrUnavailable) {
			return nil, err
		}
		d.CPU = append(d.CPU, capacity{isa, err == nil, speed, flops})
	}
	return d, nil
}

func (d *diagnosis) print(w io.Writer) error {
	fmt.Fprintf(w, "train-bert %s\nprocessors: %d\ndetected: %s\n", d.Version, d.Processors, d.Detected)
	for _, c := range d.CPU {
		if !c.Available {
			fmt.Fprintf(w, "cpu, %s: not on this machine\n", c.ISA)
			continue
		}
		fmt.Fprintf(w, "cpu, %s: %.0f tokens/s training the tiny model, 8 examples of 128 tokens; matrix product %.1f GFLOP/s\n", c.ISA, c.Tokens, c.FLOPS/1e9)
	}
	_, err := fmt.Fprintln(w, "cuda: not in this build")
	return err
}

// best is the instruction set that training takes here.
func best() string {
	for _, isa := range isas {
		if _, err := (session.Device{ISA: isa, Threads: 1}).Peak(0); err == nil {
			return isa
		}
	}
	return "none"
}

// isas are the instruction sets, the fastest first.
var isas = []string{"avx512", "avx2", "plain"}

// measureTime is how long a measurement lasts.
const measureTime = 500 * time.Millisecond

// measure trains the smallest model on made-up tokens, and multiplies matrices.
func measure(ctx context.Context, isa string) (tokensPerSecond, flops float64, err error) {
	const sequences, length, vocab = 8, 128, 30522
	config, err := trainer.Preset("tiny", vocab)
	if err != nil {
		return 0, 0, err
	}
	device := session.Device{ISA: isa}
	if flops, err = device.Peak(measureTime / 5); err != nil {
		return 0, 0, err
	}
	b := madeUp(sequences, length, vocab)
	m, err := newSpeedModel(device, config, b.Tokens())
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	s, err := m.round(ctx, &benchSteps{made: b}, measureTime)
	return session.PerSecond(s.sums.Tokens, s.wall), flops, err
}
