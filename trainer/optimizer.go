package trainer

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// An OptimizerName names an update rule.
type OptimizerName string

// The optimizers. Package trainer/optim documents their formulas.
const (
	AdamW OptimizerName = "adamw" // as in google-research/bert, without bias correction of the moments
	LAMB  OptimizerName = "lamb"  // as in NVIDIA's apex (FusedLAMB)

	// StableAdamW is AdamW with Adafactor's update clipping (Wortsman et al. 2023, arXiv
	// 2304.13013), as ModernBERT was trained.
	StableAdamW OptimizerName = "stableadamw"
)

// Optimizer is an update rule and its constants.
type Optimizer struct {
	Name           OptimizerName `json:"name"`
	Beta1          float64       `json:"beta1"`
	Beta2          float64       `json:"beta2"`
	Epsilon        float64       `json:"eps"`
	WeightDecay    float64       `json:"weight_decay"` // for tensors with TensorSpec.Decay
	ClipNorm       float64       `json:"clip_norm"`    // maximum global norm of the gradients; 0 disables clipping
	BiasCorrection bool          `json:"bias_correction"`
}

// OptimizerNames returns all names.
func OptimizerNames() []string { return []string{string(AdamW), string(LAMB), string(StableAdamW)} }

// DefaultOptimizer returns the named optimizer with the constants of the
// original recipes. ModernBERT's decay of 1e-5 is not times the rate; divided by its
// rate of 8e-4 it is 0.0125.
func DefaultOptimizer(name OptimizerName) Optimizer {
	if name == StableAdamW {
		return Optimizer{Name: name, Beta1: 0.9, Beta2: 0.98, Epsilon: 1e-6, WeightDecay: 0.0125, BiasCorrection: true}
	}
	return Optimizer{
		Name: name, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-6, WeightDecay: 0.01, ClipNorm: 1, BiasCorrection: name == LAMB,
	}
}

// Validate reports every problem of o.
func (o Optimizer) Validate() error {
	var errs []error
	if !slices.Contains(OptimizerNames(), string(o.Name)) {
		errs = append(errs, fmt.Errorf("optimizer %q: must be %s", o.Name, oneOf(OptimizerNames())))
	}
	for _, b := range []float64{o.Beta1, o.Beta2} {
		if !(b >= 0 && b < 1) {
			errs = append(errs, fmt.Errorf("beta %v: must be at least 0 and below 1", b))
		}
	}
	if !(o.Epsilon > 0) || math.IsInf(o.Epsilon, 0) {
		errs = append(errs, fmt.Errorf("eps %v: must be above 0", o.Epsilon))
	}
	if !(o.WeightDecay >= 0 && o.WeightDecay <= 1) {
		errs = append(errs, fmt.Errorf("weight_decay %v: must be from 0 to 1", o.WeightDecay))
	}
	if !(o.ClipNorm >= 0) || math.IsInf(o.ClipNorm, 0) {
		errs = append(errs, fmt.Errorf("clip_norm %v: must be finite and not negative", o.ClipNorm))
	}
	return errors.Join(errs...)
}
