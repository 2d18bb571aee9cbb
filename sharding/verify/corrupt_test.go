package verify_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pretext/extract"
	"pretext/internal/dev/torture"
	"pretext/internal/failure"
	"pretext/pipeline"
	"pretext/records"
	"pretext/records/tfrecord"
	"pretext/sharding"
	"pretext/sharding/verify"
)

// Whatever happens to a file of a run, verify names it; of records and
// documents also the place.
func TestEveryDamageIsNamed(t *testing.T) {
	for _, made := range []struct{ recipe, compression string }{
		{"google", sharding.CompressionNone}, {"google", sharding.CompressionGzip},
		{"mlm", sharding.CompressionNone}, {"tokens", sharding.CompressionNone}, {"packed", sharding.CompressionNone}, {"pieces", sharding.CompressionNone},
	} {
		recipe, compression := made.recipe, made.compression
		out := smallRun(t, func(c *pipeline.RunConfig) {
			useRecipe(c, recipe)
			c.Examples.Compression = compression
		})
		for _, name := range []string{
			"shards/train-00000-of-00001.tfrecord", "shards/train-00000-of-00001.tfrecord.gz", "shards/train-00000-of-00001.idx",
			"shards/train-00000-of-00001.json", "shards/vocab.txt", "shards/manifest.json", "shards/plan.json", "shards/plan/tasks.bin",
			"documents/documents-w-00000.jsonl.zst", "documents/documents-w-00000.json", "documents/documents-w-00000.ids", "documents/documents-w-00000.rejects",
			"documents/manifest.json", "vocab/counts-00000.txt", "vocab/vocab.txt",
		} {
			path := filepath.Join(out, filepath.FromSlash(name))
			whole, err := os.ReadFile(path)
			if err != nil || compression == sharding.CompressionGzip && !strings.HasSuffix(name, ".gz") {
				continue
			}
			if recipe != "google" && !strings.HasPrefix(name, "shards/train-") {
				continue // the other files are of the same kind
			}
			t.Run(recipe+"/"+filepath.Base(filepath.Dir(path))+"/"+filepath.Base(path), func(t *testing.T) {
				r := torture.Random(t)
				defer os.WriteFile(path, whole, 0o666)
				for d := range damages(r, name, whole, variantsOf(t, name)) {
					if d.missing {
						os.Remove(path)
					} else if err := os.WriteFile(path, d.data, 0o666); err != nil {
						t.Fatal(err)
					}
					if problem := missed(path, whole, d); problem != "" {
						at := max(0, min(d.at, len(d.data)))
						t.Fatalf("%s: %s\n%q", d.what, problem, d.data[max(0, at-60):min(at+60, len(d.data))])
					}
				}
			})
		}
	}
}

// missed says what a verification does not say of a damaged file.
func missed(path string, whole []byte, d damage) string {
	dir := filepath.Dir(path)
	if filepath.Base(dir) == sharding.PlanFolder {
		dir = filepath.Dir(dir)
	}
	v, err := verify.Dataset(context.Background(), dir, verify.Options{})
	if errors.Is(err, sharding.ErrUnfinished) && d.missing && filepath.Base(path) == sharding.ManifestName && strings.Contains(err.Error(), dir) {
		return ""
	}
	if newer := (*failure.Newer)(nil); errors.As(err, &newer) && filepath.Base(path) == sharding.ManifestName && strings.Contains(err.Error(), dir) {
		return "" // a higher version was written into it
	}
	if err != nil {
		return fmt.Sprintf("could not be looked at: %v", err)
	}
	name := filepath.Base(path)
	var here []sharding.Problem
	for _, p := range v.Problems {
		if p.File == path {
			here = append(here, p)
		}
	}
	if len(here) == 0 && (name != sharding.ManifestName || v.OK()) { // a manifest may be right: then a file is not
		return fmt.Sprintf("not named in %v", v.Problems)
	}
	switch {
	case d.at < 0:
	case strings.HasSuffix(name, ".tfrecord"):
		return recordMissed(here, whole, d)
	case strings.HasSuffix(name, sharding.DocumentsSuffix):
		return blockMissed(here, whole, d.data, d.at)
	}
	return ""
}

