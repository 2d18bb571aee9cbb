package quality_test

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pretext/extract/quality"
	"pretext/extract/wiki"
	"pretext/internal/dev/realdata"
)

// stubs are the rules that ask for a length. They reject stubs, whatever the language.
var stubs = map[string]bool{"min-words": true, "min-sentences": true}

// explained are the rules that reject more than 5 % of the articles of a wiki, and the
// percentage that they may reject. docs/prepare.md explains them.
var explained = map[string]map[string]float64{
	"elwikivoyage":         {"min-punctuated-lines": 30, "max-short-lines": 8},
	"enwiki-small":         {"min-punctuated-lines": 5},
	"enwiktionary":         {"min-punctuated-lines": 73, "max-short-lines": 22, "max-duplicate-lines": 5, "max-repeated-line-characters": 6},
	"shintowiki":           {"min-punctuated-lines": 42, "max-curly-brackets": 33},
	"ltgwiki":              {"min-punctuated-lines": 10, "max-short-lines": 8, "max-top-2-gram": 4},
	"ngwiki":               {"min-punctuated-lines": 10, "max-short-lines": 24},
	"enwiki-reconstructed": {"min-punctuated-lines": 9},
}

// TestTheSetsRejectFewArticles applies each set to every wiki of the test data. Each set
// rejects at most 5 % of the articles that are no stubs, or two of them, except by the rules
// explained.
func TestTheSetsRejectFewArticles(t *testing.T) {
	t.Parallel()
	dumps, err := filepath.Glob(realdata.Path(t, "wiki") + "/*.xml.bz2")
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range []string{"gopher", "c4", "fineweb"} {
		for _, name := range dumps {
			if strings.Contains(name, "index") {
				continue
			}
			documents, rejected := checkDump(t, name, "", set)
			total := 0
			for rule, n := range rejected {
				percent := 100 * float64(n) / float64(documents)
				allowed := 0.0
				for wiki, rules := range explained {
					if strings.HasPrefix(filepath.Base(name), wiki) {
						allowed = rules[rule]
					}
				}
				if allowed == 0 {
					total += n
				} else if percent > allowed {
					t.Errorf("%s: %s rejects %.1f %%, explained are %g %%", filepath.Base(name), rule, percent, allowed)
				}
			}
			if total > max(2, documents/20) {
				t.Errorf("%s: %s rejects %d of %d articles, want at most 5 %%: %v", filepath.Base(name), set, total, documents, rejected)
			}
		}
	}
}

// The articles of 60 languages, one or a few of each, are rejected as rarely. Their dumps do
// not say their language.
func TestTheSetsRejectFewArticlesOfManyLanguages(t *testing.T) {
	t.Parallel()
	dumps, err := filepath.Glob(realdata.Path(t, "wiki/minidumps") + "/*.xml.bz2")
	if err != nil || len(dumps) < 60 {
		t.Fatal(len(dumps), err)
	}
	for _, set := range []string{"gopher", "c4", "fineweb"} {
		articles, total, rejected := 0, 0, map[string]string{}
		for _, name := range dumps {
			lang, _, _ := strings.Cut(filepath.Base(name), "wiki")
			n, rules := checkDump(t, name, lang, set)
			articles += n
			for rule, k := range rules {
				rejected[lang] = rule
				total += k
			}
		}
		for _, list := range []string{"bs", "la", "scn", "te", "ur"} { // most of the page is a list; te is one sentence without a mark
			if set == "fineweb" && rejected[list] != "" {
				total--
			}
		}
		if total > articles/20 {
			t.Errorf("%s rejects %d of %d articles, want at most 5 %%: %v", set, total, articles, rejected)
		}
	}
}

// checkDump counts the articles of a dump that are no stubs, and those that rules of a set
// reject. lang is the language if the dump does not say it.
func checkDump(t *testing.T, name, lang, set string) (documents int, rejected map[string]int) {
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	head, err := wiki.ReadHead(f, info.Size())
	if err != nil {
		t.Fatal(err)
	}
	limits, err := quality.SetLimits(set)
	if err != nil {
		t.Fatal(err)
	}
	filter, err := quality.New(quality.Options{Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	rejected = map[string]int{}
	r := wiki.NewReader(wiki.Dump{File: f, Size: info.Size(), Name: filepath.Base(name), Head: head}, wiki.Range{End: info.Size()}, wiki.DefaultOptions())
	for doc, err := range r.Documents() {
		if err != nil {
			break // a dump that was cut
		}
		doc.Lang = cmp.Or(lang, doc.Lang, "en")
		if words, _ := filter.Measure(doc, "min-words"); words < 50 {
			continue
		}
		switch v := filter.Check(doc); {
		case stubs[v.Rule]:
		case v.Rule != "":
			rejected[v.Rule]++
			fallthrough
		default:
			documents++
		}
	}
	return documents, rejected
}
