package command

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pretext/internal/dev/storetest"
	"pretext/internal/dev/tinydata"
	"pretext/internal/dev/torture"
	"pretext/internal/store"
	"pretext/pipeline"
	"pretext/pipeline/stage"
	"pretext/sharding"
	"pretext/trainer"
	"pretext/trainer/loader"
)

// A countedStore is a bucket that counts requests and delays each.
type countedStore struct {
	storetest.Mem
	mu       sync.Mutex
	requests int
	texts    int // requests for documents files, among them
	latency  time.Duration
}

func newCountedStore(t *testing.T) (s *countedStore, location string) {
	s = &countedStore{}
	s.PageSize = 1000
	s.Before = func(_, key string) error {
		s.mu.Lock()
		s.requests++
		if strings.HasSuffix(key, sharding.DocumentsSuffix) {
			s.texts++
		}
		wait := s.latency
		s.mu.Unlock()
		time.Sleep(wait)
		return nil
	}
	name := fmt.Sprintf("requests%d", requestStores.add())
	s.Register(name)
	return s, "mem://" + name
}

// requestStores numbers the buckets: package store opens each name once in a process.
var requestStores counter

type counter struct {
	mu sync.Mutex
	n  int
}

func (c *counter) add() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	return c.n
}

// count runs a command and returns the number of its requests and its time.
func (s *countedStore) count(t *testing.T, args ...string) (requests int, took time.Duration) {
	t.Helper()
	var out bytes.Buffer
	root := NewRoot()
	root.SetOut(&out)
	root.SetErr(&out)
	root.SetArgs(args)
	s.requests = 0
	start := time.Now()
	if err := root.ExecuteContext(t.Context()); err != nil {
		t.Fatalf("%q: %v\n%s", args, err, &out)
	}
	return s.requests, time.Since(start)
}

// manyShards are numbers of shards to count requests with.
func manyShards(t *testing.T) []int {
	full := torture.Full()
	noSetting(t)
	if full {
		return []int{8, 64, 256, 10_000}
	}
	return []int{8, 64, 256, 700} // 2,107 files: several pages of a listing
}

// noSetting unsets what asks for the full tests, since commands take it for a setting.
func noSetting(t *testing.T) {
	t.Setenv("PRETEXT_FULL", "") // restores it
	os.Unsetenv("PRETEXT_FULL")
}

// listed returns the number of requests that list a folder of shards, one for each page.
func (s *countedStore) listed(shards int) int { return (3*shards+stageFiles)/s.PageSize + 1 }

// manifestParts returns the number of parts of the manifest, if it has several.
func manifestParts(shards int) int {
	if files := 3*shards + stageFiles; files > 10_000 {
		return files/10_000 + 1
	}
	return 0
}

// stageFiles is the number of files in a folder of shards that are not those of a shard: the
// manifest, the plan, a vocabulary and four others for loaders.
const stageFiles = 7

// The requests of a command to an object store are at most three and one for each file that
// it reads; verify and training also list the folder, a thousand files with each request.
func TestCommandsMakeOneRequestAFile(t *testing.T) {
	for _, shards := range manyShards(t) {
		s, location := newCountedStore(t)
		if err := tinydata.Shards(t.Context(), location+"/run/shards", shards); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			args []string
			most int
		}{
			{[]string{"head"}, 3 + 6},              // manifest, plan, vocabulary, three shards
			{[]string{"inspect"}, 3 + 2},           // manifest, plan
			{[]string{"stats"}, 3 + 3 + shards},    // manifest, plan, vocabulary, records
			{[]string{"verify"}, 3 + 8 + 3*shards}, // everything, and the file of tasks
			{[]string{"export"}, 3 + 4},            // manifest, the file of tasks, and what documents there are
			{[]string{"verify", "shards"}, 3 + 8 + 3*shards},
			{[]string{"stats", "shards"}, 3 + 3 + shards},
		} {
			most := c.most + manifestParts(shards)
			args := []string{c.args[0], strings.Join(append([]string{location + "/run"}, c.args[1:]...), "/")}
			switch c.args[0] {
			case "export":
				args = append(args, "--out", t.TempDir())
			case "verify":
				most += s.listed(shards) - 1
			}
			n, _ := s.count(t, args...)
			t.Logf("%d shards: %s makes %d requests, at most %d", shards, strings.Join(c.args, " "), n, most)
			if n > most {
				t.Errorf("%d shards: %s makes %d requests, want at most %d", shards, strings.Join(c.args, " "), n, most)
			}
		}
	}
}

// storeLatency is the time of a request in the tests of waiting.
const storeLatency = 30 * time.Millisecond

// waits returns the requests of a command, and the time that it takes if each needs
// storeLatency and computing takes none.
func (s *countedStore) waits(t *testing.T, args ...string) (requests int, took time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s.latency = storeLatency
		requests, took = s.count(t, args...)
		s.latency = 0
	})
	return requests, took
}

