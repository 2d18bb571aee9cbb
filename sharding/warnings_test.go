package sharding

import (
	"encoding/json"
	"strings"
	"testing"

	"pretext/counts"
)

// Every warning is one line with its figure and what to do.
func TestWarningsAreDescribed(t *testing.T) {
	m := Manifest{Recipe: Recipe{Stage: "examples", Options: json.RawMessage(`{"max_seq_length":512,"max_predictions_per_seq":20,"masked_lm_prob":0.15,"eval_fraction":0.05}`)},
		Counts: Counts{counts.KeyOf("documents"): 7, counts.KeyOf("masked"): 445, counts.KeyOf("record_tokens"): 10_000}}
	extracted := Manifest{Recipe: Recipe{Stage: "extract"}, Files: []FileEntry{
		{Name: "documents-a-b-00000.jsonl.zst", Counts: Counts{counts.KeyOf("reject.too-short"): 2, counts.KeyOf("reject.empty"): 1}},
		{Name: "documents-a-b-00001.jsonl.zst", Counts: Counts{counts.KeyOf("reject.too-short"): 3}},
		{Name: "documents-a-00000.jsonl.zst", Counts: Counts{counts.KeyOf("reject.binary"): 99}},
	}}
	filtered := extracted
	filtered.Stage = "filter"
	tokenizer := m
	tokenizer.Options = json.RawMessage(`{"tokenizer":{"model":"wordpiece"}}`)
	for _, test := range []struct {
		m    Manifest
		w    Warning
		want string // words of the text, in order
	}{
		{m, Warning{Code: WarnUnknownTokens, Count: 61, Of: 100, Limit: 0.01}, "[UNK] is 61 % of the tokens (61 of 100, limit 1 %)|vocabulary of that language"},
		{m, Warning{Code: WarnSpelled, Count: 89, Of: 100, Limit: 0.2}, "single letter|89 % of the tokens (89 of 100, limit 20 %)|vocabulary of its language"},
		{m, Warning{Code: WarnUncasedVocab, Count: 139, Of: 1000, Limit: 0.001}, "uncased|13.9 %|limit 0.1 %|give --do-lower-case"},
		{m, Warning{Code: WarnCasedVocab, Count: 31, Of: 100, Limit: 0.01}, "cased (31 % |give --do-lower-case=false"},
		{m, Warning{Code: WarnCasedVocab}, "capitals or accents|give --do-lower-case=false"},
		{tokenizer, Warning{Code: WarnCasedVocab, Count: 31, Of: 100}, `set "lowercase": false in the normalizer of tokenizer.json`},
		{m, Warning{Code: WarnFewPredictions, Count: 30, Of: 100, Limit: 0.95}, "--max-predictions-per-seq 20 leaves 30 %|0.15|4.45 % of the tokens|--max-predictions-per-seq 77"},
		{m, Warning{Code: warnLongSentences, Count: 900, Of: 3, Limit: 512}, "300 tokens on average (limit 512)|--sentence-splitter"},
		{m, Warning{Code: warnSplitter, Subject: "bg, hi", Count: 7, Of: 7, Limit: 0.1}, "100 % of the documents|bg, hi|--sentence-splitter auto"},
		{m, Warning{Code: warnRandomNext, Count: 99, Of: 100, Limit: 0.9}, "99 % of the examples|one sentence"},
		{m, Warning{Code: warnOneDocument, Count: 99, Of: 100, Limit: 0.5}, "99 % of the examples|fewer --shards"},
		{m, Warning{Code: warnEmptySplit, Subject: "eval", Of: 100}, "eval split|--eval-fraction 0.05 of 7 documents"},
		{m, Warning{Code: WarnSameInput, Subject: "a.xml", Count: 1, Of: 3}, "a.xml: 1 of 3 inputs"},
		{extracted, Warning{Code: warnRejects, Subject: "a-b", Count: 6, Of: 7, Limit: 0.5}, "a-b: 85.7 %|5 too-short, 1 empty: see --min-characters"},
		{filtered, Warning{Code: warnRejects, Subject: "a-b", Count: 6, Of: 7, Limit: 0.5}, "of the documents|--rule too-short=off"},
		{extracted, Warning{Code: warnEmptySource, Subject: "a", Of: 99}, "a: no documents of 99|99 binary: these files are not text"},
		{extracted, Warning{Code: warnEmptySource, Subject: "c"}, "c: no documents|nothing in it"},
		{extracted, Warning{Code: warnWikitext, Subject: "a", Count: 9, Of: 10, Limit: 0.1}, "a: 90 % of the documents (9 of 10, limit 10 %) are wikitext|--wiki-dump"},
		{extracted, Warning{Code: warnHTML, Subject: "a", Count: 9, Of: 10, Limit: 0.1}, "a: 90 % of the documents (9 of 10, limit 10 %) are HTML|--wiki-html"},
		{extracted, Warning{Code: warnDumpEnd, Subject: "a", Of: 1, Limit: 1}, "a: the dump does not end with </mediawiki>|get it again"},
		{m, Warning{Code: "of-the-future", Count: 1, Of: 2}, "of-the-future|50 %"},
	} {
		test.m.Warnings = []Warning{test.w}
		text := test.m.Describe()[0].Text
		rest := text
		for part := range strings.SplitSeq(test.want, "|") {
			_, after, ok := strings.Cut(rest, part)
			if !ok {
				t.Errorf("%s: want %q in %q", test.w.Code, part, text)
			}
			rest = after
		}
		if strings.Contains(text, "\n") {
			t.Errorf("%s: more than a line: %q", test.w.Code, text)
		}
	}
}
