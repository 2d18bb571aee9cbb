package survey

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"pretext/internal/extsort"
	"pretext/internal/store"
	"pretext/records"
	"pretext/records/pretrain"
	"pretext/sharding"
	"pretext/sharding/examples"
)

// RecordStats describes all records of a data set.
type RecordStats struct {
	Bare []string `json:"-"` // file names; set only if there is no manifest

	Converted *sharding.ConvertOptions `json:"-"` // of converted shards

	Format               string         `json:"format,omitempty"`   // format of converted shards; "": TFRecord
	Consumer             string         `json:"consumer,omitempty"` // whose loader's columns they have
	Files                int            `json:"files"`
	Bytes                int64          `json:"bytes"` // size of the files
	Records              int64          `json:"records"`
	Forms                []records.Form `json:"forms,omitempty"` // forms of the records; nil if all are pairs
	MaxSeqLength         int            `json:"max_seq_length"`
	MaxPredictionsPerSeq int            `json:"max_predictions_per_seq"`

	Tokens  int64   `json:"tokens"`           // number of tokens, including [CLS] and [SEP], without padding
	Places  int64   `json:"places"`           // number of tokens including padding
	Padding float64 `json:"padding"`          // fraction of padding in Places
	Pieces  int64   `json:"pieces,omitempty"` // number of pieces in packed rows
	Lengths []Bin   `json:"lengths"`          // number of records by number of tokens
	Masked  []Bin   `json:"masked"`           // number of records by number of predictions

	MaskRate   Share `json:"mask_rate"`   // predictions / tokens
	BecameMask Share `json:"became_mask"` // predicted tokens that became [MASK] / predictions
	Kept       Share `json:"kept"`        // predicted tokens that are unchanged / predictions
	Replaced   Share `json:"replaced"`    // predicted tokens that became another token / predictions
	RandomNext Share `json:"random_next"` // records with label 1 / records

	// LabelGuess is the number of labels that can be predicted from the document of
	// segment B / records, see [sharding.LabelGuess]; nil if unknown.
	LabelGuess *Share `json:"label_guess,omitempty"`

	Vocab      VocabUse `json:"vocab"`
	Unknown    *Share   `json:"unknown,omitempty"` // [UNK] / original tokens; nil if the id of [UNK] is unknown
	Top        []Token  `json:"top"`               // most frequent original tokens
	Splits     []Split  `json:"splits"`            // files of each split, and how evenly records and bytes are spread over them
	Duplicates Repeated `json:"duplicates"`
}

// Masks reports whether any records have masks.
func (r *RecordStats) Masks() bool {
	return len(r.Forms) == 0 || slices.ContainsFunc(r.Forms, records.Form.Masks)
}

// Pairs reports whether any records are pairs of segments.
func (r *RecordStats) Pairs() bool {
	return len(r.Forms) == 0 || slices.ContainsFunc(r.Forms, records.Form.Pairs)
}

// A Bin is a bar of a histogram: a value and its count.
type Bin struct {
	Value int   `json:"value"`
	Count int64 `json:"count"`
}

// VocabUse describes how many entries of a vocabulary occur in the records. If the
// vocabulary is unknown, size and special ids are inferred from the records.
type VocabUse struct {
	Size     int    `json:"size"`             // number of entries; 0 if unknown
	Used     int    `json:"used"`             // number of distinct original tokens, without special tokens
	File     string `json:"file,omitempty"`   // base name of the vocab.txt or tokenizer.json
	SHA256   string `json:"sha256,omitempty"` // hash of the file
	Inferred bool   `json:"inferred"`         // the ids of [MASK], [CLS] and [SEP] were guessed from the most frequent ids at their positions
	Mask     int    `json:"mask"`
	CLS      int    `json:"cls"`
	SEP      int    `json:"sep"`
}

// A Token is an entry of the vocabulary with its frequency.
type Token struct {
	ID    int     `json:"id"`
	Token string  `json:"token,omitempty"` // "" if the vocabulary is unknown
	Count int64   `json:"count"`
	Share float64 `json:"share"` // fraction of all original tokens
}

