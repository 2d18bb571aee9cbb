package main

import (
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
	ours := inside("wikitext to text", "wikitext", sizeOf(units), func() (int64, error) {
		for _, u := range units {
			text = s.AppendText(text[:0], []byte(u), wikitext.Page{Lang: b.head.Lang})
		}
		return 0, nil
	})
	peer, err := b.script("mwparserfromhell strip_code", "wikitext", "strip.py", units, nil, nil)
	if err != nil {
		return err
	}
	b.all = append(b.all, ours, peer)
	b.compare("wikitext to text / mwparserfromhell", ours.name, peer.name, 0, &verdict{Text: fmt.Sprintf("same %d pages; it keeps what we drop", len(units))})
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
	ours := inside("Punkt", "text", sizeOf(units), func() (int64, error) {
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
	peer, err := b.script("NLTK 3.8.1 Punkt", "text", "punkt.py", units, same, sum, punktParameters)
	if err != nil {
		return err
	}
	b.all = append(b.all, ours, peer)
	b.compare("Punkt / NLTK 3.8.1", ours.name, peer.name, 25, same)
	return nil
}

// thin selects units at equal distances, up to a total size.
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

// script returns a work that runs a Python script on units of text. If sum is
// set, the results are compared with ours by checksum.
func (b *peerBench) script(name, of, file string, units []string, same *verdict, sum func(string) uint32, args ...string) (*work, error) {
	input := filepath.Join(b.dir, fmt.Sprintf("%d.input", len(b.all)))
	var text strings.Builder
	for _, u := range units {
		text.WriteString(strings.ReplaceAll(u, "\n", "\x01")) // one unit on each line
		text.WriteByte('\n')
	}
	if err := os.WriteFile(input, []byte(text.String()), 0o644); err != nil {
		return nil, err
	}
	var want []uint32
	if sum != nil {
		for _, u := range units {
			want = append(want, sum(u))
		}
	}
	sums := input + ".sums"
	args = append(append([]string{filepath.Join(b.dir, "peers", file)}, args...), input, sums)
	return &work{name: name, of: of, bytes: sizeOf(units), run: func(ctx context.Context) (s sample, err error) {
		var stdout strings.Builder
		cmd := exec.CommandContext(ctx, b.o.python, args...)
		cmd.Stdout = &stdout
		if s, err = child(cmd); err != nil {
			return s, err
		}
		var said struct {
			CPU   float64 `json:"cpu_seconds"`
			Bytes int64   `json:"bytes"`
		}
		if err := json.Unmarshal([]byte(stdout.String()), &said); err != nil {
			return s, err
		}
		if said.Bytes != sizeOf(units) {
			return s, fmt.Errorf("it read %d bytes of %d", said.Bytes, sizeOf(units))
		}
		s.CPU, s.Bytes = time.Duration(said.CPU*float64(time.Second)), said.Bytes // of the work, without the interpreter's start
		if sum == nil {
			return s, nil
		}
		text, err := compareSums(sums, want)
		same.Text = same.Before + text
		return s, err
	}}, nil
}

func compareSums(path string, want []uint32) (string, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	if len(raw) != 4*len(want) {
		return "", fmt.Errorf("it made %d results of %d units", len(raw)/4, len(want))
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
