package export_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pretext/extract"
	"pretext/internal/store"
	"pretext/records"
	"pretext/records/tfrecord"
	"pretext/sharding"
	"pretext/sharding/export"
)

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, data, 0o666)); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// manifest writes the manifest of a stage.
func manifest(t *testing.T, dir string, r sharding.Recipe, files ...sharding.FileEntry) sharding.Input {
	t.Helper()
	r.FormatVersion = sharding.FormatVersion
	raw := sharding.Marshal(sharding.Manifest{Recipe: r, Fingerprint: r.Fingerprint(), Files: files})
	write(t, filepath.Join(dir, sharding.ManifestName), raw)
	return sharding.Input{Name: sharding.ManifestName, Bytes: int64(len(raw)), SHA256: sharding.Hash(raw)}
}

const documentsName = "documents-w-00000"

// dataset writes a run of six documents in blocks and two shards with an eval
// split, as far as an export reads them. It returns the run and the assignment
// of blocks.
func dataset(t *testing.T) (root string, o sharding.ExamplesOptions, shards *sharding.Assignment) {
	t.Helper()
	root = t.TempDir()
	documents := filepath.Join(root, sharding.DocumentsFolder)
	var file bytes.Buffer
	w, err := extract.NewWriter(&file, 40, extract.DefaultLevel)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 6 {
		if err := w.Write(&extract.Document{ID: fmt.Sprint("w:", i), Lang: "en", Text: fmt.Sprintf("Title %d\nOne sentence here. Another %d follows.", i, i)}); err != nil {
			t.Fatal(err)
		}
	}
	blocks, err := w.Close()
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(sharding.DocumentsBody{Blocks: blocks})
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(documents, documentsName+sharding.DocumentsSuffix), file.Bytes())
	write(t, filepath.Join(documents, documentsName+sharding.SideCarSuffix), sharding.Compact(sharding.SideCar{FormatVersion: sharding.FormatVersion, Stage: "extract", Body: body}))
	in := manifest(t, documents, sharding.Recipe{Stage: "extract", Options: json.RawMessage("{}")}, sharding.FileEntry{Name: documentsName + sharding.DocumentsSuffix})

	inputs, err := sharding.OpenDocuments(t.Context(), []string{documents})
	if err != nil {
		t.Fatal(err)
	}
	o = sharding.DefaultExamplesOptions()
	o.Shards, o.Fraction = 2, 0.4
	if shards, err = sharding.Assign(inputs, o); err != nil {
		t.Fatal(err)
	}
	options, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(root, sharding.ShardsFolder)
	var tasks bytes.Buffer
	if _, err := sharding.WriteTasks(t.Context(), &tasks, shards.Tasks()); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, sharding.PlanFolder, sharding.TasksName), tasks.Bytes())
	manifest(t, dir, sharding.Recipe{Stage: sharding.StageExamples, Options: options, Inputs: []sharding.Input{in, {Name: sharding.VocabName}}})
	return root, o, shards
}

func TestTheTextOfAShardIsItsDocumentsBySplit(t *testing.T) {
	root, o, shards := dataset(t)
	out := filepath.Join(root, "text")
	files, err := export.Text(t.Context(), export.Config{Shards: filepath.Join(root, sharding.ShardsFolder), Out: out})
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for i, f := range files {
		name := sharding.ShardName{Split: o.Splits()[i%2], Index: i / 2, Count: 2}
		var want strings.Builder
		documents := int64(0)
		for doc, err := range shards.Task(i/2).Blocks.Documents(t.Context(), shards.Locations, func(int64) {}) {
			if err != nil {
				t.Fatal(err)
			}
			if o.HeldOut(doc.ID) == (name.Split == sharding.Eval) {
				documents++
				n := strings.TrimPrefix(doc.ID, "w:")
				fmt.Fprintf(&want, "Title %s\nOne sentence here.\nAnother %s follows.\n\n", n, n)
			}
		}
		if diff := cmp.Diff(export.File{Name: name.String() + ".txt", RandomSeed: name.Seed(o.RandomSeed), Documents: documents, Sentences: 3 * documents}, f); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(want.String(), read(t, filepath.Join(out, f.Name))); diff != "" {
			t.Errorf("%s: %s", f.Name, diff)
		}
		seen += int(documents)
	}
	if len(files) != 4 || seen != 6 {
		t.Errorf("got %d files of %d documents, want 4 of 6", len(files), seen)
	}
}

