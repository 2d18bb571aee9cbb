package demoshards_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"pretext/cmd/train-bert/internal/demoshards"
	"pretext/records"
	"pretext/sharding"
	"pretext/trainer/loader"
)

func Example() {
	dir, err := os.MkdirTemp("", "demoshards")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := demoshards.Unpack(dir); err != nil {
		fmt.Println(err)
		return
	}
	shards, err := loader.Open(context.Background(), dir, loader.Options{Split: sharding.Train, Verify: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(shards.MaxSeqLength(), "tokens,", len(shards.Files()), "files")
	// Output: 32 tokens, 2 files
}

func TestEveryByteAndExampleIsSound(t *testing.T) {
	dir := t.TempDir()
	if err := demoshards.Unpack(dir); err != nil {
		t.Fatal(err)
	}
	shards, err := loader.Open(context.Background(), dir, loader.Options{Verify: true})
	if err != nil {
		t.Fatal(err)
	}
	vocab, err := shards.Vocab(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	rules := records.Rules{VocabSize: vocab.Len(), CLS: vocab.CLS(), SEP: vocab.SEP()}
	for r, err := range shards.Examples(context.Background()) {
		if err == nil {
			err = rules.Check(r.Example)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestAFinishedFolderIsLeftAloneAndAnUnfinishedOneMended(t *testing.T) {
	dir := t.TempDir()
	if err := demoshards.Unpack(dir); err != nil {
		t.Fatal(err)
	}
	vocab, manifest := filepath.Join(dir, sharding.VocabName), filepath.Join(dir, sharding.ManifestName)
	if err := os.WriteFile(vocab, []byte("mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := demoshards.Unpack(dir); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(vocab); err != nil || string(b) != "mine\n" {
		t.Errorf("finished folder was written to: %q, %v", b, err)
	}
	if err := os.Remove(manifest); err != nil {
		t.Fatal(err)
	}
	var usage interface{ Usage() bool }
	if err := demoshards.Unpack(dir); !errors.As(err, &usage) {
		t.Errorf("over a file of somebody else: got %v", err)
	}
	if b, err := os.ReadFile(vocab); err != nil || string(b) != "mine\n" {
		t.Errorf("it was replaced: %q, %v", b, err)
	}
	if err := os.Remove(vocab); err != nil {
		t.Fatal(err)
	}
	if err := demoshards.Unpack(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := loader.Open(context.Background(), dir, loader.Options{Verify: true}); err != nil {
		t.Errorf("mended folder: %v", err)
	}
}
