package session

import (
	"context"
	"fmt"
	"io"

	"pretext/internal/humanize"
	"pretext/internal/store"
	"pretext/trainer/loader"
)

// cacheName is the default cache in a run's output directory.
const cacheName = "cache"

// cached prepares a corpus for random access. If the cache in dir is not filled, it
// logs the cost and fills it: with an index of each third-party file, and with
// uncompressed TFRecord copies of compressed files and of shards in other formats. If
// dir is "", it writes nothing, and files that need a copy are an error. If skip is
// set, unreadable ends of files are skipped.
func (c *Corpus) cached(ctx context.Context, dir string, skip bool, log io.Writer) error {
	if dir == "" {
		return nil
	}
	cost, needed, err := c.shards.CacheCost(ctx, dir)
	if err != nil {
		return err
	}
	if needed {
		line := fmt.Sprintf("%s: reads %s (%s) once into %s", c.path, humanize.Things(int64(cost.Files), "file"), humanize.Bytes(cost.Bytes), dir)
		if cost.Compressed > 0 {
			line += fmt.Sprintf("; %d compressed or of another format will take about %s there", cost.Compressed, humanize.Bytes(cost.Written))
		}
		fmt.Fprintln(log, line)
	}
	c.shards, err = c.shards.Cached(ctx, dir, loader.CacheOptions{SkipDamage: skip})
	return err
}

// cacheBelow returns the directory of a split's cache. Each split has its own,
// because the files of two data folders may have the same names.
func cacheBelow(dir, split string) string {
	if dir == "" {
		return ""
	}
	return store.Join(dir, split)
}
