package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"pretext/extract"
	"pretext/internal/store"
	"pretext/sharding"
	"pretext/tokenize/sentence"
)

// A WarningsError reports that a run has warnings where none are allowed. Its
// files are finished and valid.
type WarningsError struct {
	Codes []string // "examples: unknown-tokens", in the order of the stages
}

func (e *WarningsError) Error() string {
	return fmt.Sprintf("finished, but --strict allows no warnings: %s", strings.Join(e.Codes, ", "))
}

// CheckWarnings returns a [*WarningsError] if any stage has a warning.
func CheckWarnings(stages []StageSummary) error {
	var codes []string
	for _, s := range stages {
		for _, w := range s.Warnings {
			codes = append(codes, s.Stage+": "+w.Code)
		}
	}
	if len(codes) == 0 {
		return nil
	}
	return &WarningsError{codes}
}

// folderWarnings returns the warnings of a stage's manifest, after those of the
// documents in its imported folder if it was made from them.
func folderWarnings(location string, m *Manifest) ([]sharding.DescribedWarning, error) {
	ctx := context.Background()
	imported := filepath.Join(location, ImportedFolder)
	in, err := manifestInput(ctx, imported)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !slices.Contains(m.Inputs, in) {
		return m.Describe(), nil
	}
	if err != nil {
		return nil, err
	}
	folder, err := store.Open(imported)
	if err != nil {
		return nil, err
	}
	above, err := sharding.ReadManifest(ctx, folder)
	if err != nil {
		return nil, err
	}
	return append(above.Describe(), m.Describe()...), nil
}

// warnings derives the warnings of a manifest that is complete but for them.
// They depend on the manifest, the side-cars and the vocabulary alone, so that
// Verify can derive them again.
func warnings(ctx context.Context, folder store.Folder, m *sharding.Manifest) (list []sharding.Warning, err error) {
	switch m.Stage {
	case "extract":
		list = append(sameInputs(m), sourceWarnings(m, notArticles)...)
	case "filter":
		list = append(sameInputs(m), sourceWarnings(m, copyReasons)...)
	case "vocab":
		list = sameInputs(m)
	case "examples":
		return exampleWarnings(ctx, folder, m)
	}
	return list, nil
}

