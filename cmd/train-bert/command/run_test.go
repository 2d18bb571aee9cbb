package command

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	"pretext/internal/dev/tinydata"
)

// testOptions are those of a run of twelve steps on a folder of its own.
func testOptions(t *testing.T) trainOptions {
	t.Helper()
	const model = `{"vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32,
"hidden_act": "gelu_new", "max_position_embeddings": 32, "initializer_range": 0.1, "model_type": "bert"}`
	o, dir := defaultTrain(), t.TempDir()
	o.Data, o.Out, o.Model = filepath.Join(dir, "data"), filepath.Join(dir, "out"), filepath.Join(dir, "config.json")
	o.TrainBatchSize, o.MicroBatchTokens, o.LearningRate, o.NumTrainSteps = 10, 64, 1e-2, 12
	o.NumWarmupSteps, o.SaveCheckpointsSteps, o.Keep, o.Device.Threads = 2, 5, 0, 2
	if err := tinydata.Write(o.Data, tinydata.Options{Train: 64, Eval: 16, Vocab: 40}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(o.Model, []byte(model), 0o600); err != nil {
		t.Fatal(err)
	}
	return o
}

func mustTrain(t *testing.T, o trainOptions) *trainResult {
	t.Helper()
	end, err := train(context.Background(), o, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	return end
}