// blockMissed demands the byte of the block that holds a damaged byte; a bit of
// a frame's header that zstd does not look at, and the seek table, have none.
func blockMissed(problems []sharding.Problem, whole, damaged []byte, at int) string {
	blocks, err := extract.ReadBlocks(bytes.NewReader(whole), int64(len(whole)))
	if err != nil {
		return err.Error()
	}
	i := slices.IndexFunc(blocks, func(b extract.Block) bool { return int64(at) >= b.Offset && int64(at) < b.Offset+b.Length })
	if i < 0 || len(whole) != len(damaged) {
		return ""
	}
	r, err := extract.NewBlockReader()
	if err != nil {
		return err.Error()
	}
	defer r.Close()
	for _, err := range r.Documents(bytes.NewReader(damaged), blocks[i]) {
		if err != nil && !slices.ContainsFunc(problems, func(p sharding.Problem) bool {
			return p.Offset == blocks[i].Offset && strings.Contains(p.Reason, "at byte")
		}) {
			return fmt.Sprintf("want byte %d in %v", blocks[i].Offset, problems)
		}
	}
	return ""
}

// recordMissed demands the record that holds the first damaged byte, and its offset. Where
// bytes are cut out, a whole record of the same length may move there, which no checksum of
// a record tells: then the next one that differs is demanded.
func recordMissed(problems []sharding.Problem, whole []byte, d damage) string {
	before := tfrecord.NewReader(bytes.NewReader(whole), tfrecord.ReaderOptions{})
	after := tfrecord.NewReader(bytes.NewReader(d.data), tfrecord.ReaderOptions{})
	var record, offset int64
	cutBetween := false
	for {
		offset = before.Offset()
		_, err := before.Next()
		_, damaged := after.Next()
		if err == io.EOF && damaged == io.EOF {
			return "" // as many records, each as long as it was: only the hash of the file tells
		}
		cutBetween = int64(d.at) == offset || damaged == io.EOF
		if err != nil || int64(d.at) < before.Offset() && (damaged != nil || after.Offset() != before.Offset()) {
			break
		}
		record++
	}
	for _, p := range problems {
		if p.Record != nil && *p.Record == record && p.Offset == offset || cutBetween && strings.Contains(p.Reason, "bytes long") {
			return ""
		}
	}
	return fmt.Sprintf("want record %d at byte %d in %v", record, offset, problems)
}

// forge rewrites the records of a run's shard and everything that speaks of its
// bytes, so that no checksum tells.
func forge(t *testing.T, out string, change func(n int, e *records.Example)) {
	t.Helper()
	dir := filepath.Join(out, sharding.ShardsFolder)
	name := sharding.ShardName{Split: sharding.Train, Count: 1}
	old, err := os.ReadFile(filepath.Join(dir, name.Records(false)))
	if err != nil {
		t.Fatal(err)
	}
	var data, index []byte
	r := tfrecord.NewReader(bytes.NewReader(old), tfrecord.ReaderOptions{})
	for n := 0; ; n++ {
		payload, err := r.Next()
		if err != nil {
			break
		}
		var e records.Example
		form, err := e.DecodeAny(payload)
		if err != nil {
			t.Fatal(err)
		}
		change(n, &e)
		start := len(data)
		data = tfrecord.AppendFrame(data, e.AppendForm(nil, form))
		index = tfrecord.AppendIndex(index, tfrecord.Span{Offset: int64(start), Length: int64(len(data) - start)})
	}
	writeFile(t, dir, name.Records(false), data)
	writeFile(t, dir, name.IndexFile(), index)
	reseal(t, dir, name)
}

// reseal puts the hashes of a shard's files into its side-car and the manifest.
func reseal(t *testing.T, dir string, name sharding.ShardName) {
	t.Helper()
	entry := func(e *sharding.FileEntry) {
		b, err := os.ReadFile(filepath.Join(dir, e.Name))
		if err != nil {
			t.Fatal(err)
		}
		e.Bytes, e.SHA256 = int64(len(b)), sharding.Hash(b)
	}
	var car sharding.SideCar
	readInto(t, filepath.Join(dir, name.SideCar()), &car)
	entry(&car.File)
	entry(&car.Index)
	writeFile(t, dir, name.SideCar(), sharding.Compact(car))
	var m sharding.Manifest
	readInto(t, filepath.Join(dir, sharding.ManifestName), &m)
	for i := range m.Files {
		entry(&m.Files[i])
	}
	writeFile(t, dir, sharding.ManifestName, sharding.Marshal(m))
}

