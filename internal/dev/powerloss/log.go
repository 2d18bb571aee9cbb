package powerloss

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Log records the operations in a folder in order.
type Log struct {
	root     string
	events   []event
	contents map[digest][]byte
}

// Len returns the number of recorded moments: one after the first operation, and one after
// each later operation that changed the folder or synced a part of it.
func (l *Log) Len() int { return len(l.events) }

// At describes moment i: the operation that has just been done.
func (l *Log) At(i int) string {
	return strings.ReplaceAll(l.events[i].String(), l.root+string(filepath.Separator), "")
}

// Held reports whether the file at a path relative to the root had the given content
// at any moment.
func (l *Log) Held(path string, content []byte) bool {
	return slices.ContainsFunc(l.events, func(e event) bool {
		n, ok := e.tree[path]
		return ok && !n.folder && bytes.Equal(l.contents[n.sum], content)
	})
}

// Restore writes to dir, an empty folder, the state in which the recorded
// folder may be after a power failure at moment i. fate decides about changes
// that were not synced.
func (l *Log) Restore(i int, dir string, fate Fate) error {
	d := l.diskAt(i)
	d.decide(fate)
	root := l.events[i].tree["."].inode
	return d.write(root, dir, fate)
}

// A disk holds the durable state of a folder and the changes that are not durable
// yet.
type disk struct {
	contents map[digest][]byte
	names    map[int]map[string]int // durable names, by inode of the folder
	pending  map[int][]change       // since the folder's last sync
	folder   map[int]bool
	safe     map[int]digest // contents of files at their last sync
	now      map[int]digest // current contents
}

// diskAt replays the log up to a moment.
func (l *Log) diskAt(i int) *disk {
	d := &disk{contents: l.contents, names: map[int]map[string]int{}, pending: map[int][]change{}, folder: map[int]bool{}, safe: map[int]digest{}, now: map[int]digest{}}
	for k, e := range l.events[:i+1] {
		for _, n := range e.tree {
			d.folder[n.inode] = n.folder
			d.now[n.inode] = n.sum
			if k == 0 {
				d.safe[n.inode] = n.sum
			}
		}
		for _, c := range e.changes {
			d.pending[c.in] = append(d.pending[c.in], c)
		}
		if k == 0 { // the initial state
			for in := range d.pending {
				d.settle(in, always)
			}
		}
		if e.folder != 0 {
			d.settle(e.folder, always)
		}
		if _, there := d.now[e.synced]; there {
			d.safe[e.synced] = d.now[e.synced]
		}
	}
	return d
}

// settle applies those pending changes of a folder's names for which keep returns
// true, and drops the others. in is the inode of the folder.
func (d *disk) settle(in int, keep func() bool) {
	names := d.names[in]
	if names == nil {
		names = map[string]int{}
		d.names[in] = names
	}
	for _, c := range d.pending[in] {
		if !keep() {
			continue
		}
		if c.from != "" {
			delete(names, c.from)
		}
		if names[c.name] = c.inode; c.inode == 0 {
			delete(names, c.name)
		}
	}
	delete(d.pending, in)
}

// decide applies or drops all pending changes, as fate decides.
func (d *disk) decide(fate Fate) {
	var folders []int
	for in := range d.pending {
		folders = append(folders, in)
	}
	slices.Sort(folders) // sorted, so that a seed always gives the same result
	for _, in := range folders {
		d.settle(in, fate.Keep)
	}
}

// write writes the content of a folder to dir.
func (d *disk) write(in int, dir string, fate Fate) error {
	var names []string
	for name := range d.names[in] {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		path, inode := filepath.Join(dir, name), d.names[in][name]
		if d.folder[inode] {
			if err := os.MkdirAll(path, 0o777); err != nil {
				return fmt.Errorf("restore folder: %w", err)
			}
			if err := d.write(inode, path, fate); err != nil {
				return err
			}
			continue
		}
		if err := os.WriteFile(path, d.content(inode, fate), 0o666); err != nil {
			return fmt.Errorf("restore file: %w", err)
		}
	}
	return nil
}

// content returns the content of a file after the power failure: the part that has
// not changed since its last sync, and as much of the rest as fate keeps.
func (d *disk) content(inode int, fate Fate) []byte {
	now := d.contents[d.now[inode]]
	sum, synced := d.safe[inode]
	if !synced {
		return fate.Data(now, 0)
	}
	old := d.contents[sum]
	if bytes.Equal(old, now) {
		return now
	}
	same := 0
	for same < len(old) && same < len(now) && old[same] == now[same] {
		same++
	}
	if same < len(old) && !fate.Keep() {
		return old // truncating it is undone, too
	}
	return fate.Data(now, same)
}
