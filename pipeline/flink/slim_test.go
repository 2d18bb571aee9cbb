//go:build !cluster

package flink

import (
	"errors"
	"io"
	"strings"
	"testing"
)

// A build without the tag cluster refuses clusters in the same words everywhere.
func TestABuildWithoutClustersSaysHowToGetOne(t *testing.T) {
	_, live := Cluster{}.Live(t.Context(), "job")
	_, pool := NewPool(PoolOptions{}, io.Discard)
	for name, err := range map[string]error{
		"Validate": Cluster{Endpoint: "h:1", REST: "http://h:1", Parallelism: 1}.Validate(),
		"Run":      Cluster{}.Run(t.Context(), nil, Job{}), "Live": live, "NewPool": pool, "Serve": new(Pool).Serve(t.Context(), nil),
	} {
		var usage interface{ Usage() bool }
		if !errors.As(err, &usage) || !strings.Contains(err.Error(), "go build -tags cluster ./cmd/prepare-data") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if code := Work(nil, Process{}); code != 2 {
		t.Errorf("a worker ends with %d, want 2", code)
	}
}
