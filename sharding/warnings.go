package sharding

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pretext/extract"
	"pretext/internal/humanize"
)

// A Warning reports a figure of a finished folder outside its limit: the files are valid,
// but the content is probably not what the user wants. Warnings depend only on
// counts, side-cars, options and vocabulary. They do not depend on workers, runner or
// earlier attempts. The manifest stores the figures; [Manifest.Describe] explains them in
// words.
type Warning struct {
	Code    string  `json:"code"`              // one of the Warn constants
	Subject string  `json:"subject,omitempty"` // name of the source or split; "" for the whole folder
	Count   int64   `json:"count"`
	Of      int64   `json:"of"`
	Limit   float64 `json:"limit"` // limit of Count/Of
}

// Codes of warnings. Each comment describes Count / Of.
const (
	warnRejects        = "rejects"            // rejected articles or documents of a source / all
	warnEmptySource    = "empty-source"       // documents of a source / its pages, books or lines
	warnWikitext       = "wikitext"           // documents of books that look like wikitext / documents of the source
	warnHTML           = "html"               // documents of books that look like HTML / documents of the source
	warnDumpEnd        = "dump-end"           // ends (</mediawiki>) in a dump / dumps
	WarnSameInput      = "same-input"         // inputs with the content of another input / all inputs
	warnUnusedLimit    = "unused-limit"       // documents in a language with limits of the filter / all
	WarnUnknownTokens  = "unknown-tokens"     // [UNK] / all tokens
	WarnSpelled        = "spelled-out"        // tokens of one letter, in scripts without longer tokens / all tokens
	WarnCasedVocab     = "cased-vocabulary"   // entries with capitals / entries with ASCII letters, with lower-casing
	WarnUncasedVocab   = "uncased-vocabulary" // [UNK] / all tokens, with an uncased vocabulary without lower-casing
	WarnLostMarks      = "lost-marks"         // words that lose marks / words of a sample, with an uncased vocabulary
	WarnFewPredictions = "few-predictions"    // predictions / those that masked_lm_prob asks for
	warnLongSentences  = "long-sentences"     // tokens / sentences
	warnSplitter       = "sentence-splitter"  // documents in a language without Punkt parameters / all
	warnRandomNext     = "random-next"        // examples with a random second segment / all
	warnOneDocument    = "one-document"       // examples in shards with a single document / all
	warnLabel          = "label"              // labels that can be predicted from the document of segment B / examples
	warnEmptySplit     = "empty-split"        // examples of a split / all
)

// Limits of warnings. A figure above its limit causes a warning. WarnFewPredictions is
// caused by a figure below its limit.
const (
	limitRejects        = 0.5
	limitMarkup         = 0.1 // wikitext or HTML among books
	limitUnknownTokens  = 0.01
	limitSpelled        = 0.2   // a matching vocabulary gives at most 0.015, one for another script 0.3 to 0.98
	limitUncasedUnknown = 0.001 // text with fewer unknown tokens has hardly any capitals, as in lower-cased corpora
	limitCapitals       = 0.01
	LimitFewPredictions = 0.95 // MLPerf's 76 predictions in 512 tokens give 0.99
	limitSentenceTokens = 128  // default; max_seq_length if that is larger
	limitSplitter       = 0.1
	limitRandomNext     = 0.9
	limitOneDocument    = 0.5
	LimitGuess          = 0.05 // above LabelGuess.Chance
)

// A DescribedWarning is a warning with an explanation: the figure, its limit,
// the likely cause and the remedy.
type DescribedWarning struct {
	Warning
	Text string `json:"text"`
}

// Describe returns the manifest's warnings with explanations, in the same
// order.
func (m *Manifest) Describe() (list []DescribedWarning) {
	for _, w := range m.Warnings {
		list = append(list, DescribedWarning{w, m.warningText(w)})
	}
	return list
}

// value returns the figure of the warning: Count/Of.
func (w Warning) value() float64 {
	if w.Of == 0 {
		return 0
	}
	return float64(w.Count) / float64(w.Of)
}