// A recordSurvey reads record files and computes their statistics.
type recordSurvey struct {
	opts    Options
	how     *making      // options with which the records were made; nil: unknown
	form    records.Form // of the records, by these options; "": unknown
	tokens  *tokens      // the vocabulary; nil: unknown
	files   []recordFile
	hashes  *extsort.Sorter
	tallies []*tally
}

// making is how the records were made: their options from the manifest.
type making struct {
	pretrain.Options
	Recipe string `json:"recipe"`
}

// A recordFile is a TFRecord file or a converted shard to read, with its counts.
type recordFile struct {
	examples.Part
	records int64
	tokens  int64
}

func recordFiles(parts []examples.Part) (files []recordFile) {
	for _, p := range parts {
		files = append(files, recordFile{Part: p})
	}
	return files
}

// collectShards surveys a folder of shards.
func collectShards(ctx context.Context, f stage, opts Options) (*RecordStats, error) {
	s := &recordSurvey{opts: opts, how: new(making)}
	if err := f.manifest.DecodeOptions(f, s.how); err != nil {
		return nil, err
	}
	if s.how.MaxSeqLength == 0 {
		s.how = nil // not made by pretext's examples stage
	}
	parts, err := examples.Of(ctx, f.Stage, f.manifest)
	if err != nil {
		return nil, err
	}
	s.files = recordFiles(parts)
	r, err := s.collect(ctx, f.String())
	if err != nil {
		return nil, err
	}
	r.LabelGuess, err = labelGuess(ctx, f)
	return r, err
}

// labelGuess returns how often the label can be predicted from the document of segment B.
func labelGuess(ctx context.Context, f stage) (*Share, error) {
	g, err := sharding.ReadLabelGuess(ctx, f, f.manifest)
	if err != nil || g.Examples == 0 {
		return nil, err
	}
	share := newShare(g.Right, g.Examples).limit(Limits{Expected: g.Chance, High: g.Chance + sharding.LimitGuess,
		Why: "as right as if random segments were of each document equally often; more means that documents tell labels"})
	return &share, nil
}

// collectConverted surveys converted shards. folders are the folders of all splits, which
// are counted together.
func collectConverted(ctx context.Context, path string, folders []stage, opts Options) (*RecordStats, error) {
	var stages []*sharding.Stage
	var manifests []*sharding.Manifest
	for _, f := range folders {
		stages, manifests = append(stages, f.Stage), append(manifests, f.manifest)
	}
	parts, err := examples.Splits(path, stages, manifests)
	if err != nil {
		return nil, err
	}
	o, _ := parts[0].Options()
	s := &recordSurvey{opts: opts, files: recordFiles(parts)}
	if o.Examples != nil {
		s.how = new(making)
		if err := json.Unmarshal(o.Examples, s.how); err != nil {
			return nil, fmt.Errorf("%s: the options of its shards: %w: %v", path, sharding.ErrFormat, err)
		}
	}
	r, err := s.collect(ctx, store.Dir(parts[0].Path))
	if err != nil {
		return nil, err
	}
	r.Format, r.Consumer, r.Converted = o.Format, o.Consumer, &o
	return r, nil
}

// collectBare surveys TFRecord files without a manifest.
func collectBare(ctx context.Context, paths []string, opts Options) (*RecordStats, error) {
	parts, err := examples.Files(ctx, paths)
	if err != nil {
		return nil, err
	}
	s := &recordSurvey{opts: opts, files: recordFiles(parts)}
	r, err := s.collect(ctx, store.Dir(paths[0]))
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		r.Bare = append(r.Bare, store.Base(path))
	}
	return r, nil
}

// collect surveys the files. Without the option Vocab, the vocabulary is that in the folder
// dir.
func (s *recordSurvey) collect(ctx context.Context, dir string) (_ *RecordStats, err error) {
	if s.tokens, err = tokensFor(s.opts.Vocab, dir); err != nil {
		return nil, err
	}
	if s.how != nil {
		recipe, _ := pretrain.RecipeByName(s.how.Recipe)
		s.form = recipe.Form
	}
	s.hashes = extsort.New(s.opts.Temp, s.opts.Memory)
	defer func() { err = errors.Join(err, s.hashes.Close()) }()
	if err := s.read(ctx); err != nil {
		return nil, err
	}
	total := new(tally)
	for _, t := range s.tallies {
		total.merge(t)
	}
	r := s.stats(total)
	r.Duplicates, err = s.repeated(ctx)
	return r, err
}

