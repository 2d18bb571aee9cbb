package pipeline

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pretext/counts"
	"pretext/pipeline/stage"
)

// pagesAsHTML returns pages as lines of a snapshot; every fifth line is no page.
func pagesAsHTML(from, to int) []byte {
	var b strings.Builder
	for i := from; i < to; i++ {
		if i%5 == 0 {
			b.WriteString("{\n")
		}
		fmt.Fprintf(&b, `{"name":"Page %d","identifier":%d,"is_part_of":{"identifier":"testwiki"},"in_language":{"identifier":"en"},"article_body":{"html":"<p>The river number %d runs to the <b>sea</b>.</p>"}}`+"\n", i, i+1, i)
	}
	return []byte(b.String())
}

// Snapshots, and a directory of more pages than one task takes, give the same
// files for any number of workers, and every page is a document or a reject.
func TestHTMLGivesTheSameBytesForAnyWorkers(t *testing.T) {
	in := t.TempDir()
	for i := range 4 {
		writeFile(t, in, fmt.Sprintf("parts/part_%d.ndjson", i), pagesAsHTML(i*20, i*20+20))
	}
	const pages = htmlTaskFiles + 10
	for i := range pages {
		writeFile(t, in, fmt.Sprintf("pages/%05d.html", i), fmt.Appendf(nil, `<title>P%d</title><meta property="mw:pageId" content="%d"><p>Text %d.</p>`, i, i+1, i))
	}
	var want map[string]string
	for _, workers := range []int{1, 3} {
		out := filepath.Join(t.TempDir(), "out")
		m, err := Extract(context.Background(), stage.Runner{Name: stage.Runners[0], Workers: workers}, ExtractConfig{Target: stage.Target{Out: out, Memory: 600e6},
			Reading: Reading{Extract: DefaultExtractOptions(), MaxRejects: 1}, Sources: []Source{{KindWikiHTML, filepath.Join(in, "parts")}, {KindWikiHTML, filepath.Join(in, "pages")}}})
		if err != nil {
			t.Fatal(err)
		}
		if c := m.Counts; c[counts.KeyOf("documents")] != 80+pages || c[counts.KeyOf("reject.malformed")] != 16 || c[counts.KeyOf("pages")] != c[counts.KeyOf("documents")]+16 {
			t.Errorf("counts %v", c)
		}
		if v := verify(t, out); !v.OK() {
			t.Error(v.Problems)
		}
		got := tree(t, out)
		if want == nil {
			want = got
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("with %d workers, -1 +%d:\n%s", workers, workers, diff)
		}
	}
}
