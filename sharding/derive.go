package sharding

import (
	"context"
	"maps"
	"slices"
	"strings"

	"pretext/extract"
	"pretext/internal/store"
	"pretext/records"
	"pretext/tokenize/sentence"
)

// DeriveWarnings returns the warnings for a manifest whose other fields are
// set. The warnings depend only on the manifest, the side-cars and the
// vocabulary, so that verify can compute and compare them.
func DeriveWarnings(ctx context.Context, folder Folder, m *Manifest) ([]Warning, error) {
	return Known{}.Warnings(ctx, folder, m)
}

// Known is what the maker of a folder knows of its files, so that they need not be
// read for the warnings. The zero value is nothing.
type Known struct {
	Facts     Counts     // sums of all side-cars' Facts; nil if they are not known
	Tokenizer *Tokenizer // of the folder's vocabulary or tokenizer; nil if it is not loaded
}

// Warnings is [DeriveWarnings] with what is known already.
func (k Known) Warnings(ctx context.Context, folder Folder, m *Manifest) (list []Warning, err error) {
	switch m.Stage {
	case "extract":
		list = append(sameInputs(m), sourceWarnings(m, notArticles)...)
	case "filter":
		list = append(sameInputs(m), sourceWarnings(m, copyReasons)...)
	case "vocab":
		list = sameInputs(m)
	case "examples":
		return k.exampleWarnings(ctx, folder, m)
	}
	return list, nil
}

// sameInputs returns a warning if two inputs have equal content.
func sameInputs(m *Manifest) (list []Warning) {
	w := Warning{Code: WarnSameInput, Of: int64(len(m.Inputs))}
	for i, in := range m.Inputs {
		equal := func(other Input) bool { return other.Bytes == in.Bytes && other.SHA256 == in.SHA256 }
		if in.Bytes > 0 && slices.ContainsFunc(m.Inputs[:i], equal) {
			w.Count++
			if w.Subject == "" {
				w.Subject = in.Name
			}
		}
	}
	if w.Count == 0 {
		return nil
	}
	return []Warning{w}
}

// notArticles are the reject reasons of pages that are not articles, or whose
// text is not in the dump. Pages rejected for these reasons do not count for
// WarnRejects.
var notArticles = []string{string(extract.RejectRedirect), string(extract.RejectNamespace), string(extract.RejectModel),
	string(extract.RejectDisambiguation), string(extract.RejectDeleted)}

// copyReasons are the reject reasons of duplicate documents. Documents rejected
// for these reasons do not count for WarnRejects.
var copyReasons = []string{RejectDuplicate, RejectNearDuplicate, RejectContained}

// sourceWarnings returns a warning for each source without documents, and for
// each source whose documents were mostly rejected. Rejects for the reasons in
// ignored do not count.
func sourceWarnings(m *Manifest, ignored []string) (list []Warning) {
	sources := map[string]Counts{}
	var names []string // in source order
	for _, f := range m.DocumentsFiles() {
		name := SourceOf(f.Name)
		if sources[name] == nil {
			sources[name] = Counts{}
			names = append(names, name)
		}
		sources[name].Add(f.Counts)
	}
	for _, name := range names {
		c := sources[name]
		var rejected, all int64
		for _, reason := range c.RejectReasons() {
			all += c["reject."+reason]
			if !slices.Contains(ignored, reason) {
				rejected += c["reject."+reason]
			}
		}
		documents := c["documents"]
		w := Warning{Subject: name, Count: rejected, Of: rejected + documents, Limit: LimitRejects}
		switch {
		case documents == 0:
			list = append(list, Warning{Code: WarnEmptySource, Subject: name, Of: max(all, c["pages"], c["files"], c["lines"])})
		case exceeds(w):
			w.Code = WarnRejects
			list = append(list, w)
		}
		for _, w := range []Warning{{Code: WarnWikitext, Count: c[CountWikitext]}, {Code: WarnHTML, Count: c[CountHTML]}} {
			if w.Subject, w.Of, w.Limit = name, documents, LimitMarkup; exceeds(w) {
				list = append(list, w)
			}
		}
		if c["pages"] > 0 && c["footers"] == 0 && c["html_bytes"] == 0 {
			list = append(list, Warning{Code: WarnDumpEnd, Subject: name, Of: 1, Limit: 1})
		}
	}
	return list
}

