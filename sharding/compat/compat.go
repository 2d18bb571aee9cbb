// Package compat reports what the loader of a training program would read from a folder of
// examples: the shapes, the share of the tokens that it sees, special tokens, attention and
// masks, and why it would fail or misread them. The rules of the loaders are in package
// consumers.
package compat

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"pretext/internal/failure"
	"pretext/internal/humanize"
	"pretext/internal/store"
	"pretext/records"
	"pretext/records/columns"
	"pretext/records/columns/consumers"
	"pretext/records/columns/formats"
	"pretext/records/pretrain"
	"pretext/records/tfrecord"
	"pretext/sharding"
	"pretext/sharding/examples"
	"pretext/tokenize"
)

// A Report is what a consumer's loader would read from the examples at a path.
type Report struct {
	Consumer string   `json:"consumer"`
	Path     string   `json:"path"`
	Format   string   `json:"format"` // of the files
	Recipe   string   `json:"recipe"`
	Columns  []string `json:"columns,omitempty"` // name, type and length of each; none for TFRecord

	Records int64 `json:"records"`
	// Tokens is the number of tokens of all records, and Seen the number of those that the
	// loader does not cut off.
	Tokens int64 `json:"tokens"`
	Seen   int64 `json:"tokens_seen"`
	Length int   `json:"max_seq_length"` // to which the loader cuts; 0: it does not
	// Shortest and Longest are the least and the largest number of ids in a record, with
	// padding; Positions is their sum.
	Shortest  int   `json:"shortest"`
	Longest   int   `json:"longest"`
	Positions int64 `json:"positions"`
	LeastID   int32 `json:"least_id"`
	MostID    int32 `json:"most_id"`
	// CLS and SEP are the numbers of records that begin and end with these tokens; -1 if
	// the vocabulary is unknown.
	CLS    int64 `json:"begin_with_cls"`
	SEP    int64 `json:"end_with_sep"`
	Masked int64 `json:"masked_tokens"`

	Problems []string `json:"problems,omitempty"` // why the loader fails or misreads the records
}

// A misreadError means that a consumer's loader would fail or misread examples.
type misreadError struct {
	Consumer, Path string
	Problems       int
}

func (e *misreadError) Error() string {
	return fmt.Sprintf("%s: the loader of %s would not read these records rightly: %s listed above", e.Path, e.Consumer, humanize.Things(int64(e.Problems), "problem"))
}

// OverLimit marks the error for exit codes.
func (e *misreadError) OverLimit() bool { return true }

// Err returns a [*misreadError] if there are problems.
func (r *Report) Err() error {
	if len(r.Problems) == 0 {
		return nil
	}
	return &misreadError{r.Consumer, r.Path, len(r.Problems)}
}

// A folder is the examples of one stage's folder, or TFRecord files without a manifest.
type folder struct {
	name      string
	parts     []examples.Part
	made      sharding.ExamplesOptions
	converted *sharding.ConvertOptions // nil: TFRecord
	ids       int                      // size of the vocabulary; 0: unknown
	cls, sep  int32                    // -1: unknown
	pad, mask int32                    // -1: the vocabulary has none
}

// documentLength is the maximum number of tokens of a sequence that is assumed for documents,
// which have any length: that of BERT.
const documentLength = 512

// Check reads the examples at a path as the consumer's loader would. length is the maximum
// number of tokens that the loader is set to; 0 means that of the examples, or
// [documentLength].
func Check(ctx context.Context, consumer, path string, length int) (*Report, error) {
	c, err := consumers.Get(consumer)
	if err != nil {
		return nil, err
	}
	folders, err := open(ctx, path, c.Name)
	if err != nil {
		return nil, err
	}
	first := folders[0]
	r := &Report{Consumer: c.Name, Path: path, Format: first.format(), Recipe: first.made.Recipe, CLS: -1, SEP: -1}
	if first.cls >= 0 && first.sep >= 0 {
		r.CLS, r.SEP = 0, 0
	}
	if c.Cut {
		r.Length = length
		switch {
		case length > 0:
		case first.made.Form().Documents() || first.made.MaxSeqLength == 0:
			r.Length = documentLength
		default:
			r.Length = first.made.MaxSeqLength
		}
	}
	w := walk{Report: r, consumer: c, wrong: map[string]columns.Type{}}
	for _, f := range folders {
		if err := w.rules(f); err != nil {
			return nil, err
		}
	}
	for _, f := range folders {
		if err := w.read(ctx, f); err != nil {
			return nil, err
		}
	}
	w.finish()
	return r, nil
}

