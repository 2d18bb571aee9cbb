package survey_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pretext/extract"
	"pretext/extract/wiki/facts"
	"pretext/pipeline"
	"pretext/pipeline/stage"
	"pretext/records"
	"pretext/records/tfrecord"
	"pretext/sharding"
	"pretext/sharding/survey"
	"pretext/trainer/loader"
)

func TestMain(m *testing.M) {
	stage.Init(os.Args[1:])
	code := m.Run()
	if demoDir != "" {
		os.RemoveAll(demoDir)
	}
	os.Exit(code)
}

var (
	demoOnce sync.Once
	demoDir  string
	demoErr  error
)

// demo returns a run of the embedded corpus that all tests share: look, do not
// touch.
func demo(t testing.TB) string {
	t.Helper()
	demoOnce.Do(func() {
		if demoDir, demoErr = os.MkdirTemp("", "survey-*"); demoErr == nil {
			demoErr = makeDemo(demoDir)
		}
	})
	if demoErr != nil {
		t.Fatal(demoErr)
	}
	return demoDir
}

func makeDemo(out string) error {
	_, err := pipeline.Demo(context.Background(), stage.Runner{Name: "direct", Workers: 2}, pipeline.DemoConfig(out))
	return err
}

func collect(t testing.TB, path string, o survey.Options) *survey.Stats {
	t.Helper()
	s, err := survey.Collect(context.Background(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// slowCount counts what a RecordStats says, in the plainest way.
type slowCount struct {
	records, tokens, padding, masked, mask, kept, random, unknown, words int64
	lengths                                                              map[int]int64
	ids                                                                  map[int32]int64
}

func countSlowly(t *testing.T, path string) slowCount {
	t.Helper()
	shards, err := loader.Open(context.Background(), path, loader.Options{})
	if err != nil {
		t.Fatal(err)
	}
	v, err := shards.Vocab(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	c := slowCount{lengths: map[int]int64{}, ids: map[int32]int64{}}
	for r, err := range shards.Examples(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		c.records++
		e := r.Example
		original := append([]int32{}, e.InputIDs...)
		for i, w := range e.MaskedLMWeights {
			if w != 1 {
				continue
			}
			at := e.MaskedLMPositions[i]
			original[at] = e.MaskedLMIDs[i]
			c.masked++
			switch e.InputIDs[at] {
			case e.MaskedLMIDs[i]:
				c.kept++
			case v.MASK():
				c.mask++
			}
		}
		c.random += int64(e.NextSentenceLabel)
		n := 0
		for i, m := range e.InputMask {
			if m == 0 {
				c.padding++
				continue
			}
			n++
			if id := original[i]; id != v.CLS() && id != v.SEP() {
				c.words++
				c.ids[id]++
				if id == v.UNK() {
					c.unknown++
				}
			}
		}
		c.tokens += int64(n)
		c.lengths[n]++
	}
	return c
}

func TestRecordsAreCountedAsAPlainLoopCountsThem(t *testing.T) {
	want := countSlowly(t, filepath.Join(demo(t), "shards"))
	r := collect(t, demo(t), survey.Options{Workers: 3}).Records
	got := slowCount{records: r.Records, tokens: r.Tokens, padding: r.Places - r.Tokens, masked: r.MaskRate.Count, mask: r.BecameMask.Count,
		kept: r.Kept.Count, random: r.RandomNext.Count, unknown: r.Unknown.Count, words: r.Unknown.Of, lengths: map[int]int64{}, ids: want.ids}
	for _, b := range r.Lengths {
		got.lengths[b.Value] = b.Count
	}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(slowCount{})); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if r.Vocab.Used != len(want.ids) || len(r.Top) != 50 {
		t.Errorf("got %d different tokens and %d top ones, want %d and 50", r.Vocab.Used, len(r.Top), len(want.ids))
	}
	for i, top := range r.Top {
		if want.ids[int32(top.ID)] != top.Count || i > 0 && r.Top[i-1].Count < top.Count || top.Token == "" {
			t.Errorf("top token %d: got %+v, want count %d", i, top, want.ids[int32(top.ID)])
		}
	}
	if want := float64(want.padding) / float64(want.padding+want.tokens); math.Abs(r.Padding-want) > 1e-12 {
		t.Errorf("got padding %v, want %v", r.Padding, want)
	}
}

func TestTheSharesOfARunAreWithinTheirLimits(t *testing.T) {
	r := collect(t, demo(t), survey.Options{}).Records
	for name, s := range map[string]survey.Share{"mask rate": r.MaskRate, "became [MASK]": r.BecameMask, "kept": r.Kept,
		"replaced": r.Replaced, "random next": r.RandomNext} {
		if s.Limits == nil || !s.Limits.Within {
			t.Errorf("%s: got %+v, limits %+v", name, s, s.Limits)
		}
	}
	if r.BecameMask.Count+r.Kept.Count+r.Replaced.Count != r.MaskRate.Count {
		t.Errorf("%d + %d + %d predictions, want %d", r.BecameMask.Count, r.Kept.Count, r.Replaced.Count, r.MaskRate.Count)
	}
}

func TestDocumentsAreCounted(t *testing.T) {
	s := collect(t, demo(t), survey.Options{Workers: 2})
	if len(s.Documents) != 1 || len(s.Stages) != 3 {
		t.Fatalf("got %d folders of documents and %d stages", len(s.Documents), len(s.Stages))
	}
	d, c := s.Documents[0], s.Stages[0].Counts
	if d.Documents != extract.Documents.Of(c) || d.TextBytes != extract.TextBytes.Of(c) || d.Pages != facts.Pages.Of(c) {
		t.Errorf("got %d documents, %d bytes, %d pages, the manifest says %v", d.Documents, d.TextBytes, d.Pages, c)
	}
	var lengths, languages, sources, rejected int64
	for _, b := range d.Lengths {
		lengths += b.Count
	}
	for _, n := range d.Languages {
		languages += n.Count
	}
	for _, n := range d.Sources {
		sources += n.Bytes
	}
	for _, n := range d.Rejects {
		rejected += n.Count
	}
	if lengths != d.Documents || languages != d.Documents || sources != d.TextBytes || rejected != d.Rejected || rejected == 0 {
		t.Errorf("got %d lengths, %d languages, %d bytes of sources, %d rejects of %+v", lengths, languages, sources, rejected, d)
	}
	if len(d.Dropped) == 0 || d.Longest == 0 || !strings.HasPrefix(d.LongestID, "books:") {
		t.Errorf("got templates %v, longest %q", d.Dropped, d.LongestID)
	}
	for _, stage := range s.Stages {
		if stage.Run == nil || stage.Run.Workers != 2 || stage.Manifest == "" || stage.Bytes == 0 {
			t.Errorf("stage %s: got %+v", stage.Stage, stage)
		}
	}
}

func TestTheResultDependsNeitherOnWorkersNorOnMemory(t *testing.T) {
	want := asJSON(t, collect(t, demo(t), survey.Options{Workers: 1}))
	for _, o := range []survey.Options{{Workers: 2}, {Workers: 9, Memory: 1}, {Workers: 3, Memory: 1, Temp: t.TempDir()}} {
		if d := cmp.Diff(want, asJSON(t, collect(t, demo(t), o))); d != "" {
			t.Errorf("%+v:\n%s", o, d)
		}
	}
}

func asJSON(t testing.TB, v any) string {
	t.Helper()
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// example returns a sound example that number tells from others.
func example(number int) *records.Example {
	e := &records.Example{
		InputIDs: make([]int32, 16), InputMask: make([]int32, 16), SegmentIDs: make([]int32, 16),
		MaskedLMPositions: make([]int32, 2), MaskedLMIDs: make([]int32, 2), MaskedLMWeights: []float32{1, 0},
	}
	copy(e.InputIDs, []int32{2, int32(10 + number), 4, 3, 11, 12, 3})
	copy(e.InputMask, []int32{1, 1, 1, 1, 1, 1, 1})
	copy(e.SegmentIDs, []int32{0, 0, 0, 0, 1, 1, 1})
	e.MaskedLMPositions[0], e.MaskedLMIDs[0] = 2, 13
	return e
}

func writeRecords(t testing.TB, path string, numbers ...int) {
	t.Helper()
	var b []byte
	for _, n := range numbers {
		b = tfrecord.AppendFrame(b, example(n).Append(nil))
	}
	if err := os.WriteFile(path, b, 0o666); err != nil {
		t.Fatal(err)
	}
}

func TestRecordsThatRepeatAreNamed(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a.tfrecord"), filepath.Join(dir, "b.tfrecord")
	writeRecords(t, a, 1, 2, 3, 2)    // 2 twice in the same file
	writeRecords(t, b, 4, 3, 5, 1, 4) // 3 and 1 of the other, 4 twice
	for _, memory := range []int64{0, 1} {
		got := collect(t, dir, survey.Options{Workers: 2, Memory: memory}).Records.Duplicates
		want := survey.Repeated{Records: 4, Between: 2, First: []survey.Repeat{{File: b, Record: 1, Earlier: a, Of: 2}, {File: b, Record: 3, Earlier: a, Of: 0}}}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("-want +got:\n%s", d)
		}
	}
}

func TestAFolderOfForeignRecordsIsSurveyedWithoutAVocabulary(t *testing.T) {
	dir := t.TempDir()
	writeRecords(t, filepath.Join(dir, "part-00000-of-00001"), 1, 2, 3)
	r := collect(t, dir, survey.Options{}).Records
	if r.Records != 3 || r.Files != 1 || r.Tokens != 21 || r.MaxSeqLength != 16 || r.MaskRate.Count != 3 {
		t.Errorf("got %+v", r)
	}
	if want := (survey.VocabUse{Used: 3, Inferred: true, Mask: 4, CLS: 2, SEP: 3}); r.Vocab != want {
		t.Errorf("got %+v, want %+v", r.Vocab, want)
	}
	if r.BecameMask.Count != 3 || r.BecameMask.Limits != nil || r.Unknown != nil {
		t.Errorf("got [MASK] %+v, unknown %v", r.BecameMask, r.Unknown)
	}
}

func TestDamageIsAnErrorWithItsPlace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.tfrecord")
	writeRecords(t, path, 1, 2, 3)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	frame := len(b) / 3
	b[frame+30] ^= 1
	if err := os.WriteFile(path, b, 0o666); err != nil {
		t.Fatal(err)
	}
	_, err = survey.Collect(context.Background(), path, survey.Options{})
	want := fmt.Sprintf("%s: record 1: corrupt record at byte %d: data checksum mismatch", path, frame)
	if err == nil || err.Error() != want || !errors.Is(err, tfrecord.ErrCorrupt) {
		t.Errorf("got %v, want %s", err, want)
	}
}

// A share that the options do not allow is marked: here all predicted tokens
// are [MASK].
func TestAShareBeyondItsLimitsIsMarked(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(demo(t), "shards"))); err != nil {
		t.Fatal(err)
	}
	remask(t, filepath.Join(dir, "train-00000-of-00004.tfrecord"))
	r := collect(t, dir, survey.Options{}).Records
	for name, s := range map[string]survey.Share{"[MASK]": r.BecameMask, "kept": r.Kept, "replaced": r.Replaced} {
		if s.Limits.Within {
			t.Errorf("%s: got %+v within %+v", name, s, s.Limits)
		}
	}
	if !r.MaskRate.Limits.Within {
		t.Errorf("mask rate: got %+v, %+v", r.MaskRate, r.MaskRate.Limits)
	}
}

// remask rewrites a file so that every predicted token became [MASK].
func remask(t *testing.T, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []byte
	r := tfrecord.NewReader(bytes.NewReader(b), tfrecord.ReaderOptions{})
	for {
		payload, err := r.Next()
		if err != nil {
			break
		}
		var e records.Example
		if err := e.Decode(payload); err != nil {
			t.Fatal(err)
		}
		for i := range e.Predictions() {
			e.InputIDs[e.MaskedLMPositions[i]] = 4
		}
		out = tfrecord.AppendFrame(out, e.Append(nil))
	}
	if err := os.WriteFile(path, out, 0o666); err != nil {
		t.Fatal(err)
	}
}

func TestWhatCannotBeSurveyed(t *testing.T) {
	empty, unfinished := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(unfinished, sharding.PlanName), []byte("{}"), 0o666); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]error{
		filepath.Join(empty, "none"): os.ErrNotExist,
		empty:                        sharding.ErrUnfinished,
		unfinished:                   sharding.ErrUnfinished,
	} {
		if _, err := survey.Collect(context.Background(), path, survey.Options{}); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", path, err, want)
		}
	}
}

func TestACancelledSurveyEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := survey.Collect(ctx, demo(t), survey.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
