package records

import "errors"

// ErrExample is what every [FeatureError] wraps.
var ErrExample = errors.New("bad example")

// A FeatureError says what is wrong with an example.
type FeatureError struct {
	Feature string // the feature at fault, "" when the bytes are no tf.train.Example at all
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
