//go:build unix

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// randomWords writes JSON lines in which every one of n words of random letters
// occurs twice.
func randomWords(t *testing.T, path string, n int) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	words := make([]string, n)
	for i := range words {
		word := make([]byte, 9)
		for k := range word {
			word[k] = byte('a' + r.IntN(26))
		}
		words[i] = string(word)
	}
	var out bytes.Buffer
	for range 2 {
		r.Shuffle(n, func(i, j int) { words[i], words[j] = words[j], words[i] })
		for i, word := range words {
			switch {
			case i%400 == 0:
				out.WriteString(`{"text": "So ` + word)
			case i%400 == 399 || i == n-1:
				out.WriteString(" " + word + ".\"}\n")
			case i%10 == 9:
				out.WriteString(" " + word + ". So")
			default:
				out.WriteString(" " + word)
			}
		}
	}
	if err := os.WriteFile(path, out.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
}

// A vocabulary of 128,000 tokens is trained and used. Ids above 65,535, which do not
// fit in two bytes, are in the examples, and verify accepts them.
func TestAVocabularyOf128000TokensGoesFromTextToExamples(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text, tokenizer, shards := filepath.Join(dir, "text.jsonl"), filepath.Join(dir, "tokenizer"), filepath.Join(dir, "shards")
	randomWords(t, text, 40_000)
	prepareData(t, "vocab", text, "--model=bpe", "--vocab-size=128000", "--out", tokenizer, "--quiet").succeed(t)
	prepareData(t, "examples", text, "--tokenizer", filepath.Join(tokenizer, "tokenizer.json"), "--dupe-factor=1", "--shards=1", "--out", shards, "--quiet").succeed(t)
	prepareData(t, "verify", shards).succeed(t)
	p := prepareData(t, "head", shards, "--json", "-n", "0")
	p.succeed(t)
	ids, wide, most := 0, 0, 0
	for lines := bufio.NewScanner(&p.stdout); lines.Scan(); {
		var record struct {
			IDs []int `json:"input_ids"`
		}
		if err := json.Unmarshal(lines.Bytes(), &record); err != nil {
			t.Fatal(err)
		}
		for _, id := range record.IDs {
			ids++
			most = max(most, id)
			if id > 1<<16-1 {
				wide++
			}
		}
	}
	if wide < ids/100 || most >= 128_000 {
		t.Errorf("%d of %d ids above 65,535, the highest %d", wide, ids, most)
	}
}
