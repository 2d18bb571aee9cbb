package pipeline_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"pretext/pipeline"
	"pretext/pipeline/stage"
	"pretext/sharding/verify"
)

// The demo's run is the shortest way from sources to shards.
func ExampleDemo() {
	out, err := os.MkdirTemp("", "demo")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(out)
	runner := stage.Runner{Name: "direct", Workers: 2}
	stages, err := pipeline.Demo(context.Background(), runner, pipeline.DemoConfig(out))
	if err != nil {
		panic(err)
	}
	for _, s := range stages {
		fmt.Println(s.Stage, filepath.Base(s.Folder), s.Counts["documents"] > 0)
	}
	v, err := verify.Dataset(context.Background(), out, verify.Options{})
	fmt.Println(v.OK(), err)
	// Output:
	// extract documents true
	// vocab vocab true
	// examples shards true
	// true <nil>
}
