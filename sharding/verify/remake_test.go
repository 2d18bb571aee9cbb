package verify_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pretext/counts"
	"pretext/internal/dev/torture"
	"pretext/pipeline"
	"pretext/pipeline/convert"
	"pretext/pipeline/stage"
	"pretext/records"
	"pretext/records/columns"
	"pretext/records/columns/formats"
	"pretext/records/pretrain"
	"pretext/sharding"
	"pretext/sharding/verify"
	"pretext/tokenize/sentence"
)

// remade verifies a path and makes all shards again.
func remade(t *testing.T, path string, documents ...string) (*verify.Result, error) {
	t.Helper()
	return verify.Dataset(t.Context(), path, verify.Options{Workers: 2, Remake: verify.Remake{Shards: -1, Documents: documents}})
}

// ordinary is the lowest id of smallRun that is no special token.
const ordinary = 5

// editRecord edits a record as somebody would who wants it to stay plausible, so that few
// rules are broken: ids stay below ids. It reports whether the record can be edited in the way drawn,
// and how.
func editRecord(r *rand.Rand, ids int32, e *records.Example) (what string, done bool) {
	other := func(id int32) int32 {
		for {
			if n := ordinary + r.Int32N(ids-ordinary); n != id {
				return n
			}
		}
	}
	kinds := []string{"token"}
	if len(e.MaskedLMIDs) > 0 {
		kinds = []string{"token", "label", "place", "kept"}
	}
	switch what = kinds[r.IntN(len(kinds))]; what {
	case "token":
		at := r.IntN(e.Tokens())
		if e.InputIDs[at] < ordinary || slices.Contains(e.MaskedLMPositions[:e.Predictions()], int32(at)) {
			return what, false
		}
		e.InputIDs[at] = other(e.InputIDs[at])
	case "label":
		i := r.IntN(e.Predictions())
		e.MaskedLMIDs[i] = other(e.MaskedLMIDs[i])
	case "kept": // the token of a prediction that was not masked
		i := r.IntN(e.Predictions())
		p := e.MaskedLMPositions[i]
		if e.InputIDs[p] < ordinary {
			return what, false
		}
		e.InputIDs[p] = other(e.InputIDs[p])
	case "place":
		i := r.IntN(e.Predictions())
		from, to := e.MaskedLMPositions[i], e.MaskedLMPositions[i]+1
		if int(to) >= e.Tokens() || e.InputIDs[to] < ordinary || slices.Contains(e.MaskedLMPositions, to) {
			return what, false
		}
		masked := e.InputIDs[from]
		e.InputIDs[from], e.MaskedLMIDs[i] = e.MaskedLMIDs[i], e.InputIDs[to]
		e.InputIDs[to], e.MaskedLMPositions[i] = masked, to
	}
	return what, true
}

// An editedRun is a run whose shard is edited in turn.
type editedRun struct {
	out     string
	form    records.Form
	ids     int32 // of the vocabulary
	records int
	whole   map[string][]byte // files of its shards
}

func newEditedRun(t *testing.T, recipe string) *editedRun {
	run := &editedRun{out: smallRun(t, func(c *pipeline.RunConfig) { useRecipe(c, recipe) }), form: sharding.RecipeOptions(recipe).Form(), whole: map[string][]byte{}}
	dir := filepath.Join(run.out, sharding.ShardsFolder)
	for _, e := range listFiles(t, dir) {
		run.whole[e] = readFile(t, filepath.Join(dir, e))
	}
	run.ids = int32(bytes.Count(run.whole[sharding.VocabName], []byte("\n")))
	forge(t, run.out, func(int, *records.Example) { run.records++ })
	return run
}

func listFiles(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Type().IsRegular() && !strings.HasPrefix(e.Name(), ".lock") {
			names = append(names, e.Name())
		}
	}
	return names
}

// edit makes the shard whole and edits one of its records. It returns the record's number.
func (run *editedRun) edit(t *testing.T, r *rand.Rand) (at int, what string) {
	for name, data := range run.whole {
		writeFile(t, filepath.Join(run.out, sharding.ShardsFolder), name, data)
	}
	for done := false; !done; {
		at = r.IntN(run.records)
		forge(t, run.out, func(n int, e *records.Example) {
			if n == at {
				what, done = editRecord(r, run.ids, e)
			}
		})
	}
	return at, what
}

