package speed

import (
	"context"
	"errors"
	"runtime"
	"time"

	"pretext/trainer"
	"pretext/trainer/session"
)

// A Capacity is the speed of one instruction set of the CPU: in training BERT-tiny
// on 8 examples of 128 tokens, and in multiplying matrices.
type Capacity struct {
	ISA       string  `json:"isa"`
	Available bool    `json:"available"`
	Tokens    float64 `json:"tokens_per_second"`
	FLOPS     float64 `json:"flop_per_second"`
}

// isas lists the instruction sets of this kind of processor, the fastest first.
var isas = func() []string {
	if runtime.GOARCH == "arm64" {
		return []string{"neon", "plain"}
	}
	return []string{"avx512", "avx2", "plain"}
}()

// CPU measures the speed of the CPU with each instruction set, in the order of
// isas. Each takes about half a second.
func CPU(ctx context.Context) ([]Capacity, error) {
	var found []Capacity
	for _, isa := range isas {
		c, err := capacity(ctx, isa)
		if err != nil && !errors.Is(err, trainer.ErrUnavailable) {
			return nil, err
		}
		found = append(found, c)
	}
	return found, nil
}

// measureTime is the duration of a measurement.
const measureTime = 500 * time.Millisecond

// capacity measures the speed of the instruction set isa: it trains the smallest
// model on synthetic tokens, and multiplies matrices.
func capacity(ctx context.Context, isa string) (c Capacity, err error) {
	const sequences, length, vocab = 8, 128, 30522
	c.ISA = isa
	config, err := trainer.Preset("tiny", vocab)
	if err != nil {
		return c, err
	}
	device, err := session.Device{ISA: isa}.Open()
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, device.Close()) }()
	if c.FLOPS, err = device.Peak(measureTime / 5); err != nil {
		return c, err
	}
	b := madeUp(sequences, length, vocab)
	m, err := newModel(device, config, trainer.PretrainHeads(), session.BatchLimits(b.Tokens(), sequences, 0))
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	s, err := m.round(ctx, &steps{made: b}, measureTime)
	c.Available, c.Tokens = err == nil, session.PerSecond(s.sums.Tokens, s.wall)
	return c, err
}
