package store

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"syscall"
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
	for infos, err := range o.between(ctx, before(names[0]), names[len(names)-1]) {
		if err != nil {
			return err
		}
		for _, info := range infos {
			if i, ok := slices.BinarySearch(names, info.name); ok && !info.folder {
				sizes[i] = info.object.Size
			}
		}
	}
	return nil
}

// between yields the pages of a listing that begins after one name and ends with the page that
// reaches another, and at most one error.
func (o *objects) between(ctx context.Context, after, last string) iter.Seq2[[]*objectInfo, error] {
	return func(yield func([]*objectInfo, error) bool) {
		for page, err := range o.pages(ctx, after) {
			if !yield(o.infos(page), err) || err != nil || o.end(page) >= last {
				return
			}
		}
	}
}

// end returns the last name of a page in the order of the store. The name of a folder, which
// ends in a slash, sorts among the others.
func (o *objects) end(page Page) (end string) {
	for _, object := range page.Objects {
		end = max(end, strings.TrimPrefix(object.Key, o.below()))
	}
	for _, folder := range page.Folders {
		end = max(end, strings.TrimPrefix(folder, o.below()))
	}
	return end
}

// Subfolders returns which of the given names, which must be sorted, are subfolders of a
// folder. An object store is asked for the listing between the first and the last of them.
func Subfolders(ctx context.Context, folder Folder, names []string) (found []string, err error) {
	o, ok := folder.(*objects)
	if !ok {
		return subdirectories(ctx, folder, names)
	}
	// A folder is listed as its name and a slash, which sorts after its name.
	for infos, err := range o.between(ctx, names[0], names[len(names)-1]+"/") {
		if err != nil {
			return nil, err
		}
		for _, info := range infos {
			if info.folder && slices.Contains(names, info.name) {
				found = append(found, info.name)
			}
		}
	}
	slices.Sort(found)
	return found, nil
}

// subdirectories is [Subfolders] for a local directory.
func subdirectories(ctx context.Context, folder Folder, names []string) (found []string, err error) {
	for _, name := range names {
		info, err := folder.Stat(ctx, name)
		switch {
		case err == nil && info.IsDir():
			found = append(found, name)
		case err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.ENOTDIR):
			return nil, err
		}
	}
	return found, nil
}

// before returns a text that sorts before name, and after most names that do.
func before(name string) string {
	_, last := utf8.DecodeLastRuneInString(name)
	return name[:len(name)-last]
}