// inFormat converts the shards and returns the folder; "tfrecord" is the shards' own.
func (run *editedRun) inFormat(t *testing.T, format string) string {
	t.Helper()
	shards := filepath.Join(run.out, sharding.ShardsFolder)
	if format == "tfrecord" {
		return shards
	}
	out := filepath.Join(t.TempDir(), format)
	if _, err := convert.Run(t.Context(), stage.Runner{Name: stage.Direct, Workers: 1}, convert.Config{Target: stage.Target{Out: out},
		Shards: shards, Format: format, Split: sharding.Train}); err != nil {
		t.Fatal(err)
	}
	return out
}

// formatsOf returns the formats that hold a form.
func formatsOf(form records.Form) []string {
	list := []string{"tfrecord"}
	for _, name := range formats.Names() {
		if f, _ := formats.Get(name); columns.Holds(f, form) {
			list = append(list, name)
		}
	}
	return list
}

// A record that was edited together with all hashes that speak of it may keep every rule.
// Making its shard again finds it, in every recipe and format; an unchanged one is equal.
func TestAnEditWithAllHashesRedoneIsFoundByMakingTheShardAgain(t *testing.T) {
	r := torture.Random(t)
	edits, plain := 0, 0
	for _, recipe := range pretrain.RecipeNames(nil) {
		run := newEditedRun(t, recipe)
		documents := filepath.Join(run.out, sharding.DocumentsFolder)
		for i, format := range formatsOf(run.form) {
			if i > 1 && !torture.Full() {
				continue
			}
			if v, err := remade(t, run.inFormat(t, format), documents); err != nil || !v.OK() || v.Remade != 1 {
				t.Fatalf("%s, %s, unchanged: %+v, %v", recipe, format, v, err)
			}
			for range torture.Cases(1, 9) {
				at, what := run.edit(t, r)
				edits++
				path := run.inFormat(t, format)
				if !check(t, path).OK() {
					plain++
				}
				v, err := remade(t, path, documents)
				if err != nil {
					t.Fatal(err)
				}
				want := fmt.Sprintf("record %d", at)
				if !slices.ContainsFunc(v.Problems, func(p sharding.Problem) bool {
					return strings.HasPrefix(p.Reason, want) && strings.Contains(p.Reason, "not what its documents give") && p.Record != nil && *p.Record == int64(at)
				}) {
					t.Errorf("%s, %s, %s of record %d edited: got %v", recipe, format, what, at, v.Problems)
				}
			}
			for name, data := range run.whole {
				writeFile(t, filepath.Join(run.out, sharding.ShardsFolder), name, data)
			}
		}
	}
	t.Logf("%d edits, of which the rules alone find %d", edits, plain)
}

func TestShardsWithoutTheirDocumentsAreNotMadeAgain(t *testing.T) {
	run, other := smallRun(t, nil), smallRun(t, func(c *pipeline.RunConfig) {
		c.Sources[0].Path = writeFile(t, t.TempDir(), "w.xml", dump(13))
	})
	shards := filepath.Join(run, sharding.ShardsFolder)
	for _, c := range []struct {
		path, documents, want string
	}{
		{shards, "", "give their folders with --documents"},
		{shards, filepath.Join(other, sharding.DocumentsFolder), "made of other documents"},
		{shards, filepath.Join(other, sharding.ShardsFolder), "want a folder of documents"},
		{shards, other, "no folder of documents"},
		{filepath.Join(run, sharding.DocumentsFolder), "", "no shards in it"},
	} {
		var documents []string
		if c.documents != "" {
			documents = []string{c.documents}
		}
		_, err := remade(t, c.path, documents...)
		var usage interface{ Usage() bool }
		if !errors.As(err, &usage) || !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%s, documents %s: got %v, want %q", c.path, c.documents, err, c.want)
		}
	}
	if v, err := remade(t, run); err != nil || !v.OK() || v.Remade != 1 {
		t.Errorf("the run: %+v, %v", v, err)
	}
	small := verify.Options{Remake: verify.Remake{Shards: 1, Memory: 1e6}}
	var unfit interface{ DoesNotFit() bool }
	if _, err := verify.Dataset(t.Context(), run, small); !errors.As(err, &unfit) {
		t.Errorf("with little memory: got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := verify.Dataset(ctx, run, verify.Options{Remake: verify.Remake{Shards: 1}}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: got %v", err)
	}
}