// warningText explains a warning in one line, with the relevant options and
// counts of the manifest.
func (m *Manifest) warningText(w Warning) string {
	figure := func(of string) string {
		return fmt.Sprintf("%s of the %s (%s of %s, limit %s)", percent(w.value()), of, humanize.Count(w.Count), humanize.Count(w.Of), percent(w.Limit))
	}
	var o ExamplesOptions
	_ = json.Unmarshal(m.Options, &o) // options of other stages, or corrupt ones, are not used in the text
	switch w.Code {
	case warnRejects:
		return fmt.Sprintf("%s: %s were rejected: %s", w.Subject, figure(m.what()), m.rejectsText(w.Subject))
	case warnEmptySource:
		return fmt.Sprintf("%s: no documents of %d pages, books or lines: %s", w.Subject, w.Of, m.rejectsText(w.Subject))
	case warnWikitext:
		return fmt.Sprintf("%s: %s are wikitext, whose markup would be learned as text: give the wiki's dump as --wiki-dump, or convert each page with prepare-data text first", w.Subject, figure("documents"))
	case warnHTML:
		return fmt.Sprintf("%s: %s are HTML, whose tags would be learned as text: convert them to text first; pages of a wiki as HTML go to --wiki-html", w.Subject, figure("documents"))
	case warnDumpEnd:
		return fmt.Sprintf("%s: the dump does not end with </mediawiki>: it was probably truncated: get it again", w.Subject)
	case WarnSameInput:
		return fmt.Sprintf("%s: %d of %d inputs have the same content as another one: their documents are there twice: give each input once", w.Subject, w.Count, w.Of)
	case warnUnusedLimit:
		return fmt.Sprintf("--rule %s:…: none of the %s documents is in this language, so its limits had no effect: "+
			"prepare-data stats lists the languages of the documents", w.Subject, humanize.Count(w.Of))
	case WarnUnknownTokens:
		return fmt.Sprintf("[UNK] is %s: %s", figure("tokens"), m.unknownText())
	case WarnSpelled:
		return fmt.Sprintf("a single letter of a script of which the vocabulary has no words is %s: the text is spelled out letter by letter: "+
			"use a vocabulary of its language, or train one from the documents", figure("tokens"))
	case WarnCasedVocab:
		found := "its entries have capitals or accents"
		if w.Of > 0 {
			found = fmt.Sprintf("%s of its entries with letters have a capital, limit %s", percent(w.value()), percent(w.Limit))
		}
		return fmt.Sprintf("the vocabulary is cased (%s) but text is lower-cased, so those entries never occur: %s", found, o.lowerCaseText(false))
	case WarnUncasedVocab:
		return fmt.Sprintf("the vocabulary is uncased but text is not lower-cased: [UNK] is %s: %s", figure("tokens"), o.lowerCaseText(true))
	case WarnLostMarks:
		if o.LostMarks == nil {
			o.LostMarks = &LostMarks{Losing: w.Count, Words: w.Of}
		}
		return fmt.Sprintf("the vocabulary is uncased, so %s: use a cased vocabulary or tokenizer, with --do-lower-case=false for a vocab.txt, "+
			"or leave out --vocab and --do-lower-case: prepare-data run trains one that keeps marks", o.LostMarks.Describe())
	case WarnFewPredictions:
		return fmt.Sprintf("--max-predictions-per-seq %d leaves %s of the predictions that --masked-lm-prob %s asks for (limit %s): %s of the tokens are masked: give --max-predictions-per-seq %s",
			o.MaxPredictionsPerSeq, percent(w.value()), plain(o.MaskedLMProb), percent(w.Limit),
			percent(Warning{Count: Masked.Of(m.Counts), Of: RecordTokens.Of(m.Counts)}.value()), o.enoughPredictions())
	case warnLongSentences:
		return fmt.Sprintf("a sentence has %.0f tokens on average (limit %.0f): sentences were not found: "+
			"the language needs another --sentence-splitter, or a sentence a line and newline", w.value(), w.Limit)
	case warnSplitter:
		return fmt.Sprintf("%s are in a language without Punkt parameters (%s) and were split as English: give --sentence-splitter auto or newline", figure("documents"), w.Subject)
	case warnRandomNext:
		return fmt.Sprintf("the second segment of %s is random, which should be about half: most documents have one sentence: "+
			"is every sentence a document of its own?", figure("examples"))
	case warnOneDocument:
		return fmt.Sprintf("%s are of shards with one document, where a random second segment is of the same document: "+
			"give fewer --shards, or more documents (in text, a blank line ends a document)", figure("examples"))
	case warnLabel:
		return fmt.Sprintf("the document of the second segment tells the label of %s, where chance is %s: a model learns the documents instead of the task: "+
			"give --nsp-negatives shard, or fewer --shards", figure("examples"), percent(w.Limit-LimitGuess))
	case warnEmptySplit:
		return fmt.Sprintf("the %s split has no examples (--eval-fraction %s of %d documents): give another --eval-fraction or --split-seed, or more documents",
			w.Subject, plain(o.Fraction), extract.Documents.Of(m.Counts))
	}
	return fmt.Sprintf("%s: %s %s", w.Code, w.Subject, percent(w.value())) // a warning code of a later version
}

// unknownText suggests remedies for unknown tokens.
func (m *Manifest) unknownText() string {
	if slices.ContainsFunc(m.Warnings, func(w Warning) bool { return w.Code == WarnUncasedVocab }) {
		return "because text is not lower-cased, see there"
	}
	return "the vocabulary does not cover the text's language, script or case: use a vocabulary of that language, or train one " +
		"from the documents; one that was trained from Chinese or Japanese needs a larger --vocab-size and --limit-alphabet"
}