// isUsage and isDamaged decide exit codes.
func isUsage(err error) bool {
	var u interface{ Usage() bool }
	return errors.As(err, &u)
}

func isDamaged(err error) bool {
	var d interface{ Damaged() bool }
	return errors.As(err, &d)
}

func TestTextOfWrongOrCorruptInputsIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(t *testing.T, root string, c *export.Config)
		want   string
		kind   func(error) bool
	}{
		"another stage": {func(_ *testing.T, root string, c *export.Config) {
			c.Shards = filepath.Join(root, sharding.DocumentsFolder)
		},
			`contains the output of stage "extract", want a folder of shards`, isUsage},
		"other documents": {func(t *testing.T, root string, _ *export.Config) {
			manifest(t, filepath.Join(root, sharding.DocumentsFolder), sharding.Recipe{Stage: "extract", Algorithm: 9, Options: json.RawMessage("{}")},
				sharding.FileEntry{Name: documentsName + sharding.DocumentsSuffix})
		}, "is not the documents folder that", isUsage},
		"no documents": {func(_ *testing.T, root string, _ *export.Config) {
			os.RemoveAll(filepath.Join(root, sharding.DocumentsFolder))
		},
			"was made from 1 documents folders, but 0 are given", isUsage},
		"a corrupt block": {func(t *testing.T, root string, _ *export.Config) {
			path := filepath.Join(root, sharding.DocumentsFolder, documentsName+sharding.DocumentsSuffix)
			b := []byte(read(t, path))
			b[len(b)/3] ^= 1
			write(t, path, b)
		}, documentsName, isDamaged},
		"a corrupt plan": {func(t *testing.T, root string, _ *export.Config) {
			write(t, filepath.Join(root, sharding.ShardsFolder, sharding.PlanFolder, sharding.TasksName), []byte("{"))
		}, "read plan of task 0", isDamaged},
		"corrupt options": {func(t *testing.T, root string, _ *export.Config) {
			manifest(t, filepath.Join(root, sharding.ShardsFolder), sharding.Recipe{Stage: sharding.StageExamples, Options: json.RawMessage(`{"shards":"x"}`)})
		}, "read manifest.json in", isDamaged},
	} {
		t.Run(name, func(t *testing.T) {
			root, _, _ := dataset(t)
			config := export.Config{Shards: filepath.Join(root, sharding.ShardsFolder), Out: filepath.Join(root, "text")}
			c.change(t, root, &config)
			_, err := export.Text(t.Context(), config)
			if err == nil || !strings.Contains(err.Error(), c.want) || !c.kind(err) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// example returns [CLS] the [MASK] [SEP] ##s the [SEP], with river under the mask.
func example() *records.Example {
	return &records.Example{InputIDs: []int32{2, 5, 4, 3, 7, 5, 3, 0}, InputMask: []int32{1, 1, 1, 1, 1, 1, 1, 0}, SegmentIDs: []int32{0, 0, 0, 0, 1, 1, 1, 0},
		MaskedLMPositions: []int32{2, 0}, MaskedLMIDs: []int32{6, 0}, MaskedLMWeights: []float32{1, 0}}
}

const vocab = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\nriver\n##s\n"

func TestRecordsWithoutAManifestBecomeText(t *testing.T) {
	dir, out := t.TempDir(), filepath.Join(t.TempDir(), "text")
	path := filepath.Join(dir, "a.tfrecord")
	frame := tfrecord.AppendFrame(nil, example().Append(nil))
	write(t, path, bytes.Repeat(frame, 2))
	if _, err := export.Records(t.Context(), []string{path}, "", out); !isUsage(err) {
		t.Errorf("without a vocabulary: got %v", err)
	}
	write(t, filepath.Join(dir, sharding.VocabName), []byte(vocab))
	list, err := export.Records(t.Context(), []string{path}, "", out)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]export.RecordsFile{{Name: "a.tfrecord.txt", Examples: 2, Segments: 4}}, list); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(strings.Repeat("the river\n##s the\n\n", 2), read(t, filepath.Join(out, "a.tfrecord.txt"))); diff != "" {
		t.Error(diff)
	}
	if _, err := export.Records(t.Context(), []string{path, filepath.Join(out, "..", "a.tfrecord")}, filepath.Join(dir, "none.txt"), out); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a vocabulary that does not exist: got %v", err)
	}
	small := filepath.Join(t.TempDir(), "small.txt")
	write(t, small, []byte(strings.TrimSuffix(vocab, "##s\n")))
	for name, data := range map[string][]byte{"a bit": append(bytes.Clone(frame), append(bytes.Clone(frame[:20]), append([]byte{frame[20] ^ 1}, frame[21:]...)...)...), "truncated": append(bytes.Clone(frame), frame[:9]...)} {
		bad := filepath.Join(t.TempDir(), "bad.tfrecord")
		write(t, bad, data)
		out := filepath.Join(t.TempDir(), "text")
		if _, err := export.Records(t.Context(), []string{bad}, filepath.Join(dir, sharding.VocabName), out); !isDamaged(err) || !strings.Contains(err.Error(), "bad.tfrecord: record 1") {
			t.Errorf("%s: got %v", name, err)
		}
		if _, err := os.Stat(filepath.Join(out, "bad.tfrecord.txt")); err == nil {
			t.Errorf("%s: a file was left", name)
		}
	}
	if _, err := export.Records(t.Context(), []string{path}, small, out); !isDamaged(err) || !strings.Contains(err.Error(), "id 7: not an id of a vocabulary of 7 tokens") {
		t.Errorf("another vocabulary: got %v", err)
	}
	twin := filepath.Join(t.TempDir(), "a.tfrecord")
	write(t, twin, frame)
	if _, err := export.Records(t.Context(), []string{path, twin}, filepath.Join(dir, sharding.VocabName), out); !isUsage(err) {
		t.Errorf("two files of one name: got %v", err)
	}
}

