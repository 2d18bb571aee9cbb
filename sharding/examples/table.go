package examples

import (
	"fmt"

	"pretext/records/columns"
	"pretext/records/columns/consumers"
	"pretext/sharding"
)

// Table returns the columns of shards that were converted with the given options. If the
// options name an unknown consumer or type, or a consumer whose columns do not hold such
// examples, the error matches [sharding.ErrFormat].
func Table(o sharding.ConvertOptions) (*columns.Table, error) {
	spec := columns.Spec{Form: o.Form, Seq: o.MaxSeqLength, Predictions: o.MaxPredictionsPerSeq}
	if o.Consumer != "" {
		c, err := consumers.Get(o.Consumer)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", sharding.ErrFormat, err)
		}
		spec = c.Spec(spec)
	}
	if o.Int != "" {
		t, ok := columns.IntNamed(o.Int)
		if !ok {
			return nil, fmt.Errorf("%w: integers of the type %q", sharding.ErrFormat, o.Int)
		}
		spec.Int = t
	}
	t := columns.NewTable(spec)
	if err := t.Complete(); err != nil {
		return nil, fmt.Errorf("%w: columns for %s: %w", sharding.ErrFormat, o.Consumer, err)
	}
	return t, nil
}
