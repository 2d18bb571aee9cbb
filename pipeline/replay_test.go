package pipeline

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	"pretext/internal/democorpus"
	"pretext/internal/dev/bench/scale/replay"
	"pretext/internal/dev/storetest"
	"pretext/internal/dev/torture"
	"pretext/internal/store"
	"pretext/pipeline/stage"
	"pretext/sharding"
)

// A recorder is a bucket that records its requests.
type recorder struct {
	*storetest.Mem
	mu       sync.Mutex
	requests []replay.Request
}

// newRecorder returns a recorder and its location.
func newRecorder(t *testing.T) (r *recorder, location string) {
	r = &recorder{Mem: &storetest.Mem{PageSize: 1000}}
	r.Before = func(op, key string) error {
		kind := replay.Put
		if op == "get" || op == "head" {
			kind = replay.Get
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		folder := path.Dir(strings.TrimSuffix(key, "/") + "/x")
		if op != "list" {
			folder = path.Dir(key)
		}
		r.requests = append(r.requests, replay.Request{Kind: kind, Prefix: folder})
		return nil
	}
	name := "recorder-" + strings.ToLower(t.Name())
	store.Register("mem", func(string) (store.Bucket, error) { return r, nil })
	return r, "mem://" + name
}

// add adds bytes to the last request.
func (r *recorder) add(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests[len(r.requests)-1].Bytes += int64(n)
}

// take returns the requests since the last call.
func (r *recorder) take() []replay.Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.requests
	r.requests = nil
	return list
}

func (r *recorder) Get(ctx context.Context, key string, part store.Part) (io.ReadCloser, store.Object, error) {
	body, object, err := r.Mem.Get(ctx, key, part)
	if err == nil {
		r.add(int(min(part.Length, object.Size-part.Offset)))
	}
	return body, object, err
}

func (r *recorder) Put(ctx context.Context, key string, data []byte, when store.Condition) (store.Object, error) {
	object, err := r.Mem.Put(ctx, key, data, when)
	r.add(len(data))
	return object, err
}

func (r *recorder) Upload(ctx context.Context, u store.Upload, number int, data []byte) (string, error) {
	tag, err := r.Mem.Upload(ctx, u, number, data)
	r.add(len(data))
	return tag, err
}

// The text of the replayed runs: books of 400 kB, and 2.5 MB for each shard.
const (
	replayedBook  = 400_000
	replayedShard = 2_500_000
	replayedDupes = 5
)

