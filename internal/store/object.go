package store

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strings"
	"time"

	"pretext/internal/failure"
)

// objects is a folder of an object store: the objects whose keys begin with
// prefix and a slash.
type objects struct {
	b      *bucket
	prefix string
	lease  *lease // lock of this process on this folder or a parent; nil: none
}

func openObjects(l Location) (*objects, error) {
	name, prefix, _ := strings.Cut(l.path, "/")
	if strings.ContainsAny(name, "@?#") {
		return nil, failure.Usagef("open %s://…: give credentials in the environment, not in the location", l.scheme)
	}
	b, err := bucketOf(l.scheme, name)
	if err != nil {
		return nil, err
	}
	return &objects{b: b, prefix: prefix, lease: new(lease)}, nil
}

func (o *objects) String() string { return Join(o.b.url, o.prefix) }

func (o *objects) Folder(name string) Folder {
	return &objects{o.b, strings.TrimPrefix(path.Join("/", o.prefix, name), "/"), o.lease}
}

func (o *objects) key(name string) string {
	return strings.TrimPrefix(path.Join("/", o.prefix, name), "/")
}

// below returns the prefix of the keys in the folder.
func (o *objects) below() string {
	if o.prefix == "" {
		return ""
	}
	return o.prefix + "/"
}

// An objectInfo describes an object, or a folder, as [fs.FileInfo]. Sys returns
// the [Object].
type objectInfo struct {
	name   string
	object Object
	folder bool
}

func (i *objectInfo) Name() string       { return i.name }
func (i *objectInfo) Size() int64        { return i.object.Size }
func (i *objectInfo) ModTime() time.Time { return i.object.Modified }
func (i *objectInfo) IsDir() bool        { return i.folder }
func (i *objectInfo) Sys() any           { return i.object }
func (i *objectInfo) Mode() fs.FileMode {
	if i.folder {
		return fs.ModeDir | 0o777
	}
	return 0o666
}

func (o *objects) Stat(ctx context.Context, name string) (fs.FileInfo, error) {
	key := o.key(name)
	object, err := try(ctx, o.b, "head", key, func() (Object, error) { return o.b.Head(ctx, key) })
	if err != nil {
		return nil, err
	}
	return &objectInfo{name: path.Base(key), object: object}, nil
}

func (o *objects) List(ctx context.Context) (infos []fs.FileInfo, err error) {
	all, err := o.entries(ctx)
	if err != nil {
		return nil, err
	}
	for _, i := range all {
		if !i.folder && !Hidden(i.name) {
			infos = append(infos, i)
		}
	}
	if len(all) == 0 {
		return nil, &fs.PathError{Op: "list", Path: o.String(), Err: fs.ErrNotExist}
	}
	return infos, nil
}

// entries returns the objects and folders in the folder, each sorted by name.
func (o *objects) entries(ctx context.Context) (infos []*objectInfo, err error) {
	for page, err := range o.pages(ctx, "") {
		if err != nil {
			return nil, err
		}
		infos = append(infos, o.infos(page)...)
	}
	return infos, nil
}

// infos describes the objects of a page, then its folders.
func (o *objects) infos(page Page) (infos []*objectInfo) {
	for _, object := range page.Objects {
		if name := strings.TrimPrefix(object.Key, o.below()); name != "" { // "": some tools create an empty object for a folder
			infos = append(infos, &objectInfo{name: name, object: object})
		}
	}
	for _, folder := range page.Folders {
		infos = append(infos, &objectInfo{name: strings.TrimSuffix(strings.TrimPrefix(folder, o.below()), "/"), folder: true})
	}
	return infos
}

// sorted returns infos sorted by name.
func sorted(infos []*objectInfo) (entries []fs.DirEntry) {
	for _, i := range infos {
		entries = append(entries, fs.FileInfoToDirEntry(i))
	}
	slices.SortFunc(entries, byName)
	return entries
}

func byName(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) }

// pages yields the pages of the folder's listing that are after a name, and at most one
// error.
func (o *objects) pages(ctx context.Context, after string) iter.Seq2[Page, error] {
	return func(yield func(Page, error) bool) {
		var from Cursor
		if after != "" {
			from.Key = o.below() + after
		}
		for {
			page, err := try(ctx, o.b, "list", o.below(), func() (Page, error) { return o.b.List(ctx, o.below(), from) })
			if !yield(page, err) || err != nil || page.Next == "" {
				return
			}
			from = Cursor{Next: page.Next}
		}
	}
}

func (o *objects) Remove(ctx context.Context, name string) error {
	if err := o.lease.check(ctx); err != nil {
		return err
	}
	return o.remove(ctx, name)
}

func (o *objects) remove(ctx context.Context, name string) error {
	key := o.key(name)
	_, err := try(ctx, o.b, "delete", key, func() (struct{}, error) { return struct{}{}, o.b.Delete(ctx, key) })
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// statObjects describes the object at a location, or the folder if objects are
// below it.
func statObjects(ctx context.Context, l Location) (fs.FileInfo, error) {
	parent, err := openObjects(l.Dir())
	if err != nil {
		return nil, err
	}
	if l.Dir() != l { // not a bucket
		info, err := parent.Stat(ctx, l.Base())
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return info, err
		}
	}
	o, err := openObjects(l)
	if err != nil {
		return nil, err
	}
	page, err := try(ctx, o.b, "list", o.below(), func() (Page, error) { return o.b.List(ctx, o.below(), Cursor{}) })
	if err != nil {
		return nil, err
	}
	if len(page.Objects)+len(page.Folders) == 0 {
		return nil, &fs.PathError{Op: "stat", Path: l.String(), Err: fs.ErrNotExist}
	}
	return &objectInfo{name: l.Base(), folder: true}, nil
}

// readObjects returns the entries of the folder at a location.
func readObjects(ctx context.Context, l Location) ([]fs.DirEntry, error) {
	o, err := openObjects(l)
	if err != nil {
		return nil, err
	}
	infos, err := o.entries(ctx)
	if err != nil {
		return nil, err
	}
	if len(infos) == 0 {
		return nil, &fs.PathError{Op: "list", Path: l.String(), Err: fs.ErrNotExist}
	}
	return sorted(infos), nil
}