// sameInputs warns of inputs with equal content.
func sameInputs(m *sharding.Manifest) (list []sharding.Warning) {
	w := sharding.Warning{Code: sharding.WarnSameInput, Of: int64(len(m.Inputs))}
	for i, in := range m.Inputs {
		equal := func(other sharding.Input) bool { return other.Bytes == in.Bytes && other.SHA256 == in.SHA256 }
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
	return []sharding.Warning{w}
}

// notArticles are the reasons for rejects of pages that are no articles, or that
// the dump has no text of: they say nothing about the articles.
var notArticles = []string{string(extract.RejectRedirect), string(extract.RejectNamespace), string(extract.RejectModel),
	string(extract.RejectDisambiguation), string(extract.RejectDeleted)}

// copyReasons are the reasons for rejects of a filter that no rule gives.
var copyReasons = []string{rejectDuplicate, rejectNearDuplicate, rejectContained}

// sourceWarnings warns of sources without documents and of those of which most
// documents were rejected, for other reasons than those apart.
func sourceWarnings(m *sharding.Manifest, apart []string) (list []sharding.Warning) {
	sources := map[string]sharding.Counts{}
	var names []string // in source order
	for _, f := range documentsFiles(m) {
		name := sharding.SourceOf(f.Name)
		if sources[name] == nil {
			sources[name] = sharding.Counts{}
			names = append(names, name)
		}
		sources[name].Add(f.Counts)
	}
	for _, name := range names {
		c := sources[name]
		var rejected, all int64
		for _, reason := range rejectReasons(c) {
			all += c["reject."+reason]
			if !slices.Contains(apart, reason) {
				rejected += c["reject."+reason]
			}
		}
		documents := c["documents"]
		w := sharding.Warning{Subject: name, Count: rejected, Of: rejected + documents, Limit: sharding.LimitRejects}
		switch {
		case documents == 0:
			list = append(list, sharding.Warning{Code: sharding.WarnEmptySource, Subject: name, Of: max(all, c["pages"], c["files"], c["lines"])})
		case exceeds(w):
			w.Code = sharding.WarnRejects
			list = append(list, w)
		}
		if c["pages"] > 0 && c["footers"] == 0 {
			list = append(list, sharding.Warning{Code: sharding.WarnDumpEnd, Subject: name, Of: 1, Limit: 1})
		}
	}
	return list
}

// exceeds reports whether the figure of a warning is above its limit.
func exceeds(w sharding.Warning) bool { return float64(w.Count) > w.Limit*float64(w.Of) }

// exampleWarnings derives the warnings of a folder of shards.
func exampleWarnings(ctx context.Context, folder store.Folder, m *sharding.Manifest) ([]sharding.Warning, error) {
	var o ExamplesOptions
	if err := json.Unmarshal(m.Options, &o); err != nil {
		return nil, fmt.Errorf("read options of %s: %w: %v", folder, sharding.ErrFormat, err)
	}
	list := sameInputs(m)
	casing, err := casingWarnings(ctx, folder, m, o)
	if err != nil {
		return nil, err
	}
	list = append(list, casing...)
	more, err := sideCarWarnings(ctx, folder, m, o)
	if err != nil {
		return nil, err
	}
	list = append(list, more...)
	return append(list, shardWarnings(m, o)...), nil
}

// shardWarnings are those that the counts of a folder of shards decide.
func shardWarnings(m *sharding.Manifest, o ExamplesOptions) (list []sharding.Warning) {
	c := m.Counts
	alone := int64(0) // records of shards with one document
	splits := map[string]int64{}
	for _, f := range recordFiles(m) {
		n, _ := sharding.ParseShardName(f.Name)
		splits[n.Split] += f.Counts["records"]
		if f.Counts["documents"] == 1 {
			alone += f.Counts["records"]
		}
	}
	for _, w := range []sharding.Warning{
		{Code: sharding.WarnUnknownTokens, Count: c["unknown_tokens"], Of: c["tokens"], Limit: sharding.LimitUnknownTokens},
		{Code: sharding.WarnLongSentences, Count: c["tokens"], Of: c["sentences"], Limit: max(sharding.LimitSentenceTokens, float64(o.MaxSeqLength))},
		{Code: sharding.WarnOneDocument, Count: alone, Of: c["records"], Limit: sharding.LimitOneDocument},
		{Code: sharding.WarnRandomNext, Count: c["random_next"], Of: c["records"], Limit: sharding.LimitRandomNext},
	} {
		if exceeds(w) {
			list = append(list, w)
		}
	}
	for _, split := range o.splits() {
		if splits[split] == 0 && c["records"] > 0 {
			list = append(list, sharding.Warning{Code: sharding.WarnEmptySplit, Subject: split, Of: c["records"]})
		}
	}
	return list
}

// casingWarnings holds the case of the vocabulary against lower-casing.
func casingWarnings(ctx context.Context, folder store.Folder, m *sharding.Manifest, o ExamplesOptions) ([]sharding.Warning, error) {
	name := o.tokenFile()
	raw, err := store.ReadFile(ctx, folder, name)
	if err != nil {
		return nil, err
	}
	t, err := newTokenizer(name, raw, o)
	if err != nil || t.wordPiece == nil {
		return nil, err
	}
	v := t.wordPiece.Vocab()
	switch uncased := v.LooksUncased(); {
	case o.DoLowerCase && !uncased:
		capitals, letters := v.Capitals()
		return []sharding.Warning{{Code: sharding.WarnCasedVocab, Count: int64(capitals), Of: int64(letters), Limit: sharding.LimitCapitals}}, nil
	case !o.DoLowerCase && uncased:
		w := sharding.Warning{Code: sharding.WarnUncasedVocab, Count: m.Counts["unknown_tokens"], Of: m.Counts["tokens"], Limit: sharding.LimitUncasedUnknown}
		if exceeds(w) {
			return []sharding.Warning{w}, nil
		}
	}
	return nil, nil
}

// sideCarWarnings are those that need more than counts: the lengths of the records
// and the languages of the documents.
func sideCarWarnings(ctx context.Context, folder store.Folder, m *sharding.Manifest, o ExamplesOptions) (list []sharding.Warning, err error) {
	cuts := o.WantedPredictions(o.MaxSeqLength) > o.MaxPredictionsPerSeq
	if !cuts && o.SentenceSplitter != sentence.Punkt {
		return nil, nil // nothing to read them for
	}
	predictions := sharding.Warning{Code: sharding.WarnFewPredictions, Limit: sharding.LimitFewPredictions}
	languages := sharding.Counts{}
	for _, f := range recordFiles(m) {
		n, _ := sharding.ParseShardName(f.Name)
		car, err := sharding.ReadSideCar(ctx, folder, n.SideCar())
		if err != nil {
			return nil, err
		}
		var body shardBody
		if err := json.Unmarshal(car.Body, &body); err != nil {
			return nil, fmt.Errorf("side-car of %s in %s: %w: %v", f.Name, folder, sharding.ErrFormat, err)
		}
		for _, tokens := range body.Tokens {
			predictions.Count += int64(o.Predictions(int(tokens)))
			predictions.Of += int64(o.WantedPredictions(int(tokens)))
		}
		languages.Add(body.WithoutPunkt)
	}
	if predictions.Of > 0 && !exceeds(predictions) { // it must be above
		list = append(list, predictions)
	}
	splitter := sharding.Warning{Code: sharding.WarnSplitter, Subject: strings.Join(slices.Sorted(maps.Keys(languages)), ", "),
		Of: m.Counts["documents"], Limit: sharding.LimitSplitter}
	for _, n := range languages {
		splitter.Count += n
	}
	if exceeds(splitter) {
		list = append(list, splitter)
	}
	return list, nil
}

// warnings holds those of the manifest against what its files give. A manifest
// of an earlier version has none.
func (c *folderCheck) warnings(ctx context.Context) []sharding.Problem {
	if len(c.m.Warnings) == 0 {
		return nil
	}
	want, err := warnings(ctx, c.folder, c.m)
	if err != nil {
		return nil // the file itself is reported
	}
	if !slices.Equal(c.m.Warnings, want) {
		return []sharding.Problem{{File: sharding.ManifestName, Reason: "warnings are not those that its counts and files give: edited by hand?"}}
	}
	return nil
}