// englishText returns the text of the demo's books.
func englishText(t *testing.T) (text string) {
	t.Helper()
	err := fs.WalkDir(democorpus.Books(), ".", func(name string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(name, ".txt") {
			var b []byte
			b, err = fs.ReadFile(democorpus.Books(), name)
			text += string(b) + "\n\n"
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// writeBooks writes n books of random text.
func writeBooks(t *testing.T, location string, n int, english string) {
	t.Helper()
	folder, err := store.Open(location)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 30))
	paragraphs, words := strings.Split(english, "\n\n"), strings.FieldsFunc(english, func(r rune) bool { return !unicode.IsLetter(r) })
	for i := range n {
		var text bytes.Buffer
		for text.Len() < replayedBook-1000 {
			for _, w := range strings.Fields(paragraphs[random.IntN(len(paragraphs))]) {
				if random.IntN(2) == 0 && !strings.ContainsAny(w, ".!?") {
					w = words[random.IntN(len(words))]
				}
				text.WriteString(w + " ")
			}
			text.WriteString("\n\n")
		}
		if err := store.WriteFile(t.Context(), folder, fmt.Sprintf("book-%03d.txt", i), text.Bytes()); err != nil {
			t.Fatal(err)
		}
	}
}

// writeWords writes a vocabulary with the words.
func writeWords(t *testing.T, words []string) (path string) {
	t.Helper()
	list := []string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}
	have := map[string]bool{}
	for c := '!'; c <= '~'; c++ {
		list, have[string(c)] = append(list, string(c)), true
	}
	for _, w := range words {
		w = strings.Trim(strings.ToLower(w), ".,;:!?'\"-_()[]")
		if !have[w] && w != "" && !strings.ContainsFunc(w, func(r rune) bool { return r < 'a' || r > 'z' }) {
			list, have[w] = append(list, w), true
		}
	}
	return writeFile(t, t.TempDir(), "vocab.txt", []byte(strings.Join(list, "\n")+"\n"))
}

// recordStage runs a planned stage as a worker process of a cluster does, and returns the
// requests of its tasks and those of its start. It runs at most n tasks and, if these are
// all, writes the manifest.
func recordStage(t *testing.T, r *recorder, c stage.Config, n int) (start []replay.Request, tasks []replay.Task) {
	t.Helper()
	ctx := t.Context()
	recipe, err := c.Recipe()
	if err != nil {
		t.Fatal(err)
	}
	folder, err := store.Open(c.Out)
	if err != nil {
		t.Fatal(err)
	}
	many := sharding.TaskList{Len: c.Tasks.Len + 1000, Plan: func(i int) any { return c.Tasks.Plan(i % c.Tasks.Len) }} // the end of the file does not have them all
	var list bytes.Buffer
	sum, err := sharding.WriteTasks(ctx, &list, many)
	if err == nil {
		err = store.WriteFile(ctx, folder.Folder(sharding.PlanFolder), sharding.TasksName, list.Bytes())
	}
	if err == nil {
		err = store.WriteFile(ctx, folder, sharding.PlanName, sharding.Marshal(sharding.NewPlan(recipe, many, sum)))
	}
	if err == nil && c.Prepare != nil {
		err = c.Prepare(ctx, folder)
	}
	if err != nil {
		t.Fatal(err)
	}
	spec, err := c.Spec(recipe.Fingerprint())
	if err != nil {
		t.Fatal(err)
	}
	w, err := spec.Worker()
	if err != nil {
		t.Fatal(err)
	}
	var all []stage.Result
	r.take()
	for i := range min(n, c.Tasks.Len) {
		results, err := w.Do(ctx, i)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, results...)
		tasks = append(tasks, split(r.take()))
	}
	if n >= c.Tasks.Len {
		if err := w.Finish(ctx, all); err != nil {
			t.Fatal(err)
		}
		r.take()
	}
	start = tasks[0].Reads
	return start[:len(start)-len(tasks[1].Reads)], tasks[1:]
}

// split divides the requests of a task before its first write.
func split(list []replay.Request) replay.Task {
	at := slices.IndexFunc(list, func(r replay.Request) bool { return r.Kind == replay.Put })
	return replay.Task{Reads: list[:at], Writes: list[at:]}
}

// A recording has the stages of a run on a cluster.
type recording struct {
	extract, examples replay.Stage
	books             [2]cost // planning the stage extract with 64 and 160 books
	sample            int     // requests of planning the stage examples, without the tables of documents
}

