package glue_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pretext/internal/dev/realdata"
	"pretext/tokenize"
	"pretext/trainer"
	"pretext/trainer/finetune/glue"
)

// An oracleRow is a line of oracle/mrpc-features.jsonl.
type oracleRow struct {
	Length   int     `json:"max_seq_length"`
	Row      int     `json:"row"`
	InputIDs []int32 `json:"input_ids"`
	SegmentB int     `json:"segment_b"`
	Label    int32   `json:"label"`
}

// The set says neither which table nor which vocabulary it was made with: one
// pair of those of the test data must give every row.
func TestOracleMRPCRows(t *testing.T) {
	var want []oracleRow
	lines := bufio.NewScanner(bytes.NewReader(realdata.Read(t, "oracle/mrpc-features.jsonl")))
	for lines.Scan() {
		var r oracleRow
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		want = append(want, r)
	}
	if len(want) == 0 {
		t.Fatal("no rows")
	}
	task, err := glue.ByName("MRPC")
	if err != nil {
		t.Fatal(err)
	}
	most, nearest := -1, []oracleRow(nil)
	for _, table := range glob(t, "glue/MRPC", "*.tsv") {
		b, err := os.ReadFile(table)
		if err != nil {
			t.Fatal(err)
		}
		rows := labelled(t, task, table, b)
		for _, vocab := range glob(t, "vocab", "bert-base-*cased-vocab.txt") {
			got, equal := rowsOf(t, task, rows, vocab, want), 0
			for i := range got {
				if reflect.DeepEqual(got[i], want[i]) {
					equal++
				}
			}
			if equal == len(want) {
				return
			}
			if equal > most {
				most, nearest = equal, got
			}
		}
	}
	t.Errorf("rows differ with every table and vocabulary; with the nearest %d of %d are equal", most, len(want))
	for i := range nearest {
		if diff := cmp.Diff(want[i], nearest[i]); diff != "" {
			t.Fatalf("row %d (-want +got):\n%s", i, diff)
		}
	}
}

// labelled reads a table. GLUE's own test.tsv has no labels: its rows have class 0
// then, which run_classifier.py gives them.
func labelled(t *testing.T, task glue.Task, name string, table []byte) []glue.Row {
	t.Helper()
	header, _, _ := bytes.Cut(table, []byte("\n"))
	split := glue.Dev
	if !bytes.Contains(header, []byte("Quality")) {
		split = glue.Test
	}
	_, rows, err := task.Read(name, table, split)
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		if rows[i].Class == trainer.NoLabel {
			rows[i].Class = 0
		}
	}
	return rows
}

// rowsOf makes the rows that the oracle has, with a vocabulary.
func rowsOf(t *testing.T, task glue.Task, rows []glue.Row, vocab string, want []oracleRow) (got []oracleRow) {
	t.Helper()
	b, err := os.ReadFile(vocab)
	if err != nil {
		t.Fatal(err)
	}
	v, err := tokenize.ReadVocab(vocab, b)
	if err != nil {
		return nil // not BERT's
	}
	o := tokenize.DefaultOptions()
	o.DoLowerCase = v.LooksUncased()
	tok, err := tokenize.New(v, o)
	if err != nil {
		t.Fatal(err)
	}
	enc := tok.NewEncoder()
	for _, w := range want {
		if w.Row >= len(rows) {
			return nil
		}
		x, err := glue.NewExamples(task, rows[w.Row:w.Row+1], enc, w.Length)
		if err != nil {
			t.Fatal(err)
		}
		var batch trainer.Batch
		x.Append(&batch, 0, 0)
		r := oracleRow{Length: w.Length, Row: w.Row, InputIDs: batch.IDs, Label: batch.Labels[0]}
		for _, s := range batch.Segments {
			r.SegmentB += int(s)
		}
		got = append(got, r)
	}
	return got
}

func glob(t *testing.T, dir, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(realdata.Path(t, dir), pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("no %s/%s: %v", dir, pattern, err)
	}
	return files
}
