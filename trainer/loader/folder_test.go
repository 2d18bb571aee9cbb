package loader_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pretext/counts"
	"pretext/records"
	"pretext/records/tfrecord"
	"pretext/sharding"
)

const (
	testSeq         = 16
	testPredictions = 3
)

// example returns an example that is told from all others by its first masked
// id.
func example(number int) *records.Example {
	e := &records.Example{
		InputIDs: make([]int32, testSeq), InputMask: make([]int32, testSeq), SegmentIDs: make([]int32, testSeq),
		MaskedLMPositions: make([]int32, testPredictions), MaskedLMIDs: make([]int32, testPredictions),
		MaskedLMWeights: make([]float32, testPredictions), NextSentenceLabel: int32(number % 2),
	}
	tokens := 5 + number%(testSeq-4)
	for i := range tokens {
		e.InputIDs[i], e.InputMask[i] = int32(5+(number+i)%3), 1
		if i > 2 {
			e.SegmentIDs[i] = 1
		}
	}
	e.InputIDs[0], e.InputIDs[2], e.InputIDs[tokens-1] = 2, 3, 3
	e.MaskedLMPositions[0], e.MaskedLMIDs[0], e.MaskedLMWeights[0] = 1, int32(number), 1
	return e
}

// A failer is a test of package testing or of rapid.
type failer interface {
	Helper()
	Fatal(args ...any)
}

// A shard is a file of records to write: the numbers of its examples.
type shard struct {
	split   string
	numbers []int
}

// A testFolder is a finished folder of shards in memory; a test changes it and
// then writes it.
type testFolder struct {
	manifest sharding.Manifest
	files    map[string][]byte
}

const testVocab = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nhut\n##te\nsee\n"

// newFolder makes a folder of the shards given; those of a side are numbered in
// order.
func newFolder(tb failer, compress bool, shards ...shard) *testFolder {
	tb.Helper()
	f := &testFolder{files: map[string][]byte{sharding.VocabName: []byte(testVocab)}}
	f.manifest.Recipe = sharding.Recipe{FormatVersion: sharding.FormatVersion, Stage: "examples", Algorithm: 1,
		Options: json.RawMessage(fmt.Sprintf(`{"max_seq_length": %d, "max_predictions_per_seq": %d}`, testSeq, testPredictions)),
		Inputs:  []sharding.Input{{Name: sharding.VocabName, Bytes: int64(len(testVocab)), SHA256: sharding.Hash([]byte(testVocab))}}}
	count := map[string]int{}
	for _, s := range shards {
		count[s.split]++
	}
	next := map[string]int{}
	records := map[string]int64{}
	for _, s := range shards {
		name := sharding.ShardName{Split: s.split, Index: next[s.split], Count: count[s.split]}
		next[s.split]++
		data, index := frames(s.numbers)
		if compress {
			data = zip(tb, data)
		}
		f.files[name.Records(compress)] = data
		f.files[name.IndexFile()] = index
		f.files[name.SideCar()] = []byte("{}\n")
		records[name.Records(compress)] = int64(len(s.numbers))
	}
	for name, n := range records {
		f.manifest.Files = append(f.manifest.Files, sharding.FileEntry{Name: name, Counts: sharding.Counts{counts.KeyOf("records"): n}})
	}
	for name := range f.files {
		if _, ok := records[name]; !ok {
			f.manifest.Files = append(f.manifest.Files, sharding.FileEntry{Name: name})
		}
	}
	f.describe()
	return f
}

// describe makes the manifest say what the files are now. It leaves counts.
func (f *testFolder) describe() {
	for i := range f.manifest.Files {
		e := &f.manifest.Files[i]
		e.Bytes, e.SHA256 = int64(len(f.files[e.Name])), sharding.Hash(f.files[e.Name])
	}
	slices.SortFunc(f.manifest.Files, func(a, b sharding.FileEntry) int { return strings.Compare(a.Name, b.Name) })
	f.manifest.Fingerprint = f.manifest.Recipe.Fingerprint()
}

// write writes the folder to a new place and returns it.
func (f *testFolder) write(tb testing.TB) string {
	tb.Helper()
	return f.writeTo(tb, tb.TempDir())
}

func (f *testFolder) writeTo(tb failer, dir string) string {
	tb.Helper()
	for name, data := range f.files {
		writeFile(tb, filepath.Join(dir, name), data)
	}
	writeFile(tb, filepath.Join(dir, sharding.ManifestName), sharding.Marshal(f.manifest))
	return dir
}

func writeFile(tb failer, path string, data []byte) {
	tb.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		tb.Fatal(err)
	}
}

// frames returns a file of records and its index.
func frames(numbers []int) (data, index []byte) {
	for _, n := range numbers {
		start := int64(len(data))
		data = tfrecord.AppendFrame(data, example(n).Append(nil))
		index = tfrecord.AppendIndex(index, tfrecord.Span{Offset: start, Length: int64(len(data)) - start})
	}
	return data, index
}

func zip(tb failer, data []byte) []byte {
	tb.Helper()
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	if _, err := w.Write(data); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return buf.Bytes()
}

// upTo returns the numbers from a up to b.
func upTo(a, b int) (numbers []int) {
	for i := a; i < b; i++ {
		numbers = append(numbers, i)
	}
	return numbers
}
