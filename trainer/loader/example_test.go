package loader_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"pretext/sharding"
	"pretext/trainer/loader"
)

// show is the Go of docs/reading.md, line for line.
func show(ctx context.Context, path string) error {
	shards, err := loader.Open(ctx, path, loader.Options{Split: sharding.Train})
	if err != nil {
		return err // not finished, or not what its manifest says
	}
	for record, err := range shards.Examples(ctx) {
		if err != nil {
			return err // damage, with file, record and byte
		}
		e := record.Example // valid until the next step
		for i, position := range e.MaskedLMPositions[:e.Predictions()] {
			fmt.Printf("id %d, where %d is to be predicted\n", e.InputIDs[position], e.MaskedLMIDs[i])
		}
	}
	return nil
}

// mustFail is a failer for an Example, which has no test.
type mustFail struct{}

func (mustFail) Helper()           {}
func (mustFail) Fatal(args ...any) { panic(fmt.Sprint(args...)) }

func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	newFolder(mustFail{}, false, shard{sharding.Train, []int{5, 6, 7}}).writeTo(mustFail{}, dir)
	if err := show(context.Background(), dir); err != nil {
		fmt.Println(err)
	}
	// Output:
	// id 5, where 5 is to be predicted
	// id 6, where 6 is to be predicted
	// id 7, where 7 is to be predicted
}

func TestTheGoOfTheDocumentationIsThis(t *testing.T) {
	page, err := os.ReadFile("../../docs/reading.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, ok1 := strings.Cut(string(page), "```go\n")
	block, _, ok2 := strings.Cut(after, "```")
	source, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	if !ok1 || !ok2 || !strings.Contains(string(source), "\n"+block+"\n") {
		t.Errorf("docs/reading.md has other Go than example_test.go:\n%s", block)
	}
}
