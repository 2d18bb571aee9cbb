package trainer_test

import (
	"errors"
	"strings"
	"testing"

	"pretext/trainer"
)

func TestErrorsStopTheRunAndSayWhere(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*trainer.Loop, *memory)
		want   string
		is     error
	}{
		"source":   {func(_ *trainer.Loop, m *memory) { m.fail = 20 }, "step 3", errDisk},
		"counts":   {func(_ *trainer.Loop, m *memory) { m.lie = true }, "source counted", nil},
		"observer": {func(l *trainer.Loop, _ *memory) { l.Observe = func(trainer.Report) error { return errDisk } }, "step 1", errDisk},
		"saver":    {func(l *trainer.Loop, _ *memory) { l.Saver, l.SaveEvery = brokenSaver{}, 2 }, "save checkpoint of step 2", errDisk},
		"schedule": {func(l *trainer.Loop, _ *memory) { l.Schedule.Steps = 0 }, "num_train_steps", nil},
		"batch":    {func(l *trainer.Loop, _ *memory) { l.Batch = 0 }, "train_batch_size", nil},
		"infinite": {func(l *trainer.Loop, _ *memory) { l.Schedule.Peak, l.Schedule.Warmup = 1e38, 0 }, "not finite", nil},
	} {
		src := newMemory(10, 50)
		l := newLoop(t, src)
		c.change(&l, src)
		_, err := trainer.Train(t.Context(), l)
		if err == nil || !strings.Contains(err.Error(), c.want) || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

type brokenSaver struct{}

func (brokenSaver) Save(trainer.Progress, trainer.Snapshot) error { return errDisk }
