package command

import (
	"fmt"

	"pretext/trainer"
	"pretext/trainer/cpu"
)

// openModel opens the model to train and loads its weights.
func (r *fineRun) openModel() error {
	if err := r.openDevice(true); err != nil {
		return err
	}
	if r.from != nil {
		return r.from.Restore(r.model)
	}
	if r.init == nil {
		_, err := r.model.Load(trainer.Weights, trainer.InitialWeights(r.config, r.task.heads, r.o.seed))
		return err
	}
	report, err := r.init.Initialize(r.model, r.task.heads, r.o.seed)
	if err != nil {
		return err
	}
	for _, name := range report.Missing {
		fmt.Fprintf(r.stderr, "train-bert: %s is not in %s and starts anew\n", name, r.o.init)
	}
	return nil
}

// load opens the model to begin with for prediction alone.
func (r *fineRun) load() error {
	if r.init == nil {
		return usagef("a new model (--model) needs something to train on")
	}
	if err := r.openDevice(false); err != nil {
		return err
	}
	return loadAll(r.model, *r.init, r.o.init)
}

// loadAll loads weights into a model, all of whose tensors must be there.
func loadAll(model trainer.Model, from opened, path string) error {
	report, err := model.Load(trainer.Weights, from.Tensors())
	if err != nil {
		return err
	}
	if len(report.Missing) > 0 {
		return usagef("%s was not trained for this task: it lacks %q", path, report.Missing)
	}
	return nil
}

func (r *fineRun) openDevice(train bool) (err error) {
	tokens := r.microBatch()
	r.model, err = cpu.Backend{Threads: r.o.threads}.Open(r.config, r.task.heads, trainer.Options{
		Tokens: tokens, Sequences: tokens/minTokens + 1, Precision: trainer.Float32, Train: train, Seed: r.o.seed, Optimizer: r.o.updateRule(),
	})
	if err == nil {
		r.hold(r.model)
	}
	return err
}