// exceeds reports whether the figure of a warning is above its limit.
func exceeds(w Warning) bool { return float64(w.Count) > w.Limit*float64(w.Of) }

// exampleWarnings returns the warnings for a folder of shards.
func (k Known) exampleWarnings(ctx context.Context, folder Folder, m *Manifest) ([]Warning, error) {
	var o ExamplesOptions
	if err := m.DecodeOptions(folder, &o); err != nil {
		return nil, err
	}
	list := sameInputs(m)
	casing, err := k.casingWarnings(ctx, folder, m, o)
	if err != nil {
		return nil, err
	}
	list = append(list, casing...)
	if lost := o.LostMarks; lost != nil {
		list = append(list, Warning{Code: WarnLostMarks, Count: lost.Losing, Of: lost.Words, Limit: lost.limit()})
	}
	more, err := k.sideCarWarnings(ctx, folder, m, o)
	if err != nil {
		return nil, err
	}
	list = append(list, more...)
	return append(list, shardWarnings(m, o)...), nil
}

// shardWarnings returns the warnings that depend only on the counts in the
// manifest.
func shardWarnings(m *Manifest, o ExamplesOptions) (list []Warning) {
	c := m.Counts
	alone := int64(0) // records of shards with one document
	splits := map[string]int64{}
	shards := map[ShardName]Counts{} // by split and index: the sums over length bins
	for _, f := range m.RecordFiles() {
		n, _ := ParseShardName(f.Name)
		splits[n.Split] += f.Counts["records"]
		n.Bin = 0
		if shards[n] == nil {
			shards[n] = Counts{}
		}
		shards[n].Add(f.Counts)
	}
	for _, counts := range shards {
		// Only pairs need another document, and with NSPNegatives it is of any shard.
		if counts["documents"] == 1 && o.Form() == records.Pairs && o.NSPNegatives == "" {
			alone += counts["records"]
		}
	}
	for _, w := range []Warning{
		{Code: WarnUnknownTokens, Count: c["unknown_tokens"], Of: c["tokens"], Limit: LimitUnknownTokens},
		{Code: WarnSpelled, Count: c[countSpelled], Of: c["tokens"], Limit: LimitSpelled},
		{Code: WarnLongSentences, Count: c["tokens"], Of: c["sentences"], Limit: o.sentenceLimit()},
		{Code: WarnOneDocument, Count: alone, Of: c["records"], Limit: LimitOneDocument},
		{Code: WarnRandomNext, Count: c["random_next"], Of: c["records"], Limit: LimitRandomNext},
	} {
		if w.Code == WarnLongSentences && o.How().Unsplit {
			continue // nobody looked for sentences
		}
		if exceeds(w) {
			list = append(list, w)
		}
	}
	for _, split := range o.Splits() {
		if splits[split] == 0 && c["records"] > 0 {
			list = append(list, Warning{Code: WarnEmptySplit, Subject: split, Of: c["records"]})
		}
	}
	return list
}

// sentenceLimit returns the limit of [WarnLongSentences].
func (o ExamplesOptions) sentenceLimit() float64 {
	if !o.Form().Masks() {
		return LimitSentenceTokens // of long records too, sentences should be found
	}
	return max(LimitSentenceTokens, float64(o.MaxSeqLength))
}