// The requests of head do not depend on the number of shards, and it waits at most half a
// second for a store that answers after 30 ms.
func TestHeadOfManyShardsIsQuick(t *testing.T) {
	noSetting(t)
	for _, c := range []struct{ shards, listed int }{{64, 0}, {1000, 0}, {8, 100_000}} {
		s, location := newCountedStore(t)
		if err := tinydata.Shards(t.Context(), location+"/run/shards", c.shards); err != nil {
			t.Fatal(err)
		}
		listMore(t, location+"/run/shards", c.listed)
		n, took := s.waits(t, "head", location+"/run")
		t.Logf("%d shards, %d other files: %d requests, %v", c.shards, c.listed, n, took)
		if n > 12 || took > 500*time.Millisecond {
			t.Errorf("%d shards, %d other files: %d requests in %v, want at most 12 in 500ms", c.shards, c.listed, n, took)
		}
	}
}

// listMore adds entries to the manifest of a folder, of files that do not exist: so many that
// the manifest is written in parts.
func listMore(t *testing.T, location string, n int) {
	t.Helper()
	folder, err := store.Open(location)
	if err != nil {
		t.Fatal(err)
	}
	m, err := sharding.ReadManifest(t.Context(), folder)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		m.Files = append(m.Files, sharding.FileEntry{Name: fmt.Sprintf("zz-%06d.txt", i), Bytes: 1, SHA256: sharding.Hash(nil)})
	}
	if err := m.Write(func(name string, data []byte) error { return store.WriteFile(t.Context(), folder, name, data) }); err != nil {
		t.Fatal(err)
	}
}

// Opening shards for training takes requests for the pages of listings and parts of the
// manifest, up to 32 at a time: 100,000 shards wait less than a second for a store that
// answers after 30 ms.
func TestOpeningManyShardsWaitsLittle(t *testing.T) {
	shards, requests, waits := 1500, 20, 8 // five pages
	if full := manyShards(t); full[len(full)-1] > shards {
		shards, requests, waits = 100_000, 400, 33 // 301 pages, 31 parts of the manifest
	}
	s, location := newCountedStore(t)
	if err := tinydata.Shards(t.Context(), location, shards); err != nil {
		t.Fatal(err)
	}
	var took time.Duration
	s.requests = 0
	synctest.Test(t, func(t *testing.T) {
		s.latency = storeLatency
		start := time.Now()
		opened, err := loader.Open(t.Context(), location, loader.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if len(opened.Files()) != shards {
			t.Errorf("%d shards, want %d", len(opened.Files()), shards)
		}
		took = time.Since(start)
	})
	t.Logf("%d shards: %d requests, %v", shards, s.requests, took)
	if most := time.Duration(waits) * storeLatency; s.requests > requests || took > most {
		t.Errorf("%d shards: %d requests in %v, want at most %d in %v", shards, s.requests, took, requests, most)
	}
}

// The first step of a training run reads the manifest, the plan, the index of each shard and
// the records of the step, here of eight shards. Opening lists the folder.
func TestATrainingStepMakesFewRequests(t *testing.T) {
	for _, shards := range manyShards(t) {
		s, location := newCountedStore(t)
		if err := tinydata.Shards(t.Context(), location, shards); err != nil {
			t.Fatal(err)
		}
		s.requests = 0
		opened, err := loader.Open(t.Context(), location, loader.Options{Split: sharding.Train})
		if err != nil {
			t.Fatal(err)
		}
		source, err := loader.NewSource(t.Context(), opened, loader.SourceOptions{MicroBatchTokens: 1024, Heads: trainer.PretrainHeads()})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := source.Step(0, 8); err != nil {
			t.Fatal(err)
		}
		if err := source.Close(); err != nil {
			t.Fatal(err)
		}
		t.Logf("%d shards: %d requests", shards, s.requests)
		if most := 3 + 2 + manifestParts(shards) + shards + 8 + s.listed(shards)*6/5; s.requests > most {
			t.Errorf("%d shards: %d requests, want at most %d", shards, s.requests, most)
		}
	}
}

// A task of the stage examples makes four requests, three writes and one fence, and those
// that read its text.
func TestATaskOfExamplesMakesFewRequests(t *testing.T) {
	defer slog.SetDefault(slog.Default())
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil)))
	requests, texts := map[int]int{}, map[int]int{}
	for _, shards := range []int{4, 16} {
		s, location := newCountedStore(t)
		c := pipeline.DemoConfig(location + "/run")
		c.Examples.Shards, c.Examples.Fraction = shards, 0
		if _, err := pipeline.Demo(t.Context(), stage.Runner{Workers: 2}, c); err != nil {
			t.Fatal(err)
		}
		folder := location + "/run/" + sharding.ShardsFolder
		s.requests, s.texts = 0, 0
		if _, err := pipeline.Examples(t.Context(), stage.Runner{Workers: 2}, pipeline.ExamplesConfig{
			Target: stage.Target{Out: folder + "2", Memory: 1 << 30}, Documents: []string{location + "/run/" + sharding.DocumentsFolder},
			TokenFile: pipeline.TokenFile{Vocab: location + "/run/vocab/vocab.txt"}, Examples: c.Examples}); err != nil {
			t.Fatal(err)
		}
		requests[shards], texts[shards] = s.requests-s.texts, s.texts
	}
	each := float64(requests[16]-requests[4]) / 12
	t.Logf("%v, %.2f requests a task; for text %v", requests, each, texts)
	if each > 4 || texts[16] == 0 {
		t.Errorf("%.2f requests a task and %d for the text, want at most 4 without those for the text", each, texts[16])
	}
}

