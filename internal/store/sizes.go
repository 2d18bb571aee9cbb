package store

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"
)

// Missing is the size of a file that does not exist, in the result of [Sizes].
const Missing = -1

const (
	// listedAtOnce is the number of listings of a folder in an object store that run at
	// the same time. A request takes some hundredths of a second, and a page of a listing
	// has 1000 objects, so one listing of a million objects takes half a minute.
	listedAtOnce = 32
	// leastListed is the number of names for which a listing of its own is worth it.
	leastListed = 900
)

// Sizes returns the sizes in bytes of the files with the given names, which must be sorted;
// [Missing] for a file that does not exist. An object store is asked for listings, not for
// each file.
func Sizes(ctx context.Context, folder Folder, names []string) ([]int64, error) {
	sizes := make([]int64, len(names))
	if o, ok := folder.(*objects); ok && len(names) > 1 {
		return sizes, o.sizes(ctx, names, sizes)
	}
	for i, name := range names {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		info, err := folder.Stat(ctx, name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			sizes[i] = Missing
		case err != nil:
			return nil, err
		default:
			sizes[i] = info.Size()
		}
	}
	return sizes, nil
}

// sizes sets the sizes of the files with the given names. Each of several listings at once
// covers a range of the names.
func (o *objects) sizes(ctx context.Context, names []string, sizes []int64) error {
	g, ctx := errgroup.WithContext(ctx)
	each := max(leastListed, (len(names)+listedAtOnce-1)/listedAtOnce)
	for from := 0; from < len(names); from += each {
		to := min(from+each, len(names))
		g.Go(func() error { return o.sizesOf(ctx, names[from:to], sizes[from:to]) })
	}
	return g.Wait()
}

// sizesOf is sizes for one listing.
func (o *objects) sizesOf(ctx context.Context, names []string, sizes []int64) error {
	for i := range sizes {
		sizes[i] = Missing
	}
	last := names[len(names)-1]
	for page, err := range o.pages(ctx, before(names[0])) {
		if err != nil {
			return err
		}
		end := ""
		for _, object := range page.Objects {
			name := strings.TrimPrefix(object.Key, o.below())
			if i, ok := slices.BinarySearch(names, name); ok {
				sizes[i] = object.Size
			}
			end = max(end, name)
		}
		for _, folder := range page.Folders { // a folder's prefix sorts among the names
			end = max(end, strings.TrimPrefix(folder, o.below()))
		}
		if end >= last {
			return nil
		}
	}
	return nil
}

// before returns a text that sorts before name, and after most names that do.
func before(name string) string {
	_, last := utf8.DecodeLastRuneInString(name)
	return name[:len(name)-last]
}
