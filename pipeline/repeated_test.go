package pipeline

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"pretext/counts"
	"pretext/extract"
	"pretext/internal/dev/realdata"
	"pretext/pipeline/filter"
	"pretext/pipeline/stage"
)

// withLines adds lines to documents: one that every fourth has, one that 20 have, and two
// documents of the first line alone.
func withLines(docs []extract.Document) []extract.Document {
	for i := range docs {
		if i%4 == 1 {
			docs[i].Text = "A program made this page.\n" + docs[i].Text
		}
		if i >= 40 && i < 60 {
			docs[i].Text += "\n Twenty pages say this. "
		}
	}
	for i := range 2 {
		docs = append(docs, extract.Document{ID: fmt.Sprint("line:", i), Text: "A program made this page.\nA program made this page. ", Source: "some", Lang: "en"})
	}
	return docs
}

// A line that more documents have than the limit goes from all of them, and is counted; one
// that exactly as many have stays. What is left decides about duplicates and rules.
func TestRepeatedLinesAreRemoved(t *testing.T) {
	docs := someDocuments(100)
	plain := map[string]string{}
	for _, d := range docs {
		plain[d.ID] = d.Text
	}
	for _, dedup := range []string{filter.DedupNone, filter.DedupExact, filter.DedupMinHash} {
		c := filterConfig(documentsFolder(t, withLines(someDocuments(100))), t.TempDir())
		c.Filter = filter.Options{Dedup: dedup, LineDocuments: 20}
		m := runFilter(t, testRunner, c)
		twenty := 0
		for _, d := range readDocuments(t, c.Out) {
			if strings.HasSuffix(d.Text, "Twenty pages say this.") {
				twenty++
				d.Text = strings.TrimSuffix(d.Text, "\n Twenty pages say this.")
			}
			if d.Text != plain[d.ID] {
				t.Fatalf("%s: %s is %q", dedup, d.ID, d.Text)
			}
		}
		rejects := readRejects(t, c.Out)
		for i := range 2 {
			if r := rejects[fmt.Sprint("line:", i)]; r.Reason != "repeated-lines" || r.Of != "" {
				t.Errorf("%s: document of repeated lines: %+v", dedup, r)
			}
		}
		if n := m.Counts[counts.KeyOf("removed_lines")]; n != 25+4 || m.Counts[counts.KeyOf("removed_line_bytes")] != 29*26 {
			t.Errorf("%s: counts %v", dedup, m.Counts)
		}
		if dedup == filter.DedupNone && (twenty != 20 || len(rejects) != 2) {
			t.Errorf("%d documents have the line of twenty, %d rejects", twenty, len(rejects))
		}
		if v := verify(t, c.Out); !v.OK() {
			t.Errorf("%s: %v", dedup, v.Problems)
		}
	}
}

// Of a wiki written by programs, 8 % of the text are lines that more than 20 pages have.
func TestAWikiOfProgramsLosesItsRepeatedLines(t *testing.T) {
	dir := t.TempDir()
	documents := filepath.Join(dir, "documents")
	sources := []Source{{KindWiki, realdata.Path(t, "wiki/shintowiki-medium-pages-articles-multistream.xml.bz2")}}
	if _, err := Extract(context.Background(), testRunner, ExtractConfig{Target: stage.Target{Out: documents}, Reading: Reading{Extract: DefaultExtractOptions(), MaxRejects: 1}, Sources: sources}); err != nil {
		t.Fatal(err)
	}
	before := repeatedShare(readDocuments(t, documents), 20)
	c := filterConfig(documents, filepath.Join(dir, "out"))
	c.Filter = filter.Options{LineDocuments: 20}
	runFilter(t, testRunner, c)
	after := repeatedShare(readDocuments(t, c.Out), 20)
	t.Logf("%.2f %% of the text are lines that more than 20 documents have; after the filter %.2f %%", 100*before, 100*after)
	if before < 0.05 || after > 0.005 {
		t.Errorf("repeated lines are %.2f %% of the text before the filter and %.2f %% after it", 100*before, 100*after)
	}
}

// repeatedShare returns the share of the text that is in lines that more than most documents
// have.
func repeatedShare(docs []extract.Document, most int) float64 {
	documents := map[string]int{}
	for _, d := range docs {
		seen := map[string]bool{}
		for line := range strings.SplitSeq(d.Text, "\n") {
			if !seen[line] {
				documents[line]++
			}
			seen[line] = true
		}
	}
	repeated, all := 0, 0
	for _, d := range docs {
		for line := range strings.SplitSeq(d.Text, "\n") {
			if all += len(line); documents[line] > most {
				repeated += len(line)
			}
		}
	}
	return float64(repeated) / float64(all)
}
