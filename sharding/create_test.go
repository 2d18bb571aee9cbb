package sharding_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pretext/sharding"
)

// The Writer makes shards of examples that the caller made, so it must not record
// options that it cannot follow.
func TestCreateRefusesOptionsThatItCannotFollow(t *testing.T) {
	vocab := filepath.Join(t.TempDir(), sharding.VocabName)
	if err := os.WriteFile(vocab, []byte("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*sharding.ExamplesOptions){
		"a mix, which chooses documents": func(o *sharding.ExamplesOptions) {
			o.Mix = &sharding.Mix{Epochs: map[string]float64{"books": 2}}
		},
		"max_seq_length": func(o *sharding.ExamplesOptions) { o.MaxSeqLength = 0 },
	} {
		o := sharding.DefaultExamplesOptions()
		change(&o)
		tokenizer, err := sharding.LoadTokenizer(vocab, o)
		if err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(t.TempDir(), "shards")
		_, err = sharding.Create(t.Context(), out, tokenizer)
		if usage := (interface{ Usage() bool })(nil); !errors.As(err, &usage) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want a usage error with %q", err, want)
		}
		if _, err := os.Stat(filepath.Join(out, sharding.PlanName)); err == nil {
			t.Error("it wrote a plan")
		}
	}
}
