package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/pflag"

	"pretext/internal/humanize"
	"pretext/internal/store"
	"pretext/sharding"
	"pretext/trainer/loader"
)

// cacheName is the folder in a run's folder where what its data needs is kept.
const cacheName = "cache"

func addCache(fs *pflag.FlagSet, dir *string, meaning string) {
	fs.StringVar(dir, "cache", "", "folder for the index of others' records, and for compressed ones without compression; default: "+meaning)
}

// cached gives a corpus random access: what its files need for that is made once
// in a folder, and its cost said before. Without a folder files are read as they
// are, and compressed ones cannot be. With skip, files may be read up to where that
// ends.
func (c *corpus) cached(ctx context.Context, dir string, skip bool, stderr io.Writer) error {
	if dir == "" {
		return nil
	}
	folder, err := store.Open(dir)
	if err != nil {
		return err
	}
	cost, needed, err := c.shards.CacheCost(ctx, folder)
	if err != nil {
		return err
	}
	if needed {
		fmt.Fprintf(stderr, "train-bert: %s: %d files (%s) are read once into %s", c.path, cost.Files, humanize.Bytes(cost.Bytes), dir)
		if cost.Compressed > 0 {
			fmt.Fprintf(stderr, "; %d are compressed and take about %s there", cost.Compressed, humanize.Bytes(cost.Written))
		}
		fmt.Fprintln(stderr)
	}
	c.shards, err = c.shards.Cached(ctx, folder, loader.CacheOptions{SkipDamage: skip})
	return err
}

// sweepCache removes what killed runs left half-written in the cache of a folder
// whose lock we hold.
func sweepCache(dir string) error {
	var errs []error
	for _, side := range []string{sharding.Train, sharding.Eval} {
		folder, err := store.Open(cacheBelow(dir, side))
		if err != nil {
			return err
		}
		errs = append(errs, store.Sweep(folder))
	}
	return errors.Join(errs...)
}

// cacheBelow is the folder of one side's cache: two folders of data may have
// files of the same names.
func cacheBelow(dir, side string) string {
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, side)
}
