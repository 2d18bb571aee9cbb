// Command scale measures what the driver of a stage does alone, however many
// machines do its tasks: reading the block tables of the documents, assigning the
// blocks to shards, writing the plan, running a job with a task per shard and
// writing the manifest. The documents are synthetic: manifest and side-cars only.
//
//	go run ./internal/dev/bench/scale -blocks 10000000 -shards 100000
//
// With -open it measures how long it takes to open shards in an object store instead:
//
//	go run ./internal/dev/bench/scale -open 100000 -latency 30ms
//
// Every line has the wall and CPU time of a part, and the peak memory of the process
// so far. The tasks themselves do nothing but read their plan.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"pretext/internal/store"
	"pretext/internal/usage"
	"pretext/pipeline/stage"
	"pretext/sharding"
)

func main() {
	stage.Init(os.Args[1:])
	c := config{}
	flag.IntVar(&c.blocks, "blocks", 10_000_000, "blocks of documents")
	flag.IntVar(&c.files, "files", 25_000, "documents files")
	flag.IntVar(&c.shards, "shards", 100_000, "shards")
	flag.StringVar(&c.dir, "dir", "", "directory for the synthetic folders; default: a temporary one")
	flag.IntVar(&c.open, "open", 0, "instead, open so many shards in an object store")
	flag.DurationVar(&c.latency, "latency", 30*time.Millisecond, "time of a request to this store")
	flag.Parse()
	if err := run(context.Background(), c); err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

type config struct {
	blocks, files, shards int
	dir                   string
	open                  int
	latency               time.Duration
}

// writeUnsynced writes a file without syncing it: a file of the benchmark need not
// survive a power failure.
func writeUnsynced(folder store.Folder, name string, data []byte) error {
	if err := os.MkdirAll(folder.String(), 0o777); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder.String(), name), data, 0o666)
}

// A lap measures and prints the times of the parts of a run.
type lap struct {
	start, begin time.Time
	cpu, used    time.Duration
}

func newLap() *lap {
	now, cpu := time.Now(), usage.CPU()
	return &lap{now, now, cpu, cpu}
}

// end ends a part and begins the next.
func (l *lap) end(name string) {
	l.print(name, l.begin, l.used)
	l.begin, l.used = time.Now(), usage.CPU()
}

// total prints what all parts took.
func (l *lap) total() { l.print("all", l.start, l.cpu) }

func (l *lap) print(name string, start time.Time, cpu time.Duration) {
	fmt.Printf("%-34s %7.2f s wall  %7.2f s CPU  peak %5d MB\n", name, time.Since(start).Seconds(), (usage.CPU() - cpu).Seconds(), usage.PeakMemory()/1e6)
}

func run(ctx context.Context, c config) (err error) {
	if c.open > 0 {
		return open(ctx, c.open, c.latency)
	}
	if c.dir == "" {
		if c.dir, err = os.MkdirTemp("", "scale-*"); err != nil {
			return err
		}
		defer os.RemoveAll(c.dir)
	}
	documents, err := store.Open(filepath.Join(c.dir, sharding.DocumentsFolder))
	if err != nil {
		return err
	}
	if _, err := sharding.ReadManifest(ctx, documents); err != nil {
		if _, err := makeDocuments(ctx, documents, c.files, c.blocks); err != nil {
			return err
		}
		debug.FreeOSMemory()
	}
	debug.SetGCPercent(25)                // as prepare-data sets it
	debug.SetMemoryLimit(4 << 30 / 8 * 7) // as --memory 4GiB
	return drive(ctx, c, documents.String())
}