func readInto(t *testing.T, path string, v any) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(b, v)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestAForgedRecordIsFoundByTheRulesAndTheOptions(t *testing.T) {
	const at = 3 // the record that is changed
	for name, c := range map[string]struct {
		change func(e *records.Example)
		want   string
	}{
		"a prediction less": {func(e *records.Example) {
			n := e.Predictions() - 1
			e.MaskedLMPositions[n], e.MaskedLMIDs[n], e.MaskedLMWeights[n] = 0, 0, 0
		}, "masked positions, want"},
		"positions swapped":        {func(e *records.Example) { p := e.MaskedLMPositions; p[0], p[1] = p[1], p[0] }, "not ascending"},
		"a position beyond":        {func(e *records.Example) { e.MaskedLMPositions[e.Predictions()-1] = int32(len(e.InputIDs)) }, "not one of"},
		"[CLS] gone":               {func(e *records.Example) { e.InputIDs[0] = 7 }, "want [CLS]"},
		"a token in the padding":   {func(e *records.Example) { e.InputIDs[len(e.InputIDs)-1] = 9; e.InputMask[len(e.InputMask)-1] = 0 }, "want padding"},
		"an id beyond":             {func(e *records.Example) { e.InputIDs[1] = 200 }, "not an id of a vocabulary of"},
		"an original beyond":       {func(e *records.Example) { e.MaskedLMIDs[0] = 70000 }, "not an id of a vocabulary of"},
		"segments mixed":           {func(e *records.Example) { e.SegmentIDs[1] = 1 }, "segment"},
		"a label that is none":     {func(e *records.Example) { e.NextSentenceLabel = 2 }, "neither 0 nor 1"},
		"another label":            {func(e *records.Example) { e.NextSentenceLabel = 1 - e.NextSentenceLabel }, "random_next, the manifest says"},
		"a weight that is no one":  {func(e *records.Example) { e.MaskedLMWeights[0] = 0.5 }, "masked_lm_weights"},
		"a special token to learn": {func(e *records.Example) { e.MaskedLMIDs[0] = e.InputIDs[0] }, "special token"},
	} {
		t.Run(name, func(t *testing.T) {
			out := smallRun(t, nil)
			forge(t, out, func(n int, e *records.Example) {
				if n == at {
					c.change(e)
				}
			})
			v := check(t, out)
			if !strings.Contains(fmt.Sprint(v.Problems), c.want) {
				t.Fatalf("got %v, want a problem with %q", v.Problems, c.want)
			}
			if name == "another label" {
				return // a count tells, not a record
			}
			p := v.Problems[0]
			if p.Record == nil || *p.Record != at || p.Offset == 0 || !strings.Contains(p.Reason, fmt.Sprintf("record %d at byte %d: ", at, p.Offset)) {
				t.Errorf("got %+v, want record %d and its byte", p, at)
			}
		})
	}
}

func TestAForgedRecordOfAnyRecipeIsFound(t *testing.T) {
	cutOff := func(e *records.Example) { e.InputIDs = e.InputIDs[:len(e.InputIDs)-1] }
	for name, c := range map[string]struct {
		recipe string
		change func(e *records.Example)
		want   string
	}{
		"mlm, a prediction less": {"mlm", func(e *records.Example) {
			n := e.Predictions() - 1
			e.MaskedLMPositions[n], e.MaskedLMIDs[n], e.MaskedLMWeights[n] = 0, 0, 0
		}, "masked positions, want"},
		"mlm, a segment":       {"mlm", func(e *records.Example) { e.SegmentIDs[3] = 1 }, "want 0"},
		"tokens, one less":     {"tokens", cutOff, "tokens of documents in the records, the manifest says that they have"},
		"tokens, an id beyond": {"tokens", func(e *records.Example) { e.InputIDs[0] = 200 }, "not an id of a vocabulary of"},
		"pieces, a value less": {"pieces", cutOff, "want [SEP]"},
		"pieces, a token less": {"pieces", func(e *records.Example) {
			n := len(e.InputIDs)
			e.InputIDs = append(e.InputIDs[:n-2], e.InputIDs[n-1])
		}, "tokens of documents in the records, the manifest says that they have"},
		"pieces, [CLS] twice":      {"pieces", func(e *records.Example) { e.InputIDs = append([]int32{e.InputIDs[0]}, e.InputIDs...) }, "the manifest says"},
		"packed, a value less":     {"packed", cutOff, "feature sequence_lengths: the pieces have"},
		"packed, another boundary": {"packed", func(e *records.Example) { e.SequenceLengths[0]-- }, "piece 0 ends with"},
		"packed, pieces joined": {"packed", func(e *records.Example) {
			for i := range e.SequenceLengths[1:] {
				e.SequenceLengths[0] += e.SequenceLengths[i+1]
			}
			e.SequenceLengths = e.SequenceLengths[:1]
		}, "the side-car has other lengths"},
		"packed, a piece lost": {"packed", func(e *records.Example) {
			n := len(e.SequenceLengths) - 1
			tokens := e.Tokens()
			clear(e.InputIDs[tokens-int(e.SequenceLengths[n]) : tokens])
			e.SequenceLengths = e.SequenceLengths[:n]
		}, "tokens of documents in the records, the manifest says that they have"},
	} {
		t.Run(name, func(t *testing.T) {
			out := smallRun(t, func(run *pipeline.RunConfig) { useRecipe(run, c.recipe) })
			found := false
			forge(t, out, func(n int, e *records.Example) {
				if !found && (c.recipe != "packed" || len(e.SequenceLengths) > 1) {
					found = true
					c.change(e)
				}
			})
			if got := fmt.Sprint(check(t, out).Problems); !found || !strings.Contains(got, c.want) {
				t.Errorf("got %v, want a problem with %q", got, c.want)
			}
		})
	}
}

