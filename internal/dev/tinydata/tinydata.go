// Package tinydata writes small directories of shards for tests of training, in
// the format of docs/file-format.md. In its language each segment repeats one token,
// so a small model learns it in some hundred steps.
//
//	err := tinydata.Write(dir, tinydata.Options{Train: 96, Eval: 24, Vocab: 40})
//
// Equal options give equal bytes.
package tinydata

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pretext/records"
	"pretext/records/pretrain"
	"pretext/records/tfrecord"
	"pretext/sharding"
)

// Options choose the size of the data.
type Options struct {
	Train, Eval int    // number of examples in each split
	Vocab       int    // size of the vocabulary, at least 10
	Seed        uint64 // seed of the examples

	// Form is the form of the records; "" is [records.Pairs]. An example of
	// another form has the tokens of several segments, each a language of one
	// token.
	Form records.Form
}

// Shape of the examples.
const (
	maxSeqLength = 24
	maxPredicted = 4
)

// Ids of the special tokens, and of the first other token.
const (
	cls   = 2
	sep   = 3
	mask  = 4
	words = 5
)

// shardsASide is the number of shards in each split.
const shardsASide = 2

// Write writes a directory of shards with its manifest.
func Write(dir string, o Options) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	w := writer{dir: dir, rng: rand.New(rand.NewPCG(o.Seed, 1)), vocab: o.Vocab, form: cmp.Or(o.Form, records.Pairs)}
	vocab := "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n"
	for i := words; i < o.Vocab; i++ {
		vocab += fmt.Sprintf("n%d\n", i)
	}
	w.file(sharding.VocabName, []byte(vocab), nil)
	w.side(sharding.Train, o.Train)
	w.side(sharding.Eval, o.Eval)
	w.finish(vocab)
	return w.err
}

// A writer writes files and lists them for the manifest.
type writer struct {
	dir   string
	rng   *rand.Rand
	vocab int
	form  records.Form
	files []sharding.FileEntry
	err   error // first error of a write
}

func (w *writer) file(name string, data []byte, counts sharding.Counts) {
	w.files = append(w.files, sharding.FileEntry{Name: name, Bytes: int64(len(data)), SHA256: sharding.Hash(data), Counts: counts})
	if w.err == nil {
		w.err = os.WriteFile(filepath.Join(w.dir, name), data, 0o666)
	}
}

// note records an error, unless an earlier error is already recorded.
func (w *writer) note(err error) {
	if w.err == nil {
		w.err = err
	}
}

// side writes n examples as the shards of a split.
func (w *writer) side(split string, n int) {
	shards := min(n, shardsASide)
	for shard := range shards {
		name := sharding.ShardName{Split: split, Index: shard, Count: shards}
		var data bytes.Buffer
		frames := tfrecord.NewWriter(&data, tfrecord.WriterOptions{Index: true})
		count := n*(shard+1)/shards - n*shard/shards
		for range count {
			w.note(frames.Write(w.formed().AppendForm(nil, w.form)))
		}
		w.note(frames.Close())
		w.file(name.Records(false), data.Bytes(), sharding.Counts{sharding.Records.Key: int64(count)})
		w.file(name.IndexFile(), frames.Index(), nil)
		w.file(name.SideCar(), []byte("{}\n"), nil)
	}
}

// finish writes the manifest, which makes the folder valid.
func (w *writer) finish(vocab string) {
	m := sharding.Manifest{Recipe: sharding.Recipe{
		FormatVersion: sharding.FormatVersion, Stage: "examples", Algorithm: 1,
		Options: json.RawMessage(fmt.Sprintf(`{"max_seq_length": %d, "max_predictions_per_seq": %d, "do_lower_case": true%s}`, maxSeqLength, maxPredicted, w.recipe())),
		Inputs:  []sharding.Input{{Name: sharding.VocabName, Bytes: int64(len(vocab)), SHA256: sharding.Hash([]byte(vocab))}},
	}, Files: w.files}
	slices.SortFunc(m.Files, func(a, b sharding.FileEntry) int { return strings.Compare(a.Name, b.Name) })
	m.Fingerprint = m.Recipe.Fingerprint()
	if w.err == nil {
		w.err = os.WriteFile(filepath.Join(w.dir, sharding.ManifestName), sharding.Marshal(m), 0o666)
	}
}

