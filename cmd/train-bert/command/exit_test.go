package command

import (
	"fmt"
	"path/filepath"
	"testing"

	"pretext/internal/dev/tinydata"
	"pretext/internal/failure"
	"pretext/records"
	"pretext/records/tfrecord"
	"pretext/sharding"
	"pretext/trainer/checkpoint"
	"pretext/trainer/finetune"
	"pretext/trainer/loader"
	"pretext/trainer/session"
)

func TestErrorsTellTheirExitCodes(t *testing.T) {
	for _, damaged := range []error{checkpoint.ErrDamaged, sharding.ErrDamaged, records.ErrExample, tfrecord.ErrCorrupt, sharding.ErrFormat, sharding.ErrUnfinished,
		sharding.ErrDamaged, finetune.ErrData, finetune.ErrNumbers, &sharding.DamageError{}, &tfrecord.CorruptError{}, &records.FeatureError{}, &finetune.DataError{}} {
		if code := failure.ExitCode(fmt.Errorf("read: %w", damaged)); code != failure.ExitDamaged {
			t.Errorf("%T %[1]v: exit code %d, want %d", damaged, code, failure.ExitDamaged)
		}
	}
	data := t.TempDir()
	if err := tinydata.Write(data, tinydata.Options{Train: 4, Vocab: 40}); err != nil {
		t.Fatal(err)
	}
	_, err := session.OpenCorpus(t.Context(), data, sharding.Eval, "") // has no such shards
	for _, wrong := range []error{err, &loader.CompressedError{}, failure.Usagef("x")} {
		if code := failure.ExitCode(fmt.Errorf("open: %w", wrong)); code != failure.ExitUsage {
			t.Errorf("%T %[1]v: exit code %d, want %d", wrong, code, failure.ExitUsage)
		}
	}
	o := session.DefaultOptions()
	o.Data, o.Out, o.Keep = data, filepath.Join(data, "out"), -1
	if _, err := session.Train(t.Context(), o); failure.ExitCode(err) != failure.ExitUsage {
		t.Errorf("got %v, want an error of usage", err)
	}
}
