// Command genpunkt packs the Punkt parameters that
// github.com/neurosnap/sentences carries as JSON into the files that package
// sentence embeds:
//
//	go run ./internal/genpunkt -from "$(go list -m -f '{{.Dir}}' github.com/neurosnap/sentences)/data" -to params
//
// A packed file is gzip over UTF-8 lines, sorted by kind and then by bytes:
//
//	a WORD           an abbreviation
//	c FIRST<TAB>SECOND  a collocation
//	o XX WORD        orthographic contexts of a word: bits, as two hexadecimal digits
//	s WORD           a frequent sentence starter
//
// The English parameters of that library contain the starter "she", which NLTK's
// do not contain; genpunkt omits it. It does not change other languages.
package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// parameters holds the parameters of a language in the JSON format. The maps are sets,
// except OrthoContext, which maps a word to its orthographic contexts.
type parameters struct {
	AbbrevTypes  map[string]int
	Collocations map[string]int // key: "first,second"
	SentStarters map[string]int
	OrthoContext map[string]uint8
}

func main() {
	from := flag.String("from", "", "folder with LANGUAGE.json")
	to := flag.String("to", "params", "folder to write LANGUAGE.gz to")
	flag.Parse()
	if err := packAll(*from, *to); err != nil {
		fmt.Fprintln(os.Stderr, "genpunkt:", err)
		os.Exit(1)
	}
}

func packAll(from, to string) error {
	names, err := filepath.Glob(filepath.Join(from, "*.json"))
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return fmt.Errorf("no *.json in %q", from)
	}
	for _, name := range names {
		lang := strings.TrimSuffix(filepath.Base(name), ".json")
		if err := packOne(name, filepath.Join(to, lang+".gz"), lang); err != nil {
			return fmt.Errorf("pack %s: %w", lang, err)
		}
	}
	return nil
}

func packOne(from, to, lang string) error {
	raw, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	var p parameters
	if err := json.Unmarshal(raw, &p); err != nil {
		return err
	}
	if lang == "english" {
		delete(p.SentStarters, "she")
	}
	packed, err := p.lines()
	if err != nil {
		return err
	}
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := w.Write(packed); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return os.WriteFile(to, b.Bytes(), 0o644)
}

// lines returns the lines of the packed file, before compression.
func (p *parameters) lines() ([]byte, error) {
	var lines []string
	for w := range p.AbbrevTypes {
		lines = append(lines, "a "+w)
	}
	for pair := range p.Collocations {
		first, second, ok := strings.Cut(pair, ",")
		if !ok || strings.Contains(second, ",") {
			return nil, fmt.Errorf("collocation %q: not a pair", pair)
		}
		lines = append(lines, "c "+first+"\t"+second)
	}
	for w, context := range p.OrthoContext {
		lines = append(lines, fmt.Sprintf("o %02x %s", context, w))
	}
	for w := range p.SentStarters {
		lines = append(lines, "s "+w)
	}
	slices.Sort(lines)
	for _, l := range lines {
		if strings.ContainsAny(l, "\n\r") {
			return nil, fmt.Errorf("line break in %q", l)
		}
	}
	return []byte(strings.Join(lines, "\n") + "\n"), nil
}