// read reads all files. Each file is read by a single goroutine.
func (s *recordSurvey) read(ctx context.Context) error {
	work := make(chan int)
	g, ctx := errgroup.WithContext(ctx)
	for range min(s.opts.Workers, len(s.files)) {
		t := new(tally)
		s.tallies = append(s.tallies, t)
		g.Go(func() error {
			for i := range work {
				if err := s.readFile(ctx, i, t); err != nil {
					return err
				}
			}
			return nil
		})
	}
	g.Go(func() error {
		defer close(work)
		for i := range s.files {
			select {
			case work <- i:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	return g.Wait()
}

// hashBatch is the number of hashes that are added to the sorter at a time.
const hashBatch = 4096

func (s *recordSurvey) readFile(ctx context.Context, number int, t *tally) error {
	file := &s.files[number]
	var e records.Example
	batch := make([]extsort.Pair, 0, hashBatch)
	for r, err := range file.Records(ctx) {
		if err != nil {
			return err
		}
		form, err := e.DecodeAny(r.Payload)
		if err != nil {
			return file.Fault(r, err)
		}
		t.add(&e, s.formOf(&e, form))
		file.records++
		file.tokens += int64(e.Tokens())
		batch = append(batch, extsort.Pair{Key: extsort.Hash(r.Payload), Value: recordNumber(number, r.Index)})
		if len(batch) == hashBatch {
			if err := s.hashes.Add(batch); err != nil {
				return err
			}
			batch = batch[:0]
		}
	}
	t.files++
	t.bytes += file.Bytes
	return s.hashes.Add(batch)
}

// formOf returns the form of a record with the features of the form found. Those of pieces
// are those of documents: if no manifest has the form, [CLS] and [SEP] tell them apart.
func (s *recordSurvey) formOf(e *records.Example, found records.Form) records.Form {
	switch {
	case s.form.Alone() && found.Documents():
		return s.form
	case s.how == nil && s.tokens != nil:
		return found.Narrow(e, int32(s.tokens.cls), int32(s.tokens.sep))
	}
	return found
}

// stats computes the statistics from the counts.
func (s *recordSurvey) stats(t *tally) *RecordStats {
	r := &RecordStats{Files: len(s.files), Bytes: t.bytes, Records: t.records, MaxSeqLength: t.seq, MaxPredictionsPerSeq: t.preds,
		Forms: t.formsBesidePairs(), Pieces: t.pieces,
		Tokens: t.tokens, Places: t.places, Lengths: bins(t.lengths), Masked: bins(t.masks), Splits: s.splits()}
	if s.how != nil {
		r.MaxSeqLength, r.MaxPredictionsPerSeq = s.how.MaxSeqLength, s.how.MaxPredictionsPerSeq
	}
	if !r.Masks() {
		r.Masked = []Bin{}
	}
	if len(r.Forms) == 1 && r.Forms[0].Documents() {
		r.MaxSeqLength = t.seq
	}
	if t.places > 0 {
		r.Padding = 1 - float64(t.tokens)/float64(t.places)
	}
	s.vocabUse(r, t)
	s.shares(r, t)
	words := t.words.sum() + t.other
	if s.tokens != nil && s.tokens.unknown >= 0 {
		u := newShare(t.words.at(s.tokens.unknown), words)
		r.Unknown = &u
	}
	r.Top = s.top(t.words, words)
	return r
}

func (s *recordSurvey) vocabUse(r *RecordStats, t *tally) {
	for _, n := range t.words {
		if n > 0 {
			r.Vocab.Used++
		}
	}
	if v := s.tokens; v != nil {
		r.Vocab.File, r.Vocab.Size, r.Vocab.SHA256 = v.file, v.size, v.sha256
		r.Vocab.Mask, r.Vocab.CLS, r.Vocab.SEP = v.mask, v.cls, v.sep
		return
	}
	r.Vocab.Inferred = true
	r.Vocab.Mask = t.became.mode()
	r.Vocab.CLS = t.firsts.mode()
	r.Vocab.SEP = t.lasts.mode()
}

// nextProb is the probability of a random next sentence in the function
// create_instances_from_document of google-research/bert.
const nextProb = 0.5

// shares computes the fractions in r. If the options of the records are known, it also
// sets their limits.
func (s *recordSurvey) shares(r *RecordStats, t *tally) {
	masks := t.became.at(r.Vocab.Mask)
	r.MaskRate = newShare(t.masked, t.tokens)
	r.BecameMask = newShare(masks, t.masked)
	r.Kept = newShare(t.kept, t.masked)
	r.Replaced = newShare(t.masked-masks-t.kept, t.masked)
	r.RandomNext = newShare(t.randomNext, t.records)
	if s.how == nil || s.tokens == nil {
		return
	}
	recipe, known := pretrain.RecipeByName(s.how.Recipe)
	if !known || !recipe.Form.Masks() {
		return
	}
	made := s.how.Replacement()
	keep := made.StayTokenProb()
	chance := made.RandomTokenProb / float64(s.tokens.size)
	if !s.how.SpanMask { // the tokens of a span are not independent draws
		draws := fmt.Sprintf("%.3g, %.3g, %.3g by independent draws; a random word may be the original or [MASK]; ±4σ", made.MaskTokenProb, keep, made.RandomTokenProb)
		r.BecameMask = r.BecameMask.binomial(min(1, made.MaskTokenProb+chance), draws)
		r.Kept = r.Kept.binomial(keep+chance, draws)
		r.Replaced = r.Replaced.binomial(max(0, made.RandomTokenProb-2*chance), draws)
	}
	if recipe.Form.Pairs() {
		r.RandomNext = r.RandomNext.atLeast(nextProb, "a fair draw, and always random where a document has one sentence left; -4σ")
	}
	r.MaskRate = s.maskLimits(r.MaskRate, t)
}

// maskLimits returns the mask rate with its limits. A record has
// min(max_predictions_per_seq, max(1, round(tokens × masked_lm_prob))) predictions, at
// most one for each token that is not special. If max_predictions_per_seq removes so many
// predictions that there is a warning, the limits follow from masked_lm_prob alone.
func (s *recordSurvey) maskLimits(rate Share, t *tally) Share {
	specials := 3
	if recipe, _ := pretrain.RecipeByName(s.how.Recipe); !recipe.Form.Pairs() {
		specials = 2
	}
	want, uncut := int64(0), int64(0)
	for tokens, n := range t.lengths {
		want += n * int64(max(0, min(s.how.Predictions(tokens), tokens-specials)))
		uncut += n * int64(max(0, min(s.how.WantedPredictions(tokens), tokens-specials)))
	}
	if asked := newShare(uncut, t.tokens).Share; float64(want) < sharding.LimitFewPredictions*float64(uncut) {
		return rate.limit(Limits{Expected: asked, Low: sharding.LimitFewPredictions * asked, High: asked,
			Why: "what masked_lm_prob asks for; max_predictions_per_seq leaves less"})
	}
	expected := newShare(want, t.tokens).Share
	if s.how.WholeWords() {
		return rate.limit(Limits{Expected: expected, High: expected, Why: "at most what the options demand of the lengths; less where a whole word does not fit"})
	}
	// A text that itself contains [CLS] or [SEP] has fewer candidates for masking.
	return rate.limit(Limits{Expected: expected, Low: expected * 0.999, High: expected, Why: "what the options demand of the lengths"})
}

func bins(c histogram) []Bin {
	list := []Bin{}
	for value, n := range c {
		if n > 0 {
			list = append(list, Bin{value, n})
		}
	}
	return list
}

// top returns the most frequent tokens. Tokens of equal frequency are ordered
// by id.
func (s *recordSurvey) top(words histogram, total int64) []Token {
	ids := []int{}
	for id, n := range words {
		if n > 0 {
			ids = append(ids, id)
		}
	}
	slices.SortStableFunc(ids, func(a, b int) int { return cmp.Compare(words[b], words[a]) })
	list := []Token{}
	for _, id := range ids[:min(len(ids), s.opts.Top)] {
		token := Token{ID: id, Count: words[id], Share: newShare(words[id], total).Share}
		if s.tokens != nil && id < s.tokens.size {
			token.Token = s.tokens.token(int32(id))
		}
		list = append(list, token)
	}
	return list
}
