package sharding

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"pretext/counts"
	"pretext/extract"
	"pretext/extract/wiki/facts"
	"pretext/internal/store"
	"pretext/records/pretrain"
	"pretext/tokenize/sentence"
)

// DeriveWarnings returns the warnings for a manifest whose other fields are
// set. The warnings depend only on the manifest, the side-cars and the
// vocabulary, so that verify can compute and compare them.
func DeriveWarnings(ctx context.Context, folder Folder, m *Manifest) ([]Warning, error) {
	return Known{}.Warnings(ctx, folder, m)
}

// Known contains facts about a folder that are already in memory, so that computing the
// warnings need not read them from files. The zero value contains none.
type Known struct {
	Facts     *Facts     // sum of Facts over all side-cars; nil: unknown
	Tokenizer *Tokenizer // tokenizer with the folder's vocabulary; nil: not loaded
}

// Warnings returns the same as [DeriveWarnings], using the known facts.
func (k Known) Warnings(ctx context.Context, folder Folder, m *Manifest) (list []Warning, err error) {
	switch m.Stage {
	case "extract":
		list = append(sameInputs(m), sourceWarnings(m, notArticles)...)
	case "filter":
		list = append(append(sameInputs(m), unusedLimits(m)...), sourceWarnings(m, copyReasons)...)
	case "vocab":
		list = sameInputs(m)
	case "examples":
		return k.exampleWarnings(ctx, folder, m)
	}
	return list, nil
}

// LimitedDocuments counts the documents that the filter read in each language that has limits
// of its own.
var LimitedDocuments = counts.DeclareFamily[string]("limited", counts.About{Sparse: true, Meaning: "documents in a language with limits of its own"})

// unusedLimits returns a warning for each language with a limit in which the filter read no
// document.
func unusedLimits(m *Manifest) (list []Warning) {
	var o struct {
		Limits map[string]float64 `json:"limits"`
	}
	if json.Unmarshal(m.Options, &o) != nil {
		return nil
	}
	read := extract.Documents.Of(m.Counts)
	for _, n := range extract.Rejects.Members(m.Counts) {
		read += n
	}
	for _, key := range slices.Sorted(maps.Keys(o.Limits)) {
		lang, _, ok := strings.Cut(key, ":")
		same := func(w Warning) bool { return w.Subject == lang }
		if ok && lang != noSpaces && m.Counts[LimitedDocuments.Member(lang)] == 0 && !slices.ContainsFunc(list, same) {
			list = append(list, Warning{Code: warnUnusedLimit, Subject: lang, Of: read})
		}
	}
	return list
}

// noSpaces is the prefix of limits for scripts without spaces, which is not a language.
const noSpaces = "no-spaces"

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

// notArticles are the reject reasons for pages that are not articles, or whose text is
// not in the dump. warnRejects ignores such pages.
var notArticles = []extract.Reject{extract.RejectRedirect, extract.RejectNamespace, extract.RejectModel, extract.RejectDisambiguation, extract.RejectDeleted}

// copyReasons are the reject reasons for duplicate documents. warnRejects ignores such
// documents.
var copyReasons = []extract.Reject{RejectDuplicate, RejectNearDuplicate, RejectContained}

// sourceWarnings returns a warning for each source without documents, and for
// each source whose documents were mostly rejected. Rejects for the reasons in
// ignored do not count.
func sourceWarnings(m *Manifest, ignored []extract.Reject) (list []Warning) {
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
		for reason, n := range extract.Rejects.Members(c) {
			all += n
			if !slices.Contains(ignored, reason) {
				rejected += n
			}
		}
		documents := extract.Documents.Of(c)
		w := Warning{Subject: name, Count: rejected, Of: rejected + documents, Limit: limitRejects}
		switch {
		case documents == 0:
			list = append(list, Warning{Code: warnEmptySource, Subject: name, Of: max(all, facts.Pages.Of(c), extract.Files.Of(c), extract.Lines.Of(c))})
		case exceeds(w):
			w.Code = warnRejects
			list = append(list, w)
		}
		for _, w := range []Warning{{Code: warnWikitext, Count: extract.Wikitext.Of(c)}, {Code: warnHTML, Count: extract.HTML.Of(c)}} {
			if w.Subject, w.Of, w.Limit = name, documents, limitMarkup; exceeds(w) {
				list = append(list, w)
			}
		}
		if facts.Unended(c) {
			list = append(list, Warning{Code: warnDumpEnd, Subject: name, Of: 1, Limit: 1})
		}
	}
	return list
}

