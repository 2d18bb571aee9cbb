package cli

import (
	"bytes"
	"errors"
	"testing"

	"github.com/spf13/pflag"

	"pretext/internal/config"
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

func TestAFlagOfOneValueTakesOne(t *testing.T) {
	for _, c := range []struct {
		key    string
		values []string
		ok     bool
	}{{"shards", []string{"8"}, true}, {"shards", []string{"8", "9"}, false}, {"shards", nil, false}, {"shards", []string{"x"}, false}, {"books", []string{"a", "b"}, true}} {
		fs := pflag.NewFlagSet("prog", pflag.ContinueOnError)
		fs.Int("shards", 1, "")
		fs.StringArray("books", nil, "")
		err := set(fs, fs.Lookup(c.key), config.Setting{Key: c.key, Values: c.values, Origin: "run.yaml line 3"})
		if wrong := (*config.Error)(nil); (err == nil) != c.ok || err != nil && !errors.As(err, &wrong) {
			t.Errorf("%s %q: got %v", c.key, c.values, err)
		}
	}
}
