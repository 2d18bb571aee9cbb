package verify

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"math"
	"slices"
	"strings"

	"pretext/counts"
	"pretext/internal/extsort"
	"pretext/internal/store"
	"pretext/records"
	"pretext/records/pretrain"
	"pretext/records/tfrecord"
	"pretext/sharding"
)

// shard checks a file of records: its hash and, in the same pass, all records, which it
// compares with the rules, the options, the index, the side-car and the manifest. number
// is the index of the file in the manifest.
func (c *folderCheck) shard(ctx context.Context, number int, e sharding.FileEntry, r *fileReport) error {
	f, err := store.OpenAt(ctx, c.folder, e.Name, 0, max(1, e.Bytes))
	if err != nil {
		problem, sizeErr := e.CheckSize(ctx, c.folder)
		if problem == nil {
			return errors.Join(err, sizeErr)
		}
		r.add(*problem)
		return nil
	}
	defer f.Close()
	content := &hashedReader{ctx: ctx, from: store.NewReader(f, 0), hash: sha256.New()}
	scanned := fileReport{findings: findings{most: r.most}}
	if first, ok := c.sums[e.SHA256]; ok && first != e.Name && sharding.Records.Of(e.Counts) > 0 && !c.repeating() {
		scanned.add(sharding.Problem{File: e.Name, Reason: "same content as " + first})
	}
	if err := c.records(ctx, content, number, e, &scanned); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, content); err != nil { // what follows a corrupt record
		return fmt.Errorf("read %s: %w", e.Name, err)
	}
	if problem := e.Compare(f.Size(), hex.EncodeToString(content.hash.Sum(nil))); problem != nil {
		r.add(*problem)
	}
	r.take(scanned.findings)
	r.records, r.scan = scanned.records, scanned.scan
	return nil
}

// A hashedReader hashes what is read through it.
type hashedReader struct {
	ctx  context.Context
	from io.Reader
	hash hash.Hash
}

func (r *hashedReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := r.from.Read(p)
	r.hash.Write(p[:n])
	return n, err
}

// records reads all records of a shard and checks them.
func (c *folderCheck) records(ctx context.Context, content io.Reader, number int, e sharding.FileEntry, r *fileReport) error {
	name, _ := sharding.ParseShardName(e.Name)
	s := &recordScan{number: number, file: e.Name, findings: r.findings, rules: c.rules, made: c.made, mask: c.mask, repeats: c.repeats}
	if recipe, known := pretrain.RecipeByName(c.made.Recipe); known && c.rules.VocabSize != 0 {
		s.check = recipe.Check
	}
	r.scan = s
	s.bin(name)
	if err := s.open(ctx, c.folder, name); err != nil {
		return err
	}
	err := s.run(ctx, content)
	if s.body != nil {
		if n := len(s.body.Tokens); int64(n) > s.records && !s.damaged {
			s.fault(-1, 0, fmt.Sprintf("%d records, the side-car has %d", s.records, n))
		}
		if seed := name.Seed(c.made.RandomSeed); s.body.RandomSeed != seed || s.body.Split != name.Split || s.body.Shard != name.Index || s.body.Shards != name.Count {
			s.add(sharding.Problem{File: name.SideCar(), Reason: fmt.Sprintf("says shard %s %d of %d, seed %d: not those of its name", s.body.Split, s.body.Shard, s.body.Shards, s.body.RandomSeed)})
		}
	}
	s.compareCounts(e.Counts)
	r.records, r.findings = s.records, s.findings
	return err
}

// bin adjusts the rules for the records of a length bin.
func (s *recordScan) bin(name sharding.ShardName) {
	if name.Bin == 0 && len(s.made.LengthBins) == 0 {
		return
	}
	at := slices.Index(s.made.LengthBins, name.Bin)
	if at < 0 {
		s.fault(-1, 0, fmt.Sprintf("its name is not of one of the length bins %v", s.made.LengthBins))
		return
	}
	s.rules.MaxSeqLength = name.Bin
	if at > 0 {
		s.least = s.made.LengthBins[at-1] + 1
	}
}

// compareCounts compares the counted values with the counts in the manifest.
func (s *recordScan) compareCounts(want sharding.Counts) {
	compare := func(k counts.Count, n int64) {
		if n != k.Of(want) {
			s.fault(-1, 0, fmt.Sprintf("%d %s, the manifest says %d", n, k.Key, k.Of(want)))
		}
	}
	compare(sharding.Records, s.records)
	compare(sharding.RecordTokens, s.tokens)
	form := s.made.Form()
	if form.Masks() {
		compare(sharding.Masked, s.masked)
		compare(sharding.WithoutPredictions, s.without)
	}
	if form.Pairs() {
		compare(sharding.RandomNext, s.random)
	}
	if form.Rows() {
		compare(sharding.Pieces, s.pieces)
	}
	// Each token is in exactly one record. Each piece additionally has [CLS] and [SEP].
	if tokens, ok := want[sharding.Tokens.Key]; ok && !form.Masks() && s.tokens-2*s.pieces != tokens && !s.damaged {
		s.fault(-1, 0, fmt.Sprintf("%d tokens of documents in the records, the manifest says that they have %d", s.tokens-2*s.pieces, tokens))
	}
}