// casingWarnings returns a warning if the vocabulary is cased and do_lower_case
// is set, or the other way round.
func (k Known) casingWarnings(ctx context.Context, folder Folder, m *Manifest, o ExamplesOptions) ([]Warning, error) {
	t := k.Tokenizer
	if t == nil {
		name := o.TokenFile()
		raw, err := store.ReadFile(ctx, folder, name)
		if err != nil {
			return nil, err
		}
		if t, err = NewTokenizer(name, raw, o); err != nil {
			return nil, err
		}
	}
	if t.WordPiece == nil {
		return nil, nil
	}
	v := t.WordPiece.Vocab()
	switch uncased := v.LooksUncased(); {
	case o.DoLowerCase && !uncased:
		capitals, letters := v.Capitals()
		return []Warning{{Code: WarnCasedVocab, Count: int64(capitals), Of: int64(letters), Limit: LimitCapitals}}, nil
	case !o.DoLowerCase && uncased:
		w := Warning{Code: WarnUncasedVocab, Count: m.Counts["unknown_tokens"], Of: m.Counts["tokens"], Limit: LimitUncasedUnknown}
		if exceeds(w) {
			return []Warning{w}, nil
		}
	}
	return nil, nil
}

// Names of facts of a shard, see [ShardBody.Facts].
const (
	factPredictions  = "predictions"
	factWanted       = "wanted_predictions"
	factWithoutPunkt = "without_punkt." // and a language
)

// Facts returns what the warnings need of a shard: the predictions that its records
// may have and that they should have, and the documents by language without
// parameters for Punkt. It is nil if no warning with these options needs them.
func (b *ShardBody) Facts(o ExamplesOptions) Counts {
	if !o.needFacts() {
		return nil
	}
	facts := Counts{}
	for _, tokens := range b.Tokens {
		if !o.Form().Masks() {
			break
		}
		facts[factPredictions] += int64(o.Predictions(int(tokens)))
		facts[factWanted] += int64(o.WantedPredictions(int(tokens)))
	}
	for language, n := range b.WithoutPunkt {
		facts[factWithoutPunkt+language] = n
	}
	b.followedFacts(facts)
	return facts
}

func (o ExamplesOptions) needFacts() bool {
	return o.Form().Masks() && o.WantedPredictions(o.MaxSeqLength) > o.MaxPredictionsPerSeq || o.NSPNegatives != "" || o.SentenceSplitter == sentence.Punkt
}

// sideCarWarnings returns the warnings that depend on the lengths of the
// records or the languages of the documents, which only side-cars list.
func (k Known) sideCarWarnings(ctx context.Context, folder Folder, m *Manifest, o ExamplesOptions) (list []Warning, err error) {
	if !o.needFacts() {
		return nil, nil // nothing to read them for
	}
	facts := k.Facts
	if facts == nil {
		if facts, err = readFacts(ctx, folder, m, o); err != nil {
			return nil, err
		}
	}
	predictions := Warning{Code: WarnFewPredictions, Count: facts[factPredictions], Of: facts[factWanted], Limit: LimitFewPredictions}
	if predictions.Of > 0 && !exceeds(predictions) { // it must be above
		list = append(list, predictions)
	}
	splitter := Warning{Code: WarnSplitter, Of: m.Counts["documents"], Limit: LimitSplitter}
	var languages []string
	for _, name := range slices.Sorted(maps.Keys(facts)) {
		if language, ok := strings.CutPrefix(name, factWithoutPunkt); ok {
			languages = append(languages, language)
			splitter.Count += facts[name]
		}
	}
	splitter.Subject = strings.Join(languages, ", ")
	if exceeds(splitter) {
		list = append(list, splitter)
	}
	return append(list, GuessLabels(facts).warnings()...), nil
}

// readFacts adds up the facts of all shards from their side-cars.
func readFacts(ctx context.Context, folder Folder, m *Manifest, o ExamplesOptions) (Counts, error) {
	facts := Counts{}
	for _, f := range m.RecordFiles() {
		n, _ := ParseShardName(f.Name)
		body, err := ReadShardBody(ctx, folder, n)
		if err != nil {
			return nil, err
		}
		facts.Add(body.Facts(o))
	}
	return facts, nil
}
