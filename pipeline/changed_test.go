package pipeline

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pretext/internal/democorpus"
	"pretext/pipeline/stage"
	"pretext/sharding"
)

func TestASourceThatChangesDuringTheRunIsNamed(t *testing.T) {
	text := []byte(strings.Repeat("It was late . He went home .\n\n", 2000))
	for _, source := range []struct {
		kind, name string
		content    []byte
	}{{KindWiki, "w.xml.bz2", democorpus.Dump()}, {kindText, "t.txt", text}, {KindBooks, "b.txt", text}, {kindJSONL, "j.jsonl", []byte(`{"text":"It was late."}` + "\n")}} {
		for want, change := range map[string]func(path string) error{
			"it was removed": os.Remove,
			"it had":         func(path string) error { return os.Truncate(path, int64(len(source.content)/2)) },
			"it has other content": func(path string) error {
				b := append([]byte{}, source.content...)
				b[len(b)-3] ^= 1
				return os.WriteFile(path, b, 0o600)
			},
		} {
			path := filepath.Join(t.TempDir(), source.name)
			if err := os.WriteFile(path, source.content, 0o600); err != nil {
				t.Fatal(err)
			}
			out := t.TempDir()
			r := stage.Runner{Name: "direct", Workers: 2, Watch: func(*stage.Meter) func() {
				if err := change(path); err != nil {
					t.Error(err)
				}
				return func() {}
			}}
			_, err := Extract(t.Context(), r, ExtractConfig{Target: stage.Target{Out: out}, Reading: Reading{Extract: DefaultExtractOptions(), MaxRejects: 1}, Sources: []Source{{source.kind, path}}})
			var changed *ChangedError
			if !errors.As(err, &changed) || !strings.Contains(err.Error(), source.name+" changed during the run: "+want) {
				t.Errorf("%s, %s: got %v", source.name, want, err)
			}
			if _, err := os.Stat(filepath.Join(out, sharding.ManifestName)); err == nil {
				t.Errorf("%s, %s: a manifest was written", source.name, want)
			}
		}
	}
}