// A recordScan reads every record of a file and checks it.
type recordScan struct {
	findings
	number  int // index of the file in the manifest
	file    string
	bare    bool // no manifest: run only the checks that apply to every file of examples
	rules   records.Rules
	made    *sharding.ExamplesOptions // options of the records; nil: unknown
	mask    int32
	index   *tfrecord.IndexReader // nil if there is no index, or after its first error
	body    *sharding.ShardBody   // nil if the side-car is unreadable
	repeats *repeats
	damaged bool // not all records could be read
	least   int  // minimum number of tokens of a record in this length bin

	check func(pretrain.Options, records.Rules, *records.Example) error // check of the recipe; nil: none

	tally
	batch []extsort.Pair
}

// A tally contains the counts of a scan.
type tally struct {
	records, tokens, masked, random, without, pieces int64
	became, kept                                     int64 // number of predicted tokens that became [MASK], and that stayed
}

// open reads the side-car and the index.
func (s *recordScan) open(ctx context.Context, folder store.Folder, name sharding.ShardName) error {
	body, err := sharding.ReadShardBody(ctx, folder, name)
	switch {
	case err == nil:
		s.body = &body
	case errors.Is(err, sharding.ErrFormat):
		s.add(sharding.Problem{File: name.SideCar(), Reason: err.Error()})
	case errors.Is(err, fs.ErrNotExist): // reported as missing
	case err != nil:
		return err
	}
	index, err := store.ReadFile(ctx, folder, name.IndexFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	s.index = tfrecord.NewIndexReader(bytes.NewReader(index))
	return err
}

// fault adds a problem. record is the index of the record, or -1 if the problem does not
// concern a single record.
func (s *recordScan) fault(record, offset int64, reason string) {
	p := sharding.Problem{File: s.file, Offset: offset, Reason: strings.ReplaceAll(reason, "\n", "; ")}
	if record >= 0 {
		p.Record = &record
	}
	s.add(p)
}

func (s *recordScan) run(ctx context.Context, content io.Reader) error {
	r := tfrecord.NewReader(content, tfrecord.ReaderOptions{})
	var example records.Example
	for {
		offset := r.Offset()
		payload, err := r.Next()
		var corrupt *tfrecord.CorruptError
		switch {
		case err == io.EOF:
			s.endOfIndex()
			return s.flush()
		case errors.As(err, &corrupt):
			s.damaged = true
			s.fault(s.records, corrupt.Offset, fmt.Sprintf("record %d: %v", s.records, err))
			return s.flush()
		case err != nil:
			return err
		}
		if s.records%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := s.record(payload, offset, &example); err != nil {
			return err
		}
	}
}

// record checks one record.
func (s *recordScan) record(payload []byte, offset int64, e *records.Example) error {
	err := s.decode(payload, e)
	tokens := e.Tokens()
	if err == nil {
		err = s.rules.Check(e)
		if tokens < s.least {
			err = errors.Join(err, fmt.Errorf("%d tokens, which belong into a smaller length bin", tokens))
		}
		s.count(e, tokens)
		if err == nil && s.check != nil {
			err = s.check(s.made.Options, s.rules, e)
		}
	}
	if err != nil {
		s.fault(s.records, offset, fmt.Sprintf("record %d at byte %d: %v", s.records, offset, err))
	}
	s.compare(e, tokens, tfrecord.Span{Offset: offset, Length: int64(len(payload)) + tfrecord.FrameBytes}, err == nil)
	s.batch = append(s.batch, extsort.Pair{Key: extsort.Hash(payload), Value: recordNumber(s.number, s.records)})
	s.records++
	if len(s.batch) < hashBatch {
		return nil
	}
	return s.flush()
}

// decode decodes a record in the form of the folder. Without a manifest, the form is that
// of the file's first record.
func (s *recordScan) decode(payload []byte, e *records.Example) error {
	if s.bare && s.records == 0 {
		form, err := e.DecodeAny(payload)
		s.rules.Form = form
		return err
	}
	return e.DecodeForm(s.rules.Form, payload)
}

// hashBatch is the number of hashes that are added to the sorter at a time.
const hashBatch = 4096

func (s *recordScan) flush() error {
	err := s.repeats.add(s.batch)
	s.batch = s.batch[:0]
	return err
}

// count adds an example with so many tokens to the counts that will be compared with the manifest.
func (s *recordScan) count(e *records.Example, tokens int) {
	n := e.Predictions()
	s.pieces += int64(len(e.SequenceLengths))
	if s.rules.Form.Alone() {
		s.pieces++
	}
	s.tokens += int64(tokens)
	s.masked += int64(n)
	if e.NextSentenceLabel == 1 {
		s.random++
	}
	if n == 0 && s.rules.Form.Masks() {
		s.without++
	}
	for i, p := range e.MaskedLMPositions[:min(n, len(e.MaskedLMPositions), len(e.MaskedLMIDs))] {
		if p < 0 || int(p) >= len(e.InputIDs) {
			continue
		}
		var kept, became int64 // without branches, which a processor cannot predict here
		if e.InputIDs[p] == e.MaskedLMIDs[i] {
			kept = 1
		}
		if e.InputIDs[p] == s.mask {
			became = 1
		}
		s.kept += kept
		s.became += became &^ kept
	}
}

// compare compares a record with its entries in the index and in the side-car.
func (s *recordScan) compare(e *records.Example, tokens int, at tfrecord.Span, sound bool) {
	if s.index != nil {
		if span, err := s.index.Next(); err != nil || span != at {
			s.fault(s.records, at.Offset, fmt.Sprintf("record %d at byte %d: the index says otherwise (%v, %v)", s.records, at.Offset, span, err))
			s.index = nil // report only the first error
		}
	}
	if s.body == nil || !sound {
		return
	}
	if i := int(s.records); !lists(s.body.Tokens, i, tokens) ||
		s.rules.Form.Masks() && !lists(s.body.Masked, i, e.Predictions()) ||
		s.rules.Form.Rows() && !lists(s.body.Pieces, i, len(e.SequenceLengths)) {
		s.fault(s.records, at.Offset, fmt.Sprintf("record %d at byte %d: the side-car has other lengths", s.records, at.Offset))
		s.body = nil
	}
}

// lists reports whether element i of list is want.
func lists[T uint16 | uint32](list []T, i, want int) bool {
	return i < len(list) && int(list[i]) == want
}

func (s *recordScan) endOfIndex() {
	if s.index == nil {
		return
	}
	if span, err := s.index.Next(); err != io.EOF {
		s.fault(-1, span.Offset, fmt.Sprintf("the index goes on after the last of %d records (%v)", s.records, err))
	}
}

// chanceSigmas is the limit for the difference between a fraction and its expected value,
// in standard deviations of independent draws. By chance, one in 500 million folders
// exceeds six.
const chanceSigmas = 6

// spanSigmas multiplies chanceSigmas for span masking, where all tokens of a span share
// one draw. The factor is at most the square root of the number of tokens in a span,
// which is at most ten words.
const spanSigmas = 5

// chances checks fractions against the probabilities of the recipe: the predicted tokens
// that became [MASK], those that stayed, and the random next sentences.
func (c *folderCheck) chances(reports []fileReport, r *fileReport) {
	_, known := pretrain.RecipeByName(c.made.Recipe)
	if !known || !c.made.Form().Masks() || c.rules.VocabSize == 0 {
		return
	}
	var masked, became, kept, random, n int64
	for _, report := range reports {
		if s := report.scan; s != nil {
			masked, became, kept, random, n = masked+s.masked, became+s.became, kept+s.kept, random+s.random, n+s.records
		}
	}
	made := c.made.Replacement()
	keep := made.StayTokenProb()
	chance := made.RandomTokenProb / float64(c.rules.VocabSize) // a random word may be the original or [MASK]
	sigmas := float64(chanceSigmas)
	if c.made.SpanMask {
		sigmas *= spanSigmas
	}
	if !c.made.Form().Pairs() {
		n = 0
	}
	for _, share := range []struct {
		what      string
		count, of int64
		p         float64
		over      bool // a larger fraction is allowed
	}{
		{"predicted tokens became [MASK]", became, masked, made.MaskTokenProb + chance, false},
		{"predicted tokens stayed", kept, masked, keep + chance, false},
		{"records have a random next sentence", random, n, 0.5, true},
	} {
		if share.of == 0 {
			continue
		}
		got := float64(share.count) / float64(share.of)
		limit := sigmas * math.Sqrt(max(0, share.p*(1-share.p))/float64(share.of))
		if got < share.p-limit || got > share.p+limit && !share.over {
			r.add(sharding.Problem{File: sharding.ManifestName, Reason: fmt.Sprintf("%d of %d %s, %.2f %%: chance gives %.2f ± %.2f %%",
				share.count, share.of, share.what, 100*got, 100*share.p, 100*limit)})
		}
	}
}