// Describe returns the fraction of words that lose marks, and of types that merge, as
// text.
func (m LostMarks) Describe() string {
	types := Warning{Count: m.Merged, Of: m.Types}
	return fmt.Sprintf("%s of the words lose marks that may be parts of their letters (%s of %s in a sample, limit %s) and %s of the word types become the same as another (limit %s)",
		percent(Warning{Count: m.Losing, Of: m.Words}.value()), humanize.Count(m.Losing), humanize.Count(m.Words), percent(m.limit()), percent(types.value()), percent(limitMerged))
}

// lowerCaseText explains how to switch lower-casing on or off.
func (o ExamplesOptions) lowerCaseText(lower bool) string {
	if o.Tokenizer != nil {
		return fmt.Sprintf(`set "lowercase": %t in the normalizer of tokenizer.json`, lower)
	}
	if lower {
		return "give --do-lower-case"
	}
	return "give --do-lower-case=false, or an uncased vocabulary"
}

// what returns a plural noun for the kind of input that the stage rejects, such as
// "documents".
func (m *Manifest) what() string {
	if m.Stage == "filter" {
		return "documents"
	}
	return "articles, books or lines"
}

// SourceOf returns the source from the name of a documents file: "enwiki" from
// "documents-enwiki-00000.jsonl.zst".
func SourceOf(name string) string {
	stem := strings.TrimPrefix(strings.TrimSuffix(name, DocumentsSuffix), "documents-")
	if i := strings.LastIndexByte(stem, '-'); i >= 0 {
		stem = stem[:i]
	}
	return stem
}

// cures maps a reject reason of the extract stage to the suggested remedy.
var cures = map[extract.Reject]string{
	extract.RejectRedirect:       "is it a dump of articles?",
	extract.RejectNamespace:      "see --namespaces",
	extract.RejectModel:          "is it a dump of wikitext?",
	extract.RejectDisambiguation: "see --keep-disambiguations",
	extract.RejectEmpty:          "is it a dump of articles, with their text?",
	extract.RejectTooShort:       "see --min-characters",
	extract.RejectMalformed:      "the file is damaged or of another format: get it again",
	extract.RejectUnterminated:   "the file is truncated: get it again",
	extract.RejectDeleted:        "is it a public dump?",
	extract.RejectBinary:         "these files are not text",
	extract.RejectEncoding:       "the encoding is not known: convert the files to UTF-8",
}

// RejectCure returns a remedy for when the extract stage has rejected everything. It
// depends on the most frequent reason. The result is ": " and the remedy, or "".
func RejectCure(c Counts) string {
	reasons := frequentReasons(c)
	if len(reasons) == 0 || cures[reasons[0]] == "" {
		return ""
	}
	return ": " + cures[reasons[0]]
}

// frequentReasons returns the reasons of rejects, the most frequent first.
func frequentReasons(c Counts) (reasons []extract.Reject) {
	for reason := range extract.Rejects.Members(c) {
		reasons = append(reasons, reason)
	}
	slices.SortStableFunc(reasons, func(a, b extract.Reject) int {
		return cmp.Compare(c[extract.Rejects.Member(b)], c[extract.Rejects.Member(a)])
	})
	return reasons
}

// rejectsText lists the most frequent reject reasons of a source, with a remedy for the
// first reason.
func (m *Manifest) rejectsText(source string) string {
	counts := Counts{}
	for _, f := range m.Files {
		if strings.HasSuffix(f.Name, DocumentsSuffix) && SourceOf(f.Name) == source {
			counts.Add(f.Counts)
		}
	}
	reasons := frequentReasons(counts)
	if len(reasons) == 0 {
		return "there is nothing in it"
	}
	var parts []string
	for _, r := range reasons[:min(len(reasons), 3)] {
		parts = append(parts, fmt.Sprintf("%d %s", counts[extract.Rejects.Member(r)], r))
	}
	cure := cures[reasons[0]]
	if m.Stage == "filter" {
		cure = fmt.Sprintf("is the rule meant for this language and kind of text? (--rule %s=off leaves it out)", reasons[0])
	}
	return strings.Join(parts, ", ") + ": " + cure
}

// enoughPredictions returns the max_predictions_per_seq that suffices to predict the
// fraction masked_lm_prob of max_seq_length tokens, or "more" if the options are unknown.
func (o ExamplesOptions) enoughPredictions() string {
	if o.MaxSeqLength == 0 {
		return "more"
	}
	return strconv.Itoa(int(float64(float64(o.MaxSeqLength)*o.MaskedLMProb) + 0.5))
}

// plain formats an option without an exponent.
func plain(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// percent formats a fraction as a percentage with three significant digits.
func percent(f float64) string { return strconv.FormatFloat(100*f, 'g', 3, 64) + " %" }
