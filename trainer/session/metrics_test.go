package session

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pretext/trainer"
	"pretext/trainer/checkpoint"
)

// Whatever the bytes of a file of metrics: what a resume keeps of it is whole
// lines from its beginning, none of a later step, and all of that when it is read
// again; and its curve is a drawing.
func FuzzMetrics(f *testing.F) {
	f.Add([]byte("{\"step\":1,\"loss\":2.5}\n{\"step\":2,\"loss\":null,\"skipped\":true}\n{\"step\":2,\"eval_loss\":1,\"eval_examples\":4,\"eval_unigram_loss\":3}\n"), int64(1))
	f.Add([]byte("{\"step\":0,\"damage\":{\"file\":\"a\",\"record\":3,\"offset\":9,\"tail\":true,\"reason\":\"x\"}}\n{\"step\":1,\"left_out\":3}\n{\"st"), int64(9))
	f.Add([]byte("{\"step\":-1,\"loss\":1e308}\n{\"step\":9223372036854775807,\"loss\":-1e308}\n"), int64(1<<62))
	f.Add([]byte("null\n\r\n[]\n"), int64(-1))
	f.Fuzz(func(t *testing.T, data []byte, last int64) {
		path := filepath.Join(fastDir(t), MetricsFile)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if c, err := ReadCurve(path); err != nil {
			t.Fatalf("curve: %v", err)
		} else {
			wellFormed(t, c.SVG())
		}
		from := &checkpoint.Checkpoint{State: checkpoint.State{Progress: trainer.Progress{Step: last}}}
		first := cutAt(t, path, from)
		kept, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		rest := data
		for line := range bytes.Lines(kept) {
			at := bytes.Index(rest, line)
			if at < 0 || !bytes.HasSuffix(line, []byte("\n")) {
				t.Fatalf("the line %q is not one of the file", line)
			}
			rest = rest[at+len(line):]
		}
		again := cutAt(t, path, from)
		after, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(kept, after) {
			t.Fatalf("cut twice: %q, %v, was %q", after, err, kept)
		}
		if first.evaluated != again.evaluated || first.skipped.Examples != again.skipped.Examples || first.skipped.Named != again.skipped.Named || first.evaluated > last && first.evaluated > 0 {
			t.Fatalf("read again: %+v, was %+v", again, first)
		}
	})
}

// The page names the baseline that its chart and its summary show: of a small
// vocabulary a loss below 1, else none.
func TestACurveNamesItsBaseline(t *testing.T) {
	for _, test := range []struct {
		line  string
		shown bool
	}{
		{`{"step":1,"eval_loss":0.5,"eval_unigram_loss":0.25}`, true},
		{`{"step":1,"eval_loss":0.5,"eval_nsp_loss":0.1,"eval_unigram_loss":0.25}`, true},
		{`{"step":1,"eval_loss":0.5}`, false},
	} {
		path := filepath.Join(t.TempDir(), MetricsFile)
		if err := os.WriteFile(path, []byte(`{"step":1,"loss":0.5}`+"\n"+test.line+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := ReadCurve(path)
		if err != nil {
			t.Fatal(err)
		}
		html := string(c.HTML())
		for _, part := range []string{"The dashed line is the loss of a " + c.baseline() + " on", " A " + c.baseline() + " reach", `<polyline class="line dashed"`} {
			if strings.Contains(html, part) != test.shown {
				t.Errorf("%s: %q is shown: %t\n%s", test.line, part, !test.shown, html)
			}
		}
	}
}

func cutAt(t *testing.T, path string, from *checkpoint.Checkpoint) *metrics {
	t.Helper()
	m, err := openMetrics(path, from)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	return m
}

func wellFormed(t *testing.T, b []byte) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(b))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("the drawing is no XML: %v", err)
		}
	}
}

// The search for the end of a line reads only a limited part of the file into
// memory.
func TestALineWithoutEndIsNoMetric(t *testing.T) {
	n := 0
	err := eachMetric(io.MultiReader(strings.NewReader("{\"step\":1}\n"), io.LimitReader(zeros{}, 100<<20)), func([]byte, metric) error { n++; return nil })
	if err != nil || n != 1 {
		t.Errorf("got %d lines, %v, want the one before", n, err)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = '0'
	}
	return len(b), nil
}
