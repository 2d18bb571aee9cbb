package examples

import (
	"errors"
	"testing"

	"pretext/records"
	"pretext/sharding"
)

func TestOptionsThatNoConversionHasAreRefused(t *testing.T) {
	for what, o := range map[string]sharding.ConvertOptions{
		"consumer":      {Format: "mds", Consumer: "nobody"},
		"type":          {Format: "mds", Int: "int7"},
		"lost features": {Format: "mds", Consumer: "modernbert", Form: records.Packed, MaxSeqLength: 8},
	} {
		if _, err := Table(o); !errors.Is(err, sharding.ErrFormat) {
			t.Errorf("%s: got %v, want an error that matches ErrFormat", what, err)
		}
	}
	if table, err := Table(sharding.ConvertOptions{Format: "mds", Consumer: "modernbert", Form: records.Pieces}); err != nil || len(table.Schema) != 1 {
		t.Errorf("modernbert of pieces: %v", err)
	}
}
