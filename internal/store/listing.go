package store

import (
	"context"
	"io/fs"
	"slices"
)

// A Listing is the first page of the listing of a folder in an object store.
type Listing struct {
	Entries []fs.DirEntry // the first files and subfolders, sorted by name: up to a thousand
	All     bool          // there are no others

	folder *objects
	after  string // the last of Entries in the order of the store, where the name of a folder ends in a slash
}

// List begins the listing of the folder at a location in an object store, with one
// request. For a local directory, where opening a file costs less than a listing, it
// returns nil.
func List(ctx context.Context, location string) (*Listing, error) {
	l := Locate(location)
	if _, ok := l.Local(); ok {
		return nil, nil
	}
	o, err := openObjects(l)
	if err != nil {
		return nil, err
	}
	for page, err := range o.pages(ctx, "") {
		return &Listing{sorted(o.infos(page)), page.Next == "", o, o.end(page)}, err
	}
	return nil, nil
}

// Whole returns all files and subfolders, sorted by name. It requests the pages after
// the first.
func (l *Listing) Whole(ctx context.Context) ([]fs.DirEntry, error) {
	if l.All {
		return l.Entries, nil
	}
	entries := slices.Clone(l.Entries)
	for page, err := range l.folder.pages(ctx, l.after) {
		if err != nil {
			return nil, err
		}
		entries = append(entries, sorted(l.folder.infos(page))...)
	}
	return distinct(entries), nil
}

// Folders returns the names of the subfolders, sorted. For the last name of a page, past
// returns a later name up to which no subfolders are wanted, or "". Folders does not request
// the pages between them.
func (l *Listing) Folders(ctx context.Context, past func(name string) string) (names []string, err error) {
	take := func(entries []fs.DirEntry) {
		for _, e := range entries {
			if e.IsDir() {
				names = append(names, e.Name())
			}
		}
	}
	take(l.Entries)
	for at, more := l.after, !l.All; more; {
		at = max(at, past(at))
		for page, err := range l.folder.pages(ctx, at) {
			if err != nil {
				return nil, err
			}
			take(sorted(l.folder.infos(page)))
			at, more = max(at, l.folder.end(page)), page.Next != ""
			if past(at) > at {
				break
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// distinct sorts entries by name. A store may list a folder again that was the last of
// the page before.
func distinct(entries []fs.DirEntry) []fs.DirEntry {
	slices.SortStableFunc(entries, byName)
	return slices.CompactFunc(entries, func(a, b fs.DirEntry) bool { return a.Name() == b.Name() && a.IsDir() && b.IsDir() })
}
