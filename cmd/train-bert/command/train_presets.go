package command

import (
	"slices"
	"strconv"

	"github.com/spf13/pflag"

	"pretext/internal/failure"
	"pretext/trainer"
)

// presetBudget is the recipe of Cramming (Geiping and Goldstein 2022, arXiv
// 2212.14034), with the schedule of 24hBERT (Izsak et al. 2021, arXiv 2104.07705).
const presetBudget = "budget"

// usePreset sets the flags of train that the user has not given: those of the preset, of
// the model and of the optimizer, in this order of precedence.
func usePreset(fs *pflag.FlagSet) error {
	preset, err := presetFlags(fs.Lookup("preset").Value.String())
	if err != nil {
		return err
	}
	if err := setRest(fs, preset); err != nil {
		return err
	}
	if err := setRest(fs, modelFlags(fs.Lookup("model").Value.String(), fs)); err != nil {
		return err
	}
	return setRest(fs, optimizerFlags(trainer.OptimizerName(fs.Lookup("optimizer").Value.String())))
}

// setRest sets flags that are not set yet.
func setRest(fs *pflag.FlagSet, values map[string]string) error {
	for name, value := range values {
		if fs.Changed(name) {
			continue
		}
		if err := fs.Set(name, value); err != nil {
			return err
		}
	}
	return nil
}

func presetFlags(name string) (map[string]string, error) {
	switch name {
	case "":
		return nil, nil
	case presetBudget:
		return map[string]string{
			"schedule": string(trainer.Budget), "budget": "24h", "no-nsp": "true", "dropout": "0", "learning-rate": "1e-3", "train-batch-size": "256",
			"adam-beta2": "0.98", "adam-epsilon": "1e-12", "max-grad-norm": "0.5", "num-train-steps": "1000000",
		}, nil
	}
	return nil, failure.Usagef("--preset %q: must be %s", name, presetBudget)
}

// modelFlags returns the recipe of ModernBERT (Warner et al. 2024, arXiv 2412.13663) for
// its sizes. Its fraction of masks has no regard for the room that the records have for
// the usual one. A run that keeps the records' masks has no use for it.
func modelFlags(model string, fs *pflag.FlagSet) map[string]string {
	if !slices.Contains(trainer.ModernNames(), model) {
		return nil
	}
	flags := map[string]string{"optimizer": string(trainer.StableAdamW), "schedule": string(trainer.Trapezoid), "dynamic-masking": "true"}
	if masking := fs.Lookup("dynamic-masking"); !masking.Changed || masking.Value.String() == "true" {
		flags["masked-lm-prob"], flags["max-predictions-per-seq"] = "0.3", strconv.Itoa(trainer.MaxPositions)
	}
	return flags
}

// optimizerFlags returns the constants of an optimizer that has other ones than the
// default optimizer.
func optimizerFlags(name trainer.OptimizerName) map[string]string {
	if name != trainer.StableAdamW {
		return nil
	}
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	o := trainer.DefaultOptimizer(name)
	return map[string]string{
		"adam-beta1": number(o.Beta1), "adam-beta2": number(o.Beta2), "adam-epsilon": number(o.Epsilon),
		"weight-decay": number(o.WeightDecay), "max-grad-norm": number(o.ClipNorm),
	}
}