// Text is written to a folder of its own, alone.
func TestTextIsWrittenToNoFolderOfAnotherKind(t *testing.T) {
	root, _, _ := dataset(t)
	shards := filepath.Join(root, sharding.ShardsFolder)
	for name, out := range map[string]string{"documents": filepath.Join(root, sharding.DocumentsFolder), "shards": shards, "the run": root} {
		before, err := os.ReadDir(out)
		if err != nil {
			t.Fatal(err)
		}
		_, err = export.Text(t.Context(), export.Config{Shards: shards, Out: out})
		if !isUsage(err) || !strings.Contains(err.Error(), "which this export does not write") {
			t.Errorf("%s: got %v", name, err)
		}
		after, err := os.ReadDir(out)
		if err != nil || len(after) != len(before) {
			t.Errorf("%s: %d entries are now %d, %v", name, len(before), len(after), err)
		}
	}
	out := filepath.Join(root, "text")
	for range 2 { // again over its own files
		if _, err := export.Text(t.Context(), export.Config{Shards: shards, Out: out}); err != nil {
			t.Fatal(err)
		}
	}
	folder, err := store.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	unlock, err := store.Lock(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	if _, err := export.Text(t.Context(), export.Config{Shards: shards, Out: out}); !errors.Is(err, store.ErrLocked) {
		t.Errorf("in a folder that another process uses: got %v", err)
	}
}
