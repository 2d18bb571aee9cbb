// Command encoding compares package tokenize/hf with the answers of Hugging
// Face's tokenizers in a directory that check_encoding.py wrote. It prints the
// first differences of each kind and exits with 1 if there is any.
//
//	go run ./internal/dev/interop/encoding DIR
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pretext/tokenize/hf"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: encoding DIR")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "encoding:", err)
		os.Exit(1)
	}
}

// maxShown is the number of differences printed for a kind.
const maxShown = 5

func run(dir string) error {
	var texts []string
	if err := eachLine(filepath.Join(dir, "texts.jsonl"), func(line []byte) error {
		var text string
		err := json.Unmarshal(line, &text)
		texts = append(texts, text)
		return err
	}); err != nil {
		return err
	}
	paths, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(paths) == 0 {
		return fmt.Errorf("no tokenizers in %s", dir)
	}
	different, cases := 0, 0
	for _, path := range paths {
		d, n, err := compare(path, texts)
		if err != nil {
			return err
		}
		different, cases = different+d, cases+n
	}
	if different > 0 {
		return fmt.Errorf("%d of %d texts differ", different, cases)
	}
	fmt.Printf("%d kinds of tokenizers, %d texts: ids and words equal Hugging Face's\n", len(paths), cases)
	return nil
}

// compare encodes the texts with one tokenizer, and returns the number of those
// that differ and of all.
func compare(path string, texts []string) (different, n int, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, 0, err
	}
	tok, err := hf.Load(filepath.Base(path), data)
	if err != nil {
		return 0, 0, err
	}
	e := tok.NewEncoder()
	err = eachLine(path+"l", func(line []byte) error {
		var c struct {
			Text  *string
			IDs   []int32
			Words []*int
		}
		if err := json.Unmarshal(line, &c); err != nil {
			return err
		}
		if c.Text == nil {
			c.Text = &texts[n]
		}
		n++
		got, starts := e.AppendWords(nil, nil, *c.Text)
		if slices.Equal(got, c.IDs) && slices.Equal(starts, startsOf(c.Words)) {
			return nil
		}
		if different++; different <= maxShown {
			fmt.Printf("%s: %+.300q\n  got  %.300s\n  want %.300s\n", filepath.Base(path), *c.Text, fmt.Sprint(got, starts), fmt.Sprint(c.IDs, startsOf(c.Words)))
		}
		return nil
	})
	if n < len(texts) && err == nil {
		err = fmt.Errorf("%s: %d texts, want at least %d", path, n, len(texts))
	}
	if different > 0 {
		fmt.Printf("%s: %d of %d texts differ\n", strings.TrimSuffix(filepath.Base(path), ".json"), different, n)
	}
	return different, n, err
}

// startsOf returns, for each id, whether its word is another than that of the id
// before.
func startsOf(words []*int) []bool {
	var starts []bool
	for i, w := range words {
		starts = append(starts, i == 0 || w == nil || words[i-1] == nil || *w != *words[i-1])
	}
	return starts
}

func eachLine(path string, use func(line []byte) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<28)
	for lines.Scan() {
		if err := use(lines.Bytes()); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return lines.Err()
}