// recordRun records the stages of a run.
func recordRun(t *testing.T) (rec recording) {
	t.Helper()
	const books = 160
	r, location := newRecorder(t)
	english := englishText(t)
	writeBooks(t, location+"/in/books", books, english)
	a := ExtractConfig{Target: stage.Target{Out: location + "/run/documents", Memory: 1 << 30, Temp: t.TempDir()}, Sources: []Source{{KindBooks, location + "/in/books"}}}
	a.Extract = DefaultExtractOptions()
	plan, err := planSources(t.Context(), a, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	plan.sources[0].Bytes = 1e12 // blocks are as large as those of much text
	c := stage.Config{Target: a.Target, Stage: "extract", Options: a.Extract, Inputs: plan.inputs, Paths: plan.paths(),
		Work: extractWork{Sources: plan.sources, Options: a.Extract}, Tasks: stage.Tasks(plan.tasks)}
	start, tasks := recordStage(t, r, c, len(plan.tasks))
	for i, n := range []int{64, books} { // multiples of what is read at once
		rec.books[i] = planningCost(t, a, r, n)
	}
	rec.extract = replay.Stage{Record: tasks[:1], Start: start}
	e := ExamplesConfig{Target: stage.Target{Out: location + "/run/shards", Memory: 4 << 30, Temp: filepath.Join(t.TempDir())}, Documents: []string{a.Out}, TokenFile: TokenFile{Vocab: writeWords(t, strings.Fields(english))}, Examples: sharding.DefaultExamplesOptions()}
	e.Examples.Shards, e.Examples.DupeFactor = books*replayedBook/replayedShard, replayedDupes
	tokens, err := e.read(&e.Examples)
	if err != nil {
		t.Fatal(err)
	}
	r.take()
	c, err = e.plan(t.Context(), e.Documents, tokens, stage.Runner{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	rec.sample = len(r.take()) - 2*2 // without the tables of two files, for the sample and for the plan
	c.Loaded = nil
	start, tasks = recordStage(t, r, c, 9)
	rec.examples = replay.Stage{Record: tasks, Start: start}
	return rec
}

// planningCost measures planning the stage extract with the first n books, in virtual time.
func planningCost(t *testing.T, c ExtractConfig, r *recorder, n int) (of cost) {
	t.Helper()
	location := c.Sources[0].Path + fmt.Sprint(n)
	for i := range n {
		key := fmt.Sprintf("in/books%d/book-%03d.txt", n, i)
		if _, err := r.Mem.Put(t.Context(), key, make([]byte, replayedBook), store.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	c.Sources = []Source{{KindBooks, location}}
	r.take()
	record := r.Before
	defer func() { r.Before = record }()
	r.Before = func(op, key string) error {
		time.Sleep(meanLatency)
		return record(op, key)
	}
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		if _, err := planSources(t.Context(), c, func(string) {}); err != nil {
			t.Fatal(err)
		}
		of.waits = time.Since(start).Seconds()
	})
	of.requests = len(r.take())
	return of
}

// plannedRun returns the plan of a run with so many shards.
func plannedRun(shards int, machines ...int) (PlanConfig, *Plan) {
	text := int64(shards) * replayedShard
	c := PlanConfig{Run: DefaultRunConfig("out"), Workers: 2,
		Machines: Machines{Counts: machines, Cores: 16, Network: 1.25e9, Disk: 1e9, Latency: 0.03, Seed: 1}}
	c.Run.Examples.Shards, c.Run.Examples.DupeFactor, c.Run.Vocab = shards, replayedDupes, "vocab.txt"
	files := int(text / replayedBook)
	p := &Plan{Sources: []PlannedSource{{Kind: KindBooks, Files: files, Bytes: text, TextBytes: text, Documents: int64(files), Local: true}}}
	p.reckon(c)
	return c, p
}

// A judged is what a replay says of a run.
type judged struct {
	seconds  float64
	requests float64
	stages   [2]replay.Result // extract, examples
	free     [2]float64       // seconds without limits of requests
	waits    float64          // of the drivers
}

// judge replays a run with the CPU time that its plan has.
func (rec recording) judge(t *testing.T, c PlanConfig, p *Plan, driver [2]driverCost, machines int) (j judged) {
	planned := c.scaleStages(p)
	j.seconds, j.requests, j.waits = 3*clusterJob+driver[0].given.waits, float64(driver[0].given.requests), driver[0].given.waits
	for i, st := range []replay.Stage{rec.extract, rec.examples} {
		of := planned[2*i]
		st.Tasks, st.Listing = driver[i].tasks, 1000
		st.CPU = of.CPU * of.tasks() / float64(st.Tasks)
		st.Folder = []string{"run/documents", "run/shards"}[i]
		st.Plans = st.Folder + "/" + sharding.PlanFolder
		st.Files = []int{4, 3}[i] * st.Tasks
		config := replay.Config{Machines: machines, Cores: c.Machines.Cores, Network: float64(c.Machines.Network), Store: replay.S3(), Seed: 1}
		j.stages[i] = replay.Run(config, st)
		config.Store.Gets, config.Store.Puts = 0, 0
		j.free[i] = replay.Run(config, st).Seconds
		j.waits += driver[i].own.waits + driver[i].plan.waits
		j.seconds += of.Serial + driver[i].own.waits + driver[i].plan.waits + j.stages[i].Seconds
		j.requests += float64(driver[i].own.requests+driver[i].plan.requests) + float64(j.stages[i].Requests)
		if j.stages[i].GaveUp > 0 {
			t.Errorf("%d machines: %d requests of %s were given up", machines, j.stages[i].GaveUp, of.Name)
		}
	}
	return j
}

// A cost is what a driver's requests take.
type cost struct {
	waits    float64
	requests int
}

// A driverCost is the cost of a stage's driver.
type driverCost struct {
	tasks     int
	own, plan cost // running the stage, planning it
	given     cost // of the stage vocab with a given vocabulary
}

// drivers measures the drivers of a run.
func (rec recording) drivers(t *testing.T, shards int) (d [2]driverCost) {
	const task = 83 * replayedBook
	text := float64(shards) * replayedShard
	d[0].tasks, d[1].tasks = int(math.Ceil(text/task)), shards
	for i := range d {
		d[i].own.waits, d[i].own.requests = drive(t, i*d[0].tasks, d[i].tasks)
	}
	d[0].given.waits, d[0].given.requests = drive(t, 0, 1)
	books := text / replayedBook
	d[0].plan = cost{rec.books[0].waits + (rec.books[1].waits-rec.books[0].waits)/96*(books-64), rec.books[0].requests + (rec.books[1].requests-rec.books[0].requests)/96*int(books-64)}
	d[1].plan = cost{float64(rec.sample) * meanLatency.Seconds(), rec.sample}
	return d
}

// What plan --machines predicts is what a replay gives, within a fifth: time, requests, and the
// stages that wait for the limits of the store. The tasks' requests are recorded from real
// workers at the size that they have in the run, the drivers run for all shards in virtual
// time; both get the CPU time of the plan, which other benchmarks measure.
func TestPlansPredictTheReplay(t *testing.T) {
	sizes := []int{1000, 10_000}
	if torture.Full() {
		sizes = []int{1000, 3000, 10_000, 30_000, 100_000}
	}
	rec := recordRun(t)
	for _, shards := range sizes {
		drivers := rec.drivers(t, shards)
		for _, machines := range []int{10, 100, 1000} {
			c, p := plannedRun(shards, machines)
			row := scaled(t, c, p)[0]
			j := rec.judge(t, c, p, drivers, machines)
			t.Logf("%6d shards, %4d machines: planned %.0f s, %.2f of the replay's; %d requests, %.2f; limited %v; the drivers wait %.0f s, extract takes %.0f s (%.0f without limits), examples %.0f s (%.0f), %d requests refused",
				shards, machines, row.Seconds, row.Seconds/j.seconds, row.Requests, float64(row.Requests)/j.requests, row.Limited, j.waits,
				j.stages[0].Seconds, j.free[0], j.stages[1].Seconds, j.free[1], j.stages[0].Retries+j.stages[1].Retries)
			if math.Abs(row.Seconds/j.seconds-1) > 0.2 || math.Abs(float64(row.Requests)/j.requests-1) > 0.2 {
				t.Errorf("%d shards, %d machines: off by more than a fifth", shards, machines)
			}
			for i, name := range []string{"extract", "examples"} {
				slower := j.stages[i].Seconds / j.free[i]
				if limited := slices.Contains(row.Limited, name); limited != (slower > 1.2) && (slower > 1.5 || slower < 1.05) {
					t.Errorf("%d shards, %d machines: the limits of the store make %s %.2f times slower, planned: %v", shards, machines, name, slower, limited)
				}
			}
		}
	}
}
