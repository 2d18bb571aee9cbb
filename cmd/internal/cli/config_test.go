package cli

import (
	"bytes"
	"testing"
)

// A default is a comment: as a value it would override what a preset sets.
func TestDefaultsAreComments(t *testing.T) {
	var out bytes.Buffer
	err := writeYAML(&out, "prog run", []effective{
		{Name: "out", Values: []string{"x"}, Origin: "flag"},
		{Name: "shards", Values: []string{"8"}, Origin: "default"},
		{Name: "books", Values: []string{"a", "b: c"}, Origin: "run.yaml line 3", list: true, quote: true},
	})
	const want = "# prog run, each value with its origin\n" +
		"out: x              # flag\n" +
		"# shards: 8         # default\n" +
		"books: [a, \"b: c\"]  # run.yaml line 3\n"
	if err != nil || out.String() != want {
		t.Errorf("got %v\n%s, want\n%s", err, &out, want)
	}
}
