package tinydata_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"pretext/internal/dev/tinydata"
	"pretext/records"
	"pretext/sharding"
	"pretext/trainer/loader"
)

func Example() {
	dir, err := os.MkdirTemp("", "tinydata")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := tinydata.Write(dir, tinydata.Options{Train: 7, Eval: 3, Vocab: 20}); err != nil {
		fmt.Println(err)
		return
	}
	for _, side := range []string{sharding.Train, sharding.Eval} {
		shards, err := loader.Open(context.Background(), dir, loader.Options{Split: side, Verify: true})
		if err != nil {
			fmt.Println(err)
			return
		}
		n, _ := shards.Records()
		fmt.Println(side, len(shards.Files()), "files", n, "examples")
	}
	// Output:
	// train 2 files 7 examples
	// eval 2 files 3 examples
}

func TestEveryExampleIsSoundInput(t *testing.T) {
	dir := t.TempDir()
	if err := tinydata.Write(dir, tinydata.Options{Train: 500, Eval: 1, Vocab: 20, Seed: 9}); err != nil {
		t.Fatal(err)
	}
	shards, err := loader.Open(context.Background(), dir, loader.Options{})
	if err != nil {
		t.Fatal(err)
	}
	rules, n := records.Rules{VocabSize: 20, CLS: 2, SEP: 3}, 0
	for r, err := range shards.Examples(context.Background()) {
		if err == nil {
			err = rules.Check(r.Example)
		}
		if err != nil {
			t.Fatalf("example %d: %v", n, err)
		}
		n++
	}
	if n != 501 {
		t.Errorf("%d examples, want 501", n)
	}
}
