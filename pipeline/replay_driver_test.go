package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pretext/extract"
	"pretext/internal/dev/storetest"
	"pretext/internal/store"
	"pretext/pipeline/stage"
	"pretext/sharding"
)

// A driven is a stage without work, of which only the driver's requests matter.
type driven struct{ *stage.Env }

func init() {
	stage.Register(stage.Definition{Name: "driven", Algorithm: 1, New: stage.New(func(env *stage.Env, _ int) stage.Worker { return driven{env} })})
}

// Do returns the results of a task that has written an empty file for each of its files.
func (d driven) Do(ctx context.Context, index int) ([]stage.Result, error) {
	for _, suffix := range []string{".a", ".b", ".json"} {
		w, err := d.Folder.Create(ctx, drivenName(index, suffix))
		if err != nil {
			return nil, err
		}
		if err := w.Commit(); err != nil {
			return nil, err
		}
	}
	entry := func(suffix string) sharding.FileEntry {
		return sharding.FileEntry{Name: drivenName(index, suffix), Task: index, SHA256: sharding.Hash(nil)}
	}
	car := sharding.SideCar{FormatVersion: sharding.FormatVersion, Stage: "driven", Fingerprint: sharding.Hash(nil), Task: index, File: entry(".a"), Index: entry(".b")}
	return []stage.Result{{Task: index, SideCar: drivenName(index, ".json"), SHA256: sharding.Hash(nil), Head: string(sharding.Compact(car))}}, nil
}

func drivenName(index int, suffix string) string { return fmt.Sprintf("driven-%06d%s", index, suffix) }

// meanLatency is the mean of a request's duration: the median is 30 ms, sigma 0.7.
const meanLatency = 38330 * time.Microsecond

// drive runs the driver of a stage with so many tasks that reads the tables of so many
// documents files, in virtual time. It returns how long it waits for the store and its
// requests.
func drive(t *testing.T, documents, tasks int) (waits float64, requests int) {
	t.Helper()
	var latency atomic.Int64
	var count atomic.Int64
	m := &storetest.Mem{PageSize: 1000, Before: func(_, key string) error {
		if strings.Contains(key, "/driven-") { // a file of a task
			return nil
		}
		count.Add(1)
		time.Sleep(time.Duration(latency.Load()))
		return nil
	}}
	name := fmt.Sprintf("driven-%d-%d-%d", documents, tasks, drives.Add(1))
	m.Register(name)
	in, out := "mem://"+name+"/documents", "mem://"+name+"/out"
	if documents > 0 {
		writeTables(t, in, documents)
	}
	synctest.Test(t, func(t *testing.T) {
		latency.Store(int64(meanLatency))
		count.Store(0)
		start := time.Now()
		if documents > 0 {
			if _, err := sharding.OpenDocuments(t.Context(), []string{in}); err != nil {
				t.Fatal(err)
			}
		}
		c := stage.Config{Target: stage.Target{Out: out, Memory: 1 << 30, Temp: t.TempDir()}, Stage: "driven", Options: 1, Work: 1, Tasks: stage.Tasks(make([]struct{}, tasks))}
		if _, err := stage.Run(t.Context(), stage.Runner{Workers: 16}, c); err != nil {
			t.Fatal(err)
		}
		waits, requests = time.Since(start).Seconds(), int(count.Load())
		latency.Store(0)
	})
	return waits, requests
}

var drives atomic.Int64

// writeTables writes a documents folder of n files without the files themselves.
func writeTables(t *testing.T, location string, n int) {
	t.Helper()
	folder, err := store.Open(location)
	if err != nil {
		t.Fatal(err)
	}
	recipe := sharding.Recipe{FormatVersion: sharding.FormatVersion, Stage: "extract", Algorithm: 1, Options: []byte("{}")}
	m := sharding.Manifest{Recipe: recipe, Fingerprint: recipe.Fingerprint(), Counts: sharding.Counts{}}
	blocks := make([]extract.Block, 128)
	for i := range blocks {
		blocks[i] = extract.Block{Offset: int64(i) * 120_000, Length: 120_000, RawLength: 270_000, Documents: 1, TextBytes: 262_144}
	}
	body, err := json.Marshal(sharding.DocumentsBody{SourceSHA256: sharding.Hash(nil), Blocks: blocks})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		stem := fmt.Sprintf("%sbooks-%05d", sharding.DocumentsPrefix, i)
		file := sharding.FileEntry{Name: stem + sharding.DocumentsSuffix, Task: i, Bytes: 128 * 120_000, SHA256: sharding.Hash([]byte(stem))}
		data := sharding.Compact(sharding.SideCar{FormatVersion: sharding.FormatVersion, Stage: "extract", Fingerprint: m.Fingerprint, Task: i, Body: body, File: file})
		m.Files = append(m.Files, sharding.FileEntry{Name: stem + sharding.SideCarSuffix, Task: i, Bytes: int64(len(data)), SHA256: sharding.Hash(data)}, file)
		if err := store.WriteFile(t.Context(), folder, stem+sharding.SideCarSuffix, data); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Write(func(name string, data []byte) error { return store.WriteFile(t.Context(), folder, name, data) }); err != nil {
		t.Fatal(err)
	}
}
