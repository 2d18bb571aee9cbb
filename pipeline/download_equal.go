package pipeline

import (
	"context"
	"fmt"
	"net/url"
	"path"
	"slices"

	"pretext/extract/download"
	"pretext/pipeline/stage"
	"pretext/sharding"
)

// refuseEqual ends a download in which different books turned out to be the same
// bytes: what answered in their place, such as the portal of a network, may look
// like a text. Files with a published checksum are beyond doubt, and so are equal
// names at different hosts, which are mirrors. The files go, so that the next run
// asks for them again.
func (w *downloadWorker) refuseEqual(ctx context.Context, results []stage.Result) error {
	equal := map[string][]sharding.FileEntry{} // by hash
	for _, r := range results {
		car, err := sharding.ReadSideCar(ctx, w.Folder, r.SideCar)
		if err != nil {
			return err
		}
		f := car.File
		if f.Origin == nil || f.Origin.Checksum != "" {
			continue
		}
		equal[f.SHA256] = append(equal[f.SHA256], f)
	}
	var refused error
	for _, files := range equal {
		other := slices.IndexFunc(files, func(f sharding.FileEntry) bool { return !sameSource(*f.Origin, *files[0].Origin) })
		if other < 0 {
			continue
		}
		if err := w.forget(ctx, files...); err != nil {
			return err
		}
		refused = fmt.Errorf("%w: %s and %s came as the same %d bytes, though they are different files: look at their addresses in a browser, where a network or site may ask you to log in, or ask for one of them alone",
			download.ErrRefused, files[0].Name, files[other].Name, files[0].Bytes)
	}
	return refused
}

// sameSource reports whether two origins are of one file: their addresses are
// equal, or end in the same name at different hosts.
func sameSource(a, b sharding.Origin) bool {
	if a.URL == b.URL {
		return a.URLSHA256 == b.URLSHA256
	}
	u, err := url.Parse(a.URL)
	if err != nil {
		return false
	}
	v, err := url.Parse(b.URL)
	return err == nil && u.Host != v.Host && path.Base(u.Path) == path.Base(v.Path)
}

// forget removes downloads, what proves them first.
func (w *downloadWorker) forget(ctx context.Context, files ...sharding.FileEntry) error {
	for _, f := range files {
		for _, name := range []string{f.Name + sharding.SideCarSuffix, f.Name} {
			if err := w.Fence(ctx); err != nil {
				return err
			}
			if err := w.Folder.Remove(ctx, name); err != nil {
				return err
			}
		}
	}
	return nil
}