// Every command that reads a run reads one in an object store, whose requests fail once their
// context has ended.
func TestCommandsReadARunInAStore(t *testing.T) {
	defer slog.SetDefault(slog.Default())
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil)))
	s, location := newCountedStore(t)
	run := location + "/run"
	if _, err := pipeline.Demo(t.Context(), stage.Runner{Workers: 2}, pipeline.DemoConfig(run)); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, args := range [][]string{
		{"head", run}, {"inspect", run}, {"stats", run}, {"stats", run, "--json"}, {"stats", run, "--out", dir + "/stats.html"}, {"verify", run}, {"verify", run, "--remake=2"},
		{"export", run, "--out", dir + "/text"}, {"card", run, "--out", dir + "/card.md"}, {"diff", run, run}, {"convert", run, "--to=parquet", "--out", location + "/parquet"},
		{"stats", location + "/parquet"}, {"verify", location + "/parquet"}, {"filter", run + "/documents", "--dedup=minhash", "--out", location + "/filtered"}, {"stats", location + "/filtered"},
	} {
		n, _ := s.count(t, args...)
		t.Logf("%s: %d requests", args[0], n)
	}
}

// A file that a manifest lists and that is gone is damage (exit code 4), not a wrong path on the
// command line, also after its listing.
func TestAListedFileThatIsGoneIsDamage(t *testing.T) {
	defer slog.SetDefault(slog.Default())
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil)))
	s, location := newCountedStore(t)
	run, count := location+"/run", s.Before
	if _, err := pipeline.Demo(t.Context(), stage.Runner{Workers: 2}, pipeline.DemoConfig(run)); err != nil {
		t.Fatal(err)
	}
	documents, dir := run+"/documents", t.TempDir()
	vocab := []string{"vocab", documents, "--out", dir + "/vocab"}
	examples := []string{"examples", documents, "--vocab", run + "/vocab/vocab.txt", "--out", dir + "/shards"}
	filter := []string{"filter", documents, "--dedup=minhash", "--out", dir + "/filtered"}
	for file, commands := range map[string][][]string{
		"documents/documents-books-00000.jsonl.zst":                {{"stats", run}, {"export", run, "--out", dir + "/text"}, vocab, examples, filter, {"verify", run}},
		"documents/documents-books-00000.json":                     {vocab, examples, filter, {"verify", run}},
		"shards/train-00001-of-00004.tfrecord":                     {{"head", run, "-n=10000"}, {"stats", run}, {"card", run, "--out", dir + "/card.md"}, {"convert", run, "--to=mds", "--out", dir + "/mds"}, {"verify", run}},
		"shards/" + sharding.PlanFolder + "/" + sharding.TasksName: {{"export", run, "--out", dir + "/plain"}, {"verify", run}},
	} {
		s.Before = func(op, key string) error { // listings still have it
			if op != "list" && strings.HasSuffix(key, "/"+file) {
				return fs.ErrNotExist
			}
			return count(op, key)
		}
		for _, args := range commands {
			var out bytes.Buffer
			root := NewRoot()
			root.SetOut(&out)
			root.SetErr(&out)
			root.SetArgs(args)
			if err := root.ExecuteContext(t.Context()); !errors.Is(err, sharding.ErrDamaged) {
				t.Errorf("without %s, %q: %v, want damage", file, args, err)
			}
		}
	}
}

// A problem names the location of its file, in the form that commands take.
func TestVerifyNamesTheLocationOfAFileInAStore(t *testing.T) {
	_, location := newCountedStore(t)
	location += "/run/shards"
	if err := tinydata.Shards(t.Context(), location, 2); err != nil {
		t.Fatal(err)
	}
	folder, err := store.Open(location)
	if err != nil {
		t.Fatal(err)
	}
	const missing = "train-00001-of-00002.tfrecord"
	if err := folder.Remove(t.Context(), missing); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	root := NewRoot()
	root.SetOut(&out)
	root.SetErr(&out)
	root.SetArgs([]string{"verify", location})
	if err := root.ExecuteContext(t.Context()); err == nil || !strings.Contains(out.String()+err.Error(), location+"/"+missing) {
		t.Errorf("%v does not name %s/%s: %s", err, location, missing, &out)
	}
}