// exceeds reports whether a warning's figure is outside its limit.
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
	alone := int64(0) // records in shards with a single document
	splits := map[string]int64{}
	shards := map[ShardName]Counts{} // sums over the length bins of each shard
	for _, f := range m.RecordFiles() {
		n, _ := ParseShardName(f.Name)
		splits[n.Split] += Records.Of(f.Counts)
		n.Bin = 0
		if shards[n] == nil {
			shards[n] = Counts{}
		}
		shards[n].Add(f.Counts)
	}
	for _, counts := range shards {
		// Only sentence pairs need a second document. With NSPNegatives it may be in any
		// shard.
		if extract.Documents.Of(counts) == 1 && o.Form().Pairs() && o.NSPNegatives == "" {
			alone += Records.Of(counts)
		}
	}
	for _, w := range []Warning{
		{Code: WarnUnknownTokens, Count: UnknownTokens.Of(c), Of: Tokens.Of(c), Limit: limitUnknownTokens},
		{Code: WarnSpelled, Count: SpelledLetters.Of(c), Of: Tokens.Of(c), Limit: limitSpelled},
		{Code: warnLongSentences, Count: Tokens.Of(c), Of: Sentences.Of(c), Limit: o.sentenceLimit()},
		{Code: warnOneDocument, Count: alone, Of: Records.Of(c), Limit: limitOneDocument},
		{Code: warnRandomNext, Count: RandomNext.Of(c), Of: Records.Of(c), Limit: limitRandomNext},
	} {
		if w.Code == warnLongSentences && o.How().Unsplit {
			continue // the recipe does not split sentences
		}
		if exceeds(w) {
			list = append(list, w)
		}
	}
	for _, split := range o.Splits() {
		if splits[split] == 0 && Records.Of(c) > 0 {
			list = append(list, Warning{Code: warnEmptySplit, Subject: split, Of: Records.Of(c)})
		}
	}
	return list
}

// sentenceLimit returns the limit of [warnLongSentences].
func (o ExamplesOptions) sentenceLimit() float64 {
	if !o.Form().Masks() {
		return limitSentenceTokens // records may be long, but sentences in them are short
	}
	return max(limitSentenceTokens, float64(o.MaxSeqLength))
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
		return []Warning{{Code: WarnCasedVocab, Count: int64(capitals), Of: int64(letters), Limit: limitCapitals}}, nil
	case !o.DoLowerCase && uncased:
		w := Warning{Code: WarnUncasedVocab, Count: UnknownTokens.Of(m.Counts), Of: Tokens.Of(m.Counts), Limit: limitUncasedUnknown}
		if exceeds(w) {
			return []Warning{w}, nil
		}
	}
	return nil, nil
}

// Facts are the facts about shards that are needed for warnings. They come from
// side-cars.
type Facts struct {
	Predictions  int64               // number of predictions for which the records have space
	Wanted       int64               // number of predictions that the options ask for
	WithoutPunkt map[string]int64    // see [ShardBody]
	Followed     []pretrain.Followed `json:",omitempty"` // sorted by ID
}

// Add adds the facts of another shard.
func (f *Facts) Add(o *Facts) {
	f.Predictions += o.Predictions
	f.Wanted += o.Wanted
	for language, n := range o.WithoutPunkt {
		if f.WithoutPunkt == nil {
			f.WithoutPunkt = map[string]int64{}
		}
		f.WithoutPunkt[language] += n
	}
	f.Followed = addFollowed(f.Followed, o.Followed)
}

// Facts returns the facts of a shard; nil if no warning with these options needs them.
func (b *ShardBody) Facts(o ExamplesOptions) *Facts {
	if !o.needFacts() {
		return nil
	}
	facts := &Facts{WithoutPunkt: b.WithoutPunkt, Followed: addFollowed(nil, b.Followed)}
	for _, tokens := range b.Tokens {
		if !o.Form().Masks() {
			break
		}
		facts.Predictions += int64(o.Predictions(int(tokens)))
		facts.Wanted += int64(o.WantedPredictions(int(tokens)))
	}
	return facts
}

func (o ExamplesOptions) needFacts() bool {
	return o.Form().Masks() && o.WantedPredictions(o.MaxSeqLength) > o.MaxPredictionsPerSeq || o.NSPNegatives != "" || o.SentenceSplitter == sentence.Punkt
}

// sideCarWarnings returns the warnings that depend on the lengths of the
// records or the languages of the documents, which only side-cars list.
func (k Known) sideCarWarnings(ctx context.Context, folder Folder, m *Manifest, o ExamplesOptions) (list []Warning, err error) {
	if !o.needFacts() {
		return nil, nil // no warning needs them
	}
	facts := k.Facts
	if facts == nil {
		if facts, err = readFacts(ctx, folder, m, o); err != nil {
			return nil, err
		}
	}
	predictions := Warning{Code: WarnFewPredictions, Count: facts.Predictions, Of: facts.Wanted, Limit: LimitFewPredictions}
	if predictions.Of > 0 && !exceeds(predictions) { // this one warns below its limit
		list = append(list, predictions)
	}
	splitter := Warning{Code: warnSplitter, Of: extract.Documents.Of(m.Counts), Limit: limitSplitter}
	for _, n := range facts.WithoutPunkt {
		splitter.Count += n
	}
	splitter.Subject = strings.Join(slices.Sorted(maps.Keys(facts.WithoutPunkt)), ", ")
	if exceeds(splitter) {
		list = append(list, splitter)
	}
	return append(list, guessLabels(facts.Followed).warnings()...), nil
}

// readFacts reads the side-cars of all shards and adds up their facts.
func readFacts(ctx context.Context, folder Folder, m *Manifest, o ExamplesOptions) (*Facts, error) {
	facts := new(Facts)
	for _, f := range m.RecordFiles() {
		n, _ := ParseShardName(f.Name)
		body, err := ReadShardBody(ctx, folder, n)
		if err != nil {
			return nil, err
		}
		if f := body.Facts(o); f != nil {
			facts.Add(f)
		}
	}
	return facts, nil
}