// open returns the folders of examples at a path: those that were converted for the
// consumer, else those of shards, else those of any converted shards.
func open(ctx context.Context, path, consumer string) (list []folder, err error) {
	d, err := sharding.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	var own, shards, converted []folder
	stages, err := d.Stages(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range stages {
		if s.Stage != sharding.StageExamples && s.Stage != sharding.StageConvert {
			continue
		}
		f, err := ofStage(ctx, s)
		switch {
		case err != nil:
			return nil, err
		case f.converted == nil:
			shards = append(shards, f)
		case f.converted.Consumer == consumer:
			own = append(own, f)
		default:
			converted = append(converted, f)
		}
	}
	for _, list := range [][]folder{own, shards, converted} {
		if list != nil {
			return list, nil
		}
	}
	if len(d.Records) == 0 {
		return nil, failure.Usagef("%s: no examples: give a folder of shards, or one that convert wrote", path)
	}
	f := folder{name: ".", cls: -1, sep: -1}
	if f.parts, err = examples.Files(ctx, d.Records); err != nil {
		return nil, err
	}
	for _, p := range f.parts {
		form, compression, err := firstRecord(ctx, p)
		if err != nil {
			return nil, err
		}
		if f.made.Recipe == "" && form != "" {
			f.made.Recipe = pretrain.RecipeOf(form).Name
		}
		if compression != "" {
			f.made.Compression = sharding.CompressionGzip // zlib is as unreadable to the loaders
		}
	}
	if f.made.Recipe == "" {
		return nil, failure.Usagef("%s: no examples: all its files are empty", path)
	}
	return []folder{f}, nil
}

// firstRecord returns the form of the first record of a TFRecord file, "" if the file has no
// records, and the compression of the file.
func firstRecord(ctx context.Context, p examples.Part) (form records.Form, compression string, err error) {
	in, err := store.OpenPath(ctx, p.Path)
	if err != nil {
		return "", "", err
	}
	defer in.Close()
	r := tfrecord.NewReader(store.NewReader(in, 0), tfrecord.ReaderOptions{})
	payload, err := r.Next()
	if err == io.EOF {
		return "", r.Compression(), nil
	}
	if err == nil {
		form, err = records.FormOf(payload)
	}
	if err != nil {
		return "", "", p.Fault(examples.Record{}, err)
	}
	return form, r.Compression(), nil
}

// ofStage returns the folder of a stage.
func ofStage(ctx context.Context, s *sharding.Stage) (f folder, err error) {
	m, err := sharding.ReadManifest(ctx, s)
	if err != nil {
		return f, err
	}
	f = folder{name: s.Name, cls: -1, sep: -1}
	options := m.Options
	if s.Stage == sharding.StageConvert {
		f.converted = new(sharding.ConvertOptions)
		if err := m.DecodeOptions(s, f.converted); err != nil {
			return f, err
		}
		options = f.converted.Examples
	}
	if options == nil {
		f.made.Recipe = pretrain.RecipeOf(f.converted.Form).Name
		f.made.MaxSeqLength = f.converted.MaxSeqLength
	} else if err := json.Unmarshal(options, &f.made); err != nil {
		return f, fmt.Errorf("read %s in %s: %w: %v", sharding.ManifestName, s, sharding.ErrFormat, err)
	}
	if f.made.Recipe == "" {
		f.made.Recipe = pretrain.Recipes()[0].Name // manifests of versions with one recipe
	}
	if f.parts, err = examples.Of(ctx, s, m); err != nil {
		return f, err
	}
	if t := f.made.Tokenizer; t != nil {
		f.ids, f.cls, f.sep, f.pad, f.mask = t.VocabSize, t.CLS, t.SEP, t.Pad, t.Mask
		return f, nil
	}
	raw, err := store.ReadFile(ctx, s, sharding.VocabName)
	if err != nil {
		return f, nil // no vocabulary beside the files: special tokens stay unknown
	}
	v, err := tokenize.ReadVocabWith(sharding.VocabName, raw, tokenize.UnkToken)
	if err != nil {
		return f, fmt.Errorf("%s: %w: %w", s, sharding.ErrFormat, err)
	}
	f.ids, f.cls, f.sep, f.pad, f.mask = v.Len(), v.CLS(), v.SEP(), v.PAD(), v.MASK()
	return f, nil
}

// format returns the name of the files' format.
func (f folder) format() string {
	if f.converted == nil {
		return "tfrecord"
	}
	return f.converted.Format
}

// A walk compares folders with the rules of a consumer.
type walk struct {
	*Report
	consumer consumers.Consumer
	wrong    map[string]columns.Type // columns whose bytes the loader takes for values of another type: its type
	mask     string                  // the column of input_mask, if the loader does not find it
	most     int64                   // largest id in such columns
	shape    string
}

func (w *walk) add(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(w.Problems, text) {
		w.Problems = append(w.Problems, text)
	}
}

// rules adds the problems that follow from the manifest of a folder.
func (w *walk) rules(f folder) error {
	c := w.consumer
	facts := consumers.Facts{Recipe: f.made.Recipe, Vocabulary: f.ids, Tokenizer: f.made.Tokenizer != nil}
	if f.ids > 0 {
		facts.Specials(f.pad, f.mask)
	}
	if f.converted == nil {
		facts.Gzip, facts.Bins = f.made.Compression == sharding.CompressionGzip, len(f.made.LengthBins) > 0
	}
	for _, p := range f.parts {
		if p.Split != sharding.Eval {
			facts.Files++
		}
	}
	if err := c.Check(facts); err != nil {
		w.add("%v", err)
	}
	if want := c.Format; want != f.format() && (want != "" || f.converted != nil) {
		if want == "" {
			w.add("the files are %s, and the loader reads the TFRecord shards from which they were made", f.format())
			return nil
		}
		w.add("the files are %s, and the loader reads %s: it finds none; write them with convert --for %s", f.format(), want, c.Name)
	}
	if f.converted == nil {
		return nil
	}
	table, err := examples.Table(*f.converted)
	if err != nil {
		return err
	}
	format, _ := formats.Get(f.converted.Format)
	about := format.About()
	if w.Columns == nil && !about.OwnColumns {
		for _, col := range table.Schema {
			length := fmt.Sprint(col.Len)
			if col.Len == 0 {
				length = "any"
			}
			w.Columns = append(w.Columns, fmt.Sprintf("%s %s[%s]", col.Name, col.Type, length))
		}
	}
	if f.converted.Format != c.Format {
		return nil
	}
	has := f.converted.Compression
	if all := about.Compressions; has == "" && len(all) > 0 {
		has = all[0]
	}
	if c.Compression != "" && has != c.Compression {
		w.add("the files have the compression %s, and the loader opens only files with %s", has, c.Compression)
	}
	if folder := c.Splits[f.converted.Split]; c.Splits != nil && folder != store.Base(f.name) && f.name != "." {
		w.add("the folder %s holds the split %q, which the loader looks for in %q", f.name, f.converted.Split, folder)
	}
	if !about.OwnColumns {
		w.columns(f, table.Schema)
	}
	return nil
}

// columns compares the columns of the files with those of the consumer.
func (w *walk) columns(f folder, has []columns.Column) {
	spec := columns.Spec{Form: f.converted.Form, Seq: f.converted.MaxSeqLength, Predictions: f.converted.MaxPredictionsPerSeq}
	for _, want := range columns.NewTable(w.consumer.Spec(spec)).Schema {
		i := slices.IndexFunc(has, func(c columns.Column) bool { return c.Name == want.Name })
		switch {
		case i < 0 && w.consumer.From(want.Name, records.InputMask):
			w.mask = want.Name
		case i < 0:
			w.add("no column %s, which the loader reads", want.Name)
		case w.consumer.Reinterprets && has[i].Type != want.Type:
			w.wrong[want.Name] = want.Type
			if want.Name == records.InputIDs {
				w.shape = fmt.Sprintf("%s has values of %s, which the loader takes for %s", want.Name, has[i].Type, want.Type)
			}
		}
	}
}

// read counts the records of a folder.
func (w *walk) read(ctx context.Context, f folder) error {
	form := f.made.Form()
	kind := columns.Int32
	if f.converted != nil {
		if table, err := examples.Table(*f.converted); err == nil && len(table.Schema) > 0 {
			kind = table.Schema[0].Type
		}
	}
	var e records.Example
	var raw []byte
	for _, p := range f.parts {
		for r, err := range p.Records(ctx) {
			if err != nil {
				return err
			}
			if err := e.DecodeForm(form, r.Payload); err != nil {
				return p.Fault(r, err)
			}
			w.count(&e, f)
			if to, wrong := w.wrong[records.InputIDs]; wrong {
				raw = columns.AppendLittle(raw[:0], kind, columns.Value{Ints: e.InputIDs})
				w.most = max(w.most, largest(raw, to))
			}
			if err := ctx.Err(); err != nil {
				return err
			}
		}
	}
	return nil
}

// count adds a record.
func (w *walk) count(e *records.Example, f folder) {
	n, all := e.Tokens(), len(e.InputIDs)
	if w.Records == 0 {
		w.Shortest, w.LeastID, w.MostID = all, e.InputIDs[0], e.InputIDs[0]
	}
	w.Records++
	w.Shortest, w.Longest, w.Positions = min(w.Shortest, all), max(w.Longest, all), w.Positions+int64(all)
	w.LeastID, w.MostID = min(w.LeastID, slices.Min(e.InputIDs)), max(w.MostID, slices.Max(e.InputIDs))
	w.Masked += int64(e.Predictions())
	seen := n
	if w.Length > 0 {
		seen = min(n, w.Length)
	}
	w.Tokens, w.Seen = w.Tokens+int64(n), w.Seen+int64(seen)
	if w.CLS >= 0 && e.InputIDs[0] == f.cls {
		w.CLS++
	}
	if w.SEP >= 0 && n > 0 && e.InputIDs[n-1] == f.sep {
		w.SEP++
	}
}

// largest returns the largest of the values of type t in raw. The rest of raw that makes no
// whole value is ignored.
func largest(raw []byte, t columns.Type) (most int64) {
	for ; len(raw) >= t.Size(); raw = raw[t.Size():] {
		switch t.Size() {
		case 8:
			most = max(most, int64(binary.LittleEndian.Uint64(raw)))
		case 2:
			most = max(most, int64(binary.LittleEndian.Uint16(raw)))
		default:
			most = max(most, int64(int32(binary.LittleEndian.Uint32(raw))))
		}
	}
	return most
}

// finish adds the problems that follow from the records.
func (w *walk) finish() {
	if w.mask != "" {
		w.add("no column %s: the loader attends to the padding too, which is %s of all positions", w.mask, percent(w.Positions-w.Tokens, w.Positions))
	}
	if share := w.Positions - w.Tokens; w.consumer.Unmasked && share > w.Positions/200 { // more than 0.5 %
		w.add("the loader attends to padding, which is %s of all positions: use fewer shards, or rows that are fuller (--set pack-slack=0)", percent(share, w.Positions))
	}
	if w.shape != "" {
		w.add("%s: their number changes, and ids go up to %d", w.shape, w.most)
	}
	if w.Seen < w.Tokens-w.Tokens/200 { // less than 99.5 %
		w.add("the loader cuts records at %d tokens: it sees %s of the tokens; make the records with --recipe %s", w.Length, percent(w.Seen, w.Tokens), strings.Join(w.consumer.Recipes, " or "))
	}
}

// percent returns n as a percentage of all, such as "38.1 %".
func percent(n, all int64) string { return fmt.Sprintf("%.1f %%", 100*float64(n)/float64(max(1, all))) }
