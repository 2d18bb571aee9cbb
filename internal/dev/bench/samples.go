package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"pretext/extract/wiki/wikitext"
	"pretext/tokenize/sentence"
)

// strippers compares tools that convert a page's wikitext to text.
func (b *peerBench) strippers() error {
	var texts []string
	for _, p := range b.pages {
		texts = append(texts, string(p.text))
	}
	units := thin(texts, pageSample)
	s := wikitext.NewScanner(wikitext.DefaultOptions())
	var text []byte
	ours := work{name: "wikitext to text", of: "wikitext", bytes: sizeOf(units)}.inside(func() (int64, error) {
		for _, u := range units {
			text = s.AppendText(text[:0], []byte(u), wikitext.Page{Lang: b.dump.head.Lang})
		}
		return 0, nil
	})
	peer, err := b.prepare(script{work: work{name: "mwparserfromhell strip_code", of: "wikitext"}, file: "strip.py", units: units})
	if err != nil {
		return err
	}
	b.all = append(b.all, ours, peer)
	b.list = append(b.list, pair{Name: "wikitext to text / mwparserfromhell", Ours: ours.name, Peer: peer.name, Same: &verdict{Text: fmt.Sprintf("same %d pages; it keeps what we drop", len(units))}})
	return nil
}

// punkts compares sentence splitters on whole documents, as NLTK splits them.
func (b *peerBench) punkts() error {
	var texts []string
	for _, d := range b.documents {
		texts = append(texts, d.Text)
	}
	units := thin(texts, documentSample)
	splitter, err := sentence.New("punkt", "en")
	if err != nil {
		return err
	}
	var spans []sentence.Span
	ours := work{name: "Punkt", of: "text", bytes: sizeOf(units)}.inside(func() (int64, error) {
		for _, u := range units {
			spans = splitter.AppendSpans(spans[:0], u)
		}
		return 0, nil
	})
	sum := func(u string) uint32 {
		var parts []string
		for _, s := range splitter.AppendSpans(nil, u) {
			parts = append(parts, sentence.Strip(u[s.Start:s.End]))
		}
		return crc32.ChecksumIEEE([]byte(strings.Join(parts, "\n")))
	}
	same := &verdict{Text: "not measured"}
	peer, err := b.prepare(script{work: work{name: "NLTK 3.8.1 Punkt", of: "text"}, file: "punkt.py", args: []string{punktParameters}, units: units, same: same, sum: sum})
	if err != nil {
		return err
	}
	b.all = append(b.all, ours, peer)
	b.list = append(b.list, pair{"Punkt / NLTK 3.8.1", ours.name, peer.name, 25, same})
	return nil
}

// thin returns units at equal distances in the list, size bytes in all.
func thin(units []string, size int64) (kept []string) {
	step := max(1, float64(sizeOf(units))/float64(size))
	for i := 0.0; int(i) < len(units); i += step {
		kept = append(kept, units[int(i)])
	}
	return kept
}

func sizeOf(units []string) (n int64) {
	for _, u := range units {
		n += int64(len(u))
	}
	return n
}

// A script is a Python program that runs a peer on units of text.
type script struct {
	work  // its name and what its bytes are
	file  string
	args  []string
	units []string
	same  *verdict
	sum   func(unit string) uint32 // checksum of our result; nil: results are not compared
}

// prepare writes the input of a script and returns the work of running it.
func (b *peerBench) prepare(s script) (*work, error) {
	input := filepath.Join(b.dir, fmt.Sprintf("%d.input", len(b.all)))
	var text strings.Builder
	var want []uint32
	for _, u := range s.units {
		text.WriteString(strings.ReplaceAll(u, "\n", "\x01") + "\n") // one unit on each line
		if s.sum != nil {
			want = append(want, s.sum(u))
		}
	}
	if err := os.WriteFile(input, []byte(text.String()), 0o644); err != nil {
		return nil, err
	}
	sums := input + ".sums"
	args := append(append([]string{filepath.Join(b.dir, "peers", s.file)}, s.args...), input, sums)
	s.bytes = sizeOf(s.units)
	s.run = func(ctx context.Context) (sample, error) {
		measured, err := runScript(exec.CommandContext(ctx, b.o.python, args...), s.bytes)
		if err != nil || s.sum == nil {
			return measured, err
		}
		text, err := compareSums(sums, want)
		s.same.Text = s.same.Before + text
		return measured, err
	}
	return &s.work, nil
}

// runScript runs a script on an input of size bytes. The CPU time in the sample
// is the time that the script prints, which does not include the start of the
// interpreter.
func runScript(cmd *exec.Cmd, size int64) (sample, error) {
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	s, err := child(cmd)
	if err != nil {
		return s, err
	}
	var printed struct {
		CPU   float64 `json:"cpu_seconds"`
		Bytes int64   `json:"bytes"`
	}
	if err := json.Unmarshal(stdout.Bytes(), &printed); err != nil {
		return s, err
	}
	if printed.Bytes != size {
		return s, fmt.Errorf("the script read %d bytes, want %d", printed.Bytes, size)
	}
	s.CPU, s.Bytes = time.Duration(printed.CPU*float64(time.Second)), size
	return s, nil
}

func compareSums(path string, want []uint32) (string, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	if len(raw) != 4*len(want) {
		return "", fmt.Errorf("the script wrote %d results, want %d", len(raw)/4, len(want))
	}
	different := 0
	for i, w := range want {
		if binary.LittleEndian.Uint32(raw[4*i:]) != w {
			different++
		}
	}
	if different == 0 {
		return fmt.Sprintf("equal for all of %d units", len(want)), nil
	}
	return fmt.Sprintf("different for %d of %d units", different, len(want)), nil
}