// Documents of which the shards were not made are found even if everything says that they
// were: the text of a document is another, and all hashes are those of the new text.
func TestAnEditedDocumentIsFoundByMakingTheShardsAgain(t *testing.T) {
	r := torture.Random(t)
	for range torture.Cases(1, 10) {
		for _, recipe := range pretrain.RecipeNames(nil) {
			at := r.IntN(5)
			options := func(c *pipeline.RunConfig) {
				if useRecipe(c, recipe); c.Examples.Form().Masks() {
					c.Examples.DupeFactor = 5 // or a word may be cut from all examples
				}
			}
			run := smallRun(t, options)
			other := smallRun(t, func(c *pipeline.RunConfig) {
				options(c)
				xml := strings.Replace(string(dump(12)), fmt.Sprintf("number %d", at), fmt.Sprintf("boats %d", at), 1)
				c.Sources[0].Path = writeFile(t, t.TempDir(), "w.xml", []byte(xml))
			})
			documents := filepath.Join(run, sharding.DocumentsFolder)
			if err := errors.Join(os.RemoveAll(documents), os.RemoveAll(filepath.Join(run, "vocab")), os.CopyFS(documents, os.DirFS(filepath.Join(other, sharding.DocumentsFolder)))); err != nil {
				t.Fatal(err)
			}
			redocument(t, filepath.Join(run, sharding.ShardsFolder), documents)
			if v := check(t, run); !v.OK() {
				t.Fatalf("%s: not all hashes are redone: %v", recipe, v.Problems)
			}
			if v, err := remade(t, run); err != nil || !strings.Contains(fmt.Sprint(v.Problems), "its documents give") {
				t.Errorf("%s, word %d: got %v, %v", recipe, at, v, err)
			}
		}
	}
}

// redocument makes shards say that they were made of other documents.
func redocument(t *testing.T, dir, documents string) {
	t.Helper()
	inputs, err := sharding.OpenDocuments(t.Context(), []string{documents})
	if err != nil {
		t.Fatal(err)
	}
	var m sharding.Manifest
	readInto(t, filepath.Join(dir, sharding.ManifestName), &m)
	m.Inputs[0] = inputs[0].Input
	m.Fingerprint = m.Recipe.Fingerprint()
	var o sharding.ExamplesOptions
	if err := m.DecodeOptions(nil, &o); err != nil {
		t.Fatal(err)
	}
	plan, err := sharding.Assign(inputs, o)
	if err != nil {
		t.Fatal(err)
	}
	var tasks bytes.Buffer
	sum, err := sharding.WriteTasks(t.Context(), &tasks, plan.Tasks())
	if err != nil {
		t.Fatal(err)
	}
	name := sharding.ShardName{Split: sharding.Train, Count: 1}
	var car sharding.SideCar
	readInto(t, filepath.Join(dir, name.SideCar()), &car)
	car.Fingerprint = m.Fingerprint
	writeFile(t, filepath.Join(dir, sharding.PlanFolder), sharding.TasksName, tasks.Bytes())
	writeFile(t, dir, sharding.PlanName, sharding.Marshal(sharding.NewPlan(m.Recipe, plan.Tasks(), sum)))
	writeFile(t, dir, sharding.ManifestName, sharding.Marshal(m))
	writeFile(t, dir, name.SideCar(), sharding.Compact(car))
	reseal(t, dir, name)
}

