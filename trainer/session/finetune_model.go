package session

import (
	"fmt"

	"pretext/trainer"
)

// openModel opens the model to train and loads its weights.
func (r *finetuneRun) openModel() error {
	if err := r.openOnDevice(true); err != nil {
		return err
	}
	if r.from != nil {
		return restore(r.from, r.model, r.state.Precision)
	}
	if r.init == nil {
		_, err := r.model.Load(trainer.Weights, trainer.InitialWeights(r.config, r.task.heads, r.o.Seed))
		return err
	}
	report, err := r.init.Initialize(r.model, r.task.heads, r.o.Seed)
	if err != nil {
		return err
	}
	for _, name := range report.Missing {
		fmt.Fprintf(r.log, "%s is not in %s and is newly initialized\n", name, r.o.Init)
	}
	return nil
}

// load opens the initial model for prediction only.
func (r *finetuneRun) load() error {
	if r.init == nil {
		return usagef("--model starts a new model, which needs training data")
	}
	if err := r.openOnDevice(false); err != nil {
		return err
	}
	return r.init.Load(r.model, r.o.Init)
}

// Load loads the weights into model. If the files lack one of the model's
// tensors, it returns a usage error that names path.
func (m ModelFiles) Load(model trainer.Model, path string) error {
	report, err := model.Load(trainer.Weights, m.Tensors())
	if err != nil {
		return err
	}
	if len(report.Missing) > 0 {
		return usagef("%s was not trained for this task: it lacks %q", path, report.Missing)
	}
	return nil
}

// openOnDevice opens the model without weights. Evaluation puts as many
// sequences into a batch as have room for their tokens.
func (r *finetuneRun) openOnDevice(train bool) (err error) {
	r.model, err = r.device.Model(r.config, r.task.heads, trainer.Options{
		Tokens: r.tokens, Sequences: r.tokens/MinTokens + 1, Train: train, Seed: r.o.Seed, Optimizer: r.o.updateRule(),
	})
	if err == nil {
		r.add(r.model)
	}
	return err
}