// recipe returns the option that gives the form of the records; none for pairs.
func (w *writer) recipe() string {
	if w.form == records.Pairs {
		return ""
	}
	return fmt.Sprintf(`, "recipe": %q`, pretrain.RecipeOf(w.form).Name)
}

// formed returns an example of the form of the records.
func (w *writer) formed() *records.Example {
	none := &records.Example{NextSentenceLabel: records.NoLabel}
	switch w.form {
	case records.Pairs:
		return w.example()
	case records.Masked:
		e := w.example()
		e.SegmentIDs, e.NextSentenceLabel = make([]int32, maxSeqLength), records.NoLabel
		return e
	case records.Tokens: // documents of 1 to 60 tokens
		for range 1 + w.rng.IntN(6) {
			none.InputIDs = append(none.InputIDs, w.repeat(w.rng.IntN(w.vocab-words), 1+w.rng.IntN(10))...)
		}
		return none
	case records.Pieces: // 3 to 24 tokens
		none.InputIDs = append(append([]int32{cls}, w.repeat(w.rng.IntN(w.vocab-words), 1+w.rng.IntN(maxSeqLength-2))...), sep)
		return none
	}
	none.InputIDs = make([]int32, 0, maxSeqLength)
	for {
		piece := append(append([]int32{cls}, w.repeat(w.rng.IntN(w.vocab-words), 1+w.rng.IntN(10))...), sep)
		if len(none.InputIDs)+len(piece) > maxSeqLength {
			none.InputIDs = none.InputIDs[:maxSeqLength] // [PAD] is 0
			return none
		}
		none.InputIDs, none.SequenceLengths = append(none.InputIDs, piece...), append(none.SequenceLengths, int32(len(piece)))
	}
}

// example returns an example. Segment A repeats one token. Segment B repeats
// the same token (label 0) or another token (label 1).
func (w *writer) example() *records.Example {
	e := &records.Example{
		InputIDs: make([]int32, maxSeqLength), InputMask: make([]int32, maxSeqLength), SegmentIDs: make([]int32, maxSeqLength),
		MaskedLMPositions: make([]int32, maxPredicted), MaskedLMIDs: make([]int32, maxPredicted), MaskedLMWeights: make([]float32, maxPredicted),
		NextSentenceLabel: int32(w.rng.IntN(2)),
	}
	at := w.rng.IntN(w.vocab - words)
	first, second := 4+w.rng.IntN(6), 3+w.rng.IntN(8)
	ids := append([]int32{cls}, w.repeat(at, first)...)
	ids = append(ids, sep)
	boundary := len(ids)
	if e.NextSentenceLabel == 1 {
		at += 1 + w.rng.IntN(w.vocab-words-1)
	}
	ids = append(append(ids, w.repeat(at, second)...), sep)
	copy(e.InputIDs, ids)
	for i := range ids {
		e.InputMask[i] = 1
		if i >= boundary {
			e.SegmentIDs[i] = 1
		}
	}
	w.hide(e, len(ids), boundary)
	return e
}

// repeat returns n copies of the ID of token number at, counted from the first
// token that is not special. A number beyond the vocabulary starts again at 0.
func (w *writer) repeat(at, n int) (ids []int32) {
	for range n {
		ids = append(ids, int32(words+at%(w.vocab-words)))
	}
	return ids
}

// hide masks a few tokens of e, as BERT does. Of ten masked tokens, eight
// become [MASK], one stays, and one becomes a random token. tokens is the
// number of tokens, boundary the index of the first token of segment B.
func (w *writer) hide(e *records.Example, tokens, boundary int) {
	var places []int
	for _, p := range w.rng.Perm(tokens) {
		if p != 0 && p != boundary-1 && p != tokens-1 && len(places) < maxPredicted {
			places = append(places, p)
		}
	}
	slices.Sort(places)
	for i, p := range places {
		e.MaskedLMPositions[i], e.MaskedLMIDs[i], e.MaskedLMWeights[i] = int32(p), e.InputIDs[p], 1
		switch w.rng.IntN(10) {
		case 0:
		case 1:
			e.InputIDs[p] = int32(w.rng.IntN(w.vocab))
		default:
			e.InputIDs[p] = mask
		}
	}
}