// What a side-car says of the documents of its shard is compared too: no record tells.
func TestEditedCountsOfDocumentsAreFoundByMakingTheShardsAgain(t *testing.T) {
	run := smallRun(t, nil)
	dir := filepath.Join(run, sharding.ShardsFolder)
	name := sharding.ShardName{Split: sharding.Train, Count: 1}
	var car sharding.SideCar
	readInto(t, filepath.Join(dir, name.SideCar()), &car)
	var m sharding.Manifest
	readInto(t, filepath.Join(dir, sharding.ManifestName), &m)
	car.File.Counts[counts.KeyOf("sentences")]++
	m.Counts[counts.KeyOf("sentences")]++
	for _, e := range m.Files {
		if e.Name == car.File.Name {
			e.Counts[counts.KeyOf("sentences")]++
		}
	}
	writeFile(t, dir, name.SideCar(), sharding.Compact(car))
	writeFile(t, dir, sharding.ManifestName, sharding.Marshal(m))
	reseal(t, dir, name)
	if v := check(t, run); !v.OK() {
		t.Fatal(v.Problems)
	}
	v, err := remade(t, run)
	if err != nil || v.Found != 1 || v.Problems[0].File != filepath.Join(dir, name.SideCar()) || !strings.Contains(v.Problems[0].Reason, "sentences is") {
		t.Errorf("got %+v, %v", v, err)
	}
}

// Every option by which records depend on their documents is one by which they are made
// again.
func TestShardsOfEveryOptionAreMadeAgain(t *testing.T) {
	large := dump(300)
	for name, change := range map[string]func(*pipeline.RunConfig){
		"length bins": func(c *pipeline.RunConfig) { c.Examples.LengthBins = []int{24, 32} },
		"gzip and splits": func(c *pipeline.RunConfig) {
			c.Examples.Compression, c.Examples.Fraction = sharding.CompressionGzip, 0.3
		},
		"negatives":          func(c *pipeline.RunConfig) { c.Examples.NSPNegatives = pretrain.NegativesCorpus },
		"whole words, spans": func(c *pipeline.RunConfig) { c.Examples.DoWholeWordMask = true },
		"a mix":              func(c *pipeline.RunConfig) { c.Examples.Mix = &sharding.Mix{Epochs: map[string]float64{"w": 1.5}} },
		"cased, split by punkt": func(c *pipeline.RunConfig) {
			c.Examples.DoLowerCase, c.Examples.SentenceSplitter = false, sentence.Punkt
		},
	} {
		t.Run(name, func(t *testing.T) {
			run := smallRun(t, func(c *pipeline.RunConfig) {
				c.Sources[0].Path = writeFile(t, t.TempDir(), "w.xml", large)
				c.Examples.Shards = 2
				change(c)
			})
			v, err := remade(t, run)
			if err != nil || !v.OK() || v.Remade != 2 {
				t.Errorf("got %+v, %v", v, err)
			}
			v, err = verify.Dataset(t.Context(), run, verify.Options{Remake: verify.Remake{Shards: 1}})
			if err != nil || !v.OK() || v.Remade != 1 {
				t.Errorf("one shard: got %+v, %v", v, err)
			}
		})
	}
}

// Files that cannot be read to their end do not stop the shards from being made again, nor
// are they reported as another problem of each record.
func TestDamagedShardsAreComparedAsFarAsTheyGo(t *testing.T) {
	for name, damage := range map[string]func(path string, whole []byte) error{
		"truncated": func(path string, whole []byte) error { return os.WriteFile(path, whole[:len(whole)/2], 0o666) },
		"flipped": func(path string, whole []byte) error {
			whole[len(whole)/2] ^= 4
			return os.WriteFile(path, whole, 0o666)
		},
		"missing": func(path string, _ []byte) error { return os.Remove(path) },
	} {
		run := smallRun(t, nil)
		for _, file := range []string{"shards/train-00000-of-00001.tfrecord", "documents/documents-w-00000.jsonl.zst"} {
			path := filepath.Join(run, filepath.FromSlash(file))
			whole := readFile(t, path)
			if err := damage(path, slices.Clone(whole)); err != nil {
				t.Fatal(err)
			}
			v, err := remade(t, run)
			if err != nil || v.OK() || v.Found > 12 || !strings.HasPrefix(v.Problems[0].File, path) {
				t.Errorf("%s %s: got %+v, %v", file, name, v, err)
			}
			if err := os.WriteFile(path, whole, 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
}
