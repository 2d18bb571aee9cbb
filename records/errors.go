package records

import "pretext/internal/failure"

// ErrExample is wrapped by every [FeatureError].
var ErrExample = failure.Damaged("bad example")

// A FeatureError reports why an example is invalid.
type FeatureError struct {
	Feature string // "" if the payload is not a tf.train.Example at all
	Reason  string // e.g. "missing"
}

func (e *FeatureError) Error() string {
	if e.Feature == "" {
		return "not a tf.train.Example: " + e.Reason
	}
	return "feature " + e.Feature + ": " + e.Reason
}

// Unwrap returns [ErrExample].
func (e *FeatureError) Unwrap() error { return ErrExample }
