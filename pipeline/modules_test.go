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

// dumpOfModules is a dump whose pages call modules: with data, random numbers, templates,
// errors, and as many steps as a call may take.
func dumpOfModules(wiki string, pages int) []byte {
	var b strings.Builder
	b.WriteString(`<mediawiki xml:lang="en"><siteinfo><dbname>` + wiki + `</dbname><namespaces><namespace key="0" /><namespace key="10">Template</namespace><namespace key="828">Module</namespace></namespaces></siteinfo>` + "\n")
	id := 0
	page := func(ns int, title, text string) {
		id++
		model := "<model>wikitext</model><format>text/x-wiki</format>"
		if ns == 828 {
			model = "<model>Scribunto</model><format>text/plain</format>"
		}
		fmt.Fprintf(&b, "<page><title>%s</title><ns>%d</ns><id>%d</id><revision><id>%d</id><timestamp>2025-01-02T03:04:05Z</timestamp>%s<text xml:space=\"preserve\">%s</text></revision></page>\n",
			title, ns, id, id, model, strings.NewReplacer("&", "&amp;", "<", "&lt;").Replace(text))
	}
	page(828, "Module:Words", `local p, data = {}, mw.loadData("Module:Words/data")
		function p.word(frame) return data.words[(tonumber(frame.args[1]) - 1) % 3 + 1] .. math.random(1000) end
		function p.list(frame) local t = {} for k, v in pairs(frame:getParent().args) do t[#t + 1] = v end return mw.text.listToText(t) end
		function p.fail(frame) error("no") end
		function p.loop(frame) while true do end end
		function p.day(frame) return os.date("%d.%m.%Y") .. tostring({}):len() end
		return p`)
	page(828, "Module:Words/data", `return {words = {"one", "two", "three"}}`)
	page(10, "Template:List", "{{#invoke:Words|list}}")
	for n := range pages {
		text := fmt.Sprintf("The word is {{#invoke:Words|word|%d}} and {{#invoke:Words|word|%d}}, of the list {{List|a%d|b|c}}. It is of the day {{#invoke:Words|day}}, and {{#invoke:Words|fail}} is a hole. ", n+1, n+2, n)
		if n%20 == 7 {
			text += "So is {{#invoke:Words|loop}} here. "
		}
		page(0, fmt.Sprintf("Page %d of %s", n, wiki), strings.Repeat(text, 1+n%3))
	}
	b.WriteString("</mediawiki>\n")
	return []byte(b.String())
}

// The text of pages that call modules does not depend on the number of workers, nor on the
// pages that a worker has read before.
func TestModulesGiveTheSameBytes(t *testing.T) {
	dir := t.TempDir()
	var sources []Source
	for k := range 6 { // each is a task
		wiki := fmt.Sprintf("test%dwiki", k)
		sources = append(sources, Source{KindWiki, writeFile(t, dir, wiki+"-20250103-pages-articles.xml", dumpOfModules(wiki, 15+5*k))})
	}
	var want map[string]string
	for _, workers := range []int{1, 2, 5} {
		out := filepath.Join(t.TempDir(), "documents")
		o := DefaultExtractOptions()
		m, err := Extract(context.Background(), stage.Runner{Name: "direct", Workers: workers}, ExtractConfig{Target: stage.Target{Out: out, Memory: 1e9},
			Reading: Reading{Extract: o, MaxRejects: 1}, Sources: sources})
		if err != nil {
			t.Fatal(err)
		}
		calls, failed := m.Counts[counts.KeyOf("module_calls")], m.Counts[counts.KeyOf("module_failures.error")]
		if calls < 700 || failed < 150 || m.Counts[counts.KeyOf("module_failures.steps")] == 0 {
			t.Fatalf("%d calls, %d errors: %v", calls, failed, m.Counts)
		}
		if want == nil {
			want = tree(t, out)
		} else if diff := cmp.Diff(want, tree(t, out)); diff != "" {
			t.Errorf("%d workers: %s", workers, diff)
		}
	}
}