// useRecipe sets the options of a recipe, with short records.
func useRecipe(c *pipeline.RunConfig, recipe string) {
	o := sharding.RecipeOptions(recipe)
	o.Shards, o.Options.MaxSeqLength = 1, 32
	switch recipe {
	case "packed":
		o.Options.MaxSeqLength = 96
	case "tokens":
		o.Options.MaxSeqLength = 300
	default:
		o.DupeFactor = 1
	}
	c.Examples = o
}

func TestMasksThatChanceDoesNotGiveAreFound(t *testing.T) {
	out := smallRun(t, func(c *pipeline.RunConfig) { c.Examples.DupeFactor = 20 })
	forge(t, out, func(_ int, e *records.Example) {
		for i := range e.Predictions() {
			e.InputIDs[e.MaskedLMPositions[i]] = e.MaskedLMIDs[i]
		}
	})
	got := fmt.Sprint(check(t, out).Problems)
	for _, want := range []string{"0 of", "predicted tokens became [MASK]", "predicted tokens stayed, 100.00 %"} {
		if !strings.Contains(got, want) {
			t.Errorf("got %s, want %q", got, want)
		}
	}
}

func TestFoldersThatDoNotBelongTogetherAreFound(t *testing.T) {
	out, other := smallRun(t, nil), smallRun(t, func(c *pipeline.RunConfig) {
		c.Sources = []pipeline.Source{{Kind: pipeline.KindWiki, Path: writeFile(t, t.TempDir(), "w.xml", dump(13))}}
	})
	for _, c := range []struct{ folder, from, want string }{
		{sharding.DocumentsFolder, other, "made of other documents"},
		{sharding.ShardsFolder, other, "made of other documents"},
	} {
		mixed := filepath.Join(t.TempDir(), "run")
		if err := os.CopyFS(mixed, os.DirFS(out)); err != nil {
			t.Fatal(err)
		}
		os.RemoveAll(filepath.Join(mixed, c.folder))
		if err := os.CopyFS(filepath.Join(mixed, c.folder), os.DirFS(filepath.Join(c.from, c.folder))); err != nil {
			t.Fatal(err)
		}
		v := check(t, mixed)
		if v.Found != 1 || !strings.Contains(v.Problems[0].Reason, c.want) {
			t.Errorf("%s of another run: got %v", c.folder, v.Problems)
		}
	}
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestAManifestThatNamesFilesElsewhereIsNotFollowed(t *testing.T) {
	out := smallRun(t, nil)
	path := filepath.Join(out, sharding.ShardsFolder, sharding.ManifestName)
	var m sharding.Manifest
	readInto(t, path, &m)
	m.Files[0].Name = "../documents/manifest.json"
	writeFile(t, filepath.Dir(path), filepath.Base(path), sharding.Marshal(m))
	if v := check(t, out); v.OK() || !strings.Contains(fmt.Sprint(v.Problems), "not a plain name") {
		t.Errorf("got %v", v.Problems)
	}
}

func TestFilesOfAnyoneAreVerifiedAsFarAsCanBe(t *testing.T) {
	out, dir := smallRun(t, nil), t.TempDir()
	good := readFile(t, filepath.Join(out, sharding.ShardsFolder, "train-00000-of-00001.tfrecord"))
	writeFile(t, dir, "a.tfrecord", good)
	writeFile(t, dir, "b.tf_record", good[:len(good)-5])
	v := check(t, dir)
	if v.Files != 2 || v.Found != 2 || v.Repeated == 0 {
		t.Fatalf("got %+v", v)
	}
	for i, want := range []string{"truncated record", "records stand in other files too"} {
		if p := v.Problems[i]; p.File != filepath.Join(dir, "b.tf_record") || !strings.Contains(p.Reason, want) {
			t.Errorf("got %v, want %q", p, want)
		}
	}
}

func TestProblemsBeyondTheLimitAreCounted(t *testing.T) {
	out := smallRun(t, nil)
	forge(t, out, func(_ int, e *records.Example) { e.NextSentenceLabel = 7 })
	v, err := verify.Dataset(context.Background(), out, verify.Options{MaxProblems: 3})
	if err != nil {
		t.Fatal(err)
	}
	if len(v.Problems) != 3 || int64(v.Found) < v.Records || v.OK() {
		t.Errorf("got %d listed, %d found of %d records", len(v.Problems), v.Found, v.Records)
	}
}

func TestRejectsThatAreNotThoseOfTheManifestAreFound(t *testing.T) {
	out := smallRun(t, func(c *pipeline.RunConfig) { c.Extract.Wiki.MinCharacters = 200 })
	path := filepath.Join(out, "documents", "documents-w-00000.rejects")
	whole, err := os.ReadFile(path)
	if err != nil || len(whole) == 0 {
		t.Fatalf("%d bytes of rejects, %v", len(whole), err)
	}
	first, rest, _ := bytes.Cut(whole, []byte("\n"))
	for content, want := range map[string]string{
		string(rest):                          "the manifest says",
		string(whole) + string(first):         "the manifest says",
		string(whole) + `{"reason":"dull"}`:   `1 rejects for "dull", the manifest says 0`,
		string(whole) + `{"id":"x","reason":`: "not a list of rejects",
	} {
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
		found := false
		for _, p := range check(t, filepath.Join(out, "documents")).Problems {
			found = found || p.File == path && strings.Contains(p.Reason, want)
		}
		if !found {
			t.Errorf("no problem %q with %d bytes of rejects", want, len(content))
		}
	}
}

// Documents of a stage of someone else's, who writes no side-cars.
func TestDocumentsWithoutSideCarsAreVerified(t *testing.T) {
	dir := t.TempDir()
	var file bytes.Buffer
	w, err := extract.NewWriter(&file, 100, extract.DefaultLevel)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		if err := w.Write(&extract.Document{ID: fmt.Sprint("x:", i), Text: strings.Repeat("word ", 10+i)}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Close(); err != nil {
		t.Fatal(err)
	}
	name := "documents-x-00000.jsonl.zst"
	m := sharding.Manifest{Recipe: sharding.Recipe{FormatVersion: 1, Stage: "mine", Options: json.RawMessage(`{}`)},
		Files: []sharding.FileEntry{{Name: name, Bytes: int64(file.Len()), SHA256: sharding.Hash(file.Bytes())}}}
	m.Fingerprint = m.Recipe.Fingerprint()
	writeFile(t, dir, name, file.Bytes())
	writeFile(t, dir, sharding.ManifestName, sharding.Marshal(m))
	if v := check(t, dir); !v.OK() || v.Documents != 20 {
		t.Errorf("got %+v", v)
	}
	file.Bytes()[file.Len()/2] ^= 1
	writeFile(t, dir, name, file.Bytes())
	if v := check(t, dir); v.Found < 2 || !strings.Contains(fmt.Sprint(v.Problems), "at byte") {
		t.Errorf("damaged: got %v", v.Problems)
	}
}

// Warnings are derived from a manifest's counts, so that nobody can take one out or put one in.
func TestWarningsThatTheCountsDoNotGiveAreFound(t *testing.T) {
	dir := filepath.Join(smallRun(t, nil), sharding.DocumentsFolder)
	path := filepath.Join(dir, sharding.ManifestName)
	var m sharding.Manifest
	readInto(t, path, &m)
	m.Warnings = append(m.Warnings, sharding.Warning{Code: "rejects", Subject: "w", Count: 9, Of: 10, Limit: 0.1})
	if err := os.WriteFile(path, sharding.Marshal(m), 0o666); err != nil {
		t.Fatal(err)
	}
	v := check(t, dir)
	if v.Found != 1 || v.Problems[0].File != path || !strings.Contains(v.Problems[0].Reason, "warnings are not those that its counts and files give") {
		t.Errorf("got %v", v.Problems)
	}
}
