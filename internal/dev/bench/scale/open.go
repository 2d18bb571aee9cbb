package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"pretext/internal/dev/storetest"
	"pretext/internal/dev/tinydata"
	"pretext/trainer/loader"
)

// open measures how long commands take to open shards in an object store, in memory, which
// answers each request after the latency: as head does, for the first three examples, and
// as a training run does.
func open(ctx context.Context, shards int, latency time.Duration) error {
	var requests, wait atomic.Int64
	bucket := &storetest.Mem{PageSize: 1000, Before: func(string, string) error {
		requests.Add(1)
		time.Sleep(time.Duration(wait.Load()))
		return nil
	}}
	bucket.Register("scale")
	const run = "mem://scale/run"
	if err := tinydata.Shards(ctx, run+"/shards", shards); err != nil {
		return err
	}
	wait.Store(int64(latency))
	for _, c := range []struct {
		name string
		o    loader.Options
	}{{"open for three examples", loader.Options{First: 3}}, {"open for training", loader.Options{}}} {
		requests.Store(0)
		lap := newLap()
		if _, err := loader.Open(ctx, run, c.o); err != nil {
			return err
		}
		lap.end(fmt.Sprintf("%s, %d requests", c.name, requests.Load()))
	}
	return nil
}
