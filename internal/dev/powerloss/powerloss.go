// Package powerloss simulates what a disk may contain after a power failure
// during operations of internal/store.
//
// Killing a process does not lose what it wrote, because the system still has
// it. A power failure loses what was not synced. A [Recorder] records every
// operation of internal/store in a folder. Its [Log] can then recreate the
// folder as a power failure at any moment may leave it, according to a [Fate]:
//
//	r, err := powerloss.Record(root)
//	... work below root, one operation at a time ...
//	log, err := r.Stop()
//	for i := range log.Len() {
//		err := log.Restore(i, dir, powerloss.Fates[0]) // then test the next run on dir
//	}
//
// # Model
//
// The model is POSIX, which guarantees less than real file systems:
//
//   - The content of a file at its last sync is durable. Later writes, and files
//     never synced, may be kept, truncated, zeroed or lost.
//   - Creating, removing or renaming a file is durable once the folder is synced.
//     Until then each such change may be kept or undone, independently of others.
//   - A new folder is a name in its parent. If that name is lost, so is
//     everything in the folder.
//   - The state at the start of the recording is durable. Modes and times are
//     ignored.
//
// The effect of an operation is found by scanning the whole folder before the
// next operation. So the package suits folders with a few small files, and
// operations that do not overlap.
package powerloss

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"pretext/internal/store"
)

// A Fate decides what happens to changes that were not synced.
type Fate struct {
	Name string
	// Keep reports whether a change of a name survives.
	Keep func() bool
	// Data returns the remaining content of a file with the content now, of
	// which only the first safe bytes are durable.
	Data func(now []byte, safe int) []byte
}

// Fates are the worst cases. "Names without bytes" is what delayed allocation does to
// a file that was renamed before it was synced.
var Fates = []Fate{
	{"nothing unsynced survives", never, func(now []byte, safe int) []byte { return now[:safe] }},
	{"names survive without bytes", always, func(now []byte, safe int) []byte { return now[:safe] }},
	{"names survive, bytes are zeros", always, zeros},
	{"names survive, half of the bytes do", always, func(now []byte, safe int) []byte { return now[:safe+(len(now)-safe)/2] }},
	{"bytes survive, names do not", never, func(now []byte, _ int) []byte { return now }},
	{"everything survives", always, func(now []byte, _ int) []byte { return now }},
}

func always() bool { return true }
func never() bool  { return false }

func zeros(now []byte, safe int) []byte {
	return append(slices.Clone(now[:safe]), make([]byte, len(now)-safe)...)
}

// Chance is a fate that decides randomly about each change.
func Chance(r *rand.Rand) Fate {
	return Fate{"chance decides", func() bool { return r.IntN(2) == 0 }, func(now []byte, safe int) []byte {
		cut := now[:safe+r.IntN(len(now)-safe+1)]
		if r.IntN(3) == 0 {
			return zeros(cut, safe)
		}
		return cut
	}}
}

// A Recorder records the operations in a folder.
type Recorder struct {
	mu      sync.Mutex
	restore func()
	log     *Log
	next    event // the operation about to happen
	tree    tree  // at the last scan
	inode   int   // the last number assigned
	open    map[string][]int
	err     error // error of the first scan that failed
}

// Record starts recording the folder at a path. Only one recorder, or other
// user of [store.Intercept], may be active at a time.
func Record(root string) (*Recorder, error) {
	r := &Recorder{log: &Log{root: root, contents: map[digest][]byte{}}, open: map[string][]int{}}
	r.look(event{})
	if r.err != nil {
		return nil, r.err
	}
	r.restore = store.Intercept(r.before)
	return r, nil
}

// Stop ends the recording and returns the log.
func (r *Recorder) Stop() (*Log, error) {
	r.restore()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.look(r.next)
	return r.log, r.err
}

// before is called before every operation. It first records the previous
// operation, which is complete by then.
func (r *Recorder) before(step store.Step, path string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.look(r.next)
	r.next = event{step: step, path: path}
	return nil
}

// An event is an operation and its effect.
type event struct {
	step    store.Step
	path    string // path passed by the operation
	tree    tree   // state after it
	changes []change
	synced  int // inode whose content is durable now, 0 for none
	folder  int // inode of the folder whose names are durable now
}

// A tree is the state of the folder, by path relative to the root.
type tree map[string]node

// A node is a file or folder, identified by a number (inode). A node that has the
// same number under another name was renamed.
type node struct {
	inode  int
	info   os.FileInfo
	folder bool
	sum    digest // of a file
}

type digest [sha256.Size]byte

// A change of a name in a folder.
type change struct {
	in    int // inode of the folder
	name  string
	inode int    // the node it refers to, 0 if removed
	from  string // the old name of a rename, or ""
}

// reads reports whether an operation cannot change anything.
func reads(step store.Step) bool {
	return step == store.StepOpen || step == store.StepRead || step == store.StepStat || step == store.StepList
}

// look compares the folder with its previous state, and appends e to the log with the
// changes found.
func (r *Recorder) look(e event) {
	if r.err != nil || reads(e.step) {
		return
	}
	now, err := r.walk()
	if err != nil {
		r.err = err
		return
	}
	e.tree = now
	e.changes = changes(r.tree, now)
	r.follow(&e)
	last := r.tree
	r.tree = now
	if len(e.changes) > 0 || e.synced != 0 || e.folder != 0 || !sameContents(last, now) || len(r.log.events) == 0 {
		r.log.events = append(r.log.events, e)
	}
}

// follow sets the inode of the file or folder of e. Operations report the final name
// of a file, under which two temporary files may be open at once; the last one
// created is closed first.
func (r *Recorder) follow(e *event) {
	stack := r.open[e.path]
	switch e.step {
	case store.StepCreate:
		inode := -1 // already removed
		for _, c := range e.changes {
			if c.inode != 0 && !e.tree.byInode(c.inode).folder {
				inode = c.inode
			}
		}
		if part, ok := e.tree[r.relative(filepath.Join(filepath.Dir(e.path), store.PartialName(filepath.Base(e.path))))]; inode < 0 && ok {
			inode = part.inode // of an earlier run
		}
		r.open[e.path] = append(stack, inode)
	case store.StepSync:
		if len(stack) > 0 {
			e.synced = stack[len(stack)-1]
		}
	case store.StepClose, store.StepDiscard, store.StepUnname:
		if len(stack) > 0 {
			r.open[e.path] = stack[:len(stack)-1]
		}
	case store.StepSyncFolder:
		e.folder = e.tree[r.relative(e.path)].inode
	}
}

func (r *Recorder) relative(path string) string {
	rel, err := filepath.Rel(r.log.root, path)
	if err != nil {
		return path
	}
	return rel
}

// walk returns the state of everything below the root.
func (r *Recorder) walk() (tree, error) {
	now := tree{}
	err := filepath.WalkDir(r.log.root, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel := r.relative(path)
		n := node{info: info, folder: d.IsDir(), inode: r.tree.find(rel, info)}
		if n.inode == 0 {
			r.inode++
			n.inode = r.inode
		}
		if !n.folder {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			n.sum = sha256.Sum256(b)
			r.log.contents[n.sum] = b
		}
		now[rel] = n
		return nil
	})
	return now, err
}

// find returns the inode of the file at path if it is already known, or 0 for a
// new file.
func (t tree) find(path string, info os.FileInfo) int {
	if n, ok := t[path]; ok && os.SameFile(n.info, info) {
		return n.inode
	}
	for _, n := range t {
		if os.SameFile(n.info, info) {
			return n.inode
		}
	}
	return 0
}

func (t tree) byInode(inode int) node {
	for _, n := range t {
		if n.inode == inode {
			return n
		}
	}
	return node{}
}

// parent returns the inode of the folder that contains a path.
func (t tree) parent(path string) int { return t[filepath.Dir(path)].inode }

// changes returns the changes of names between two trees.
func changes(was, is tree) (list []change) {
	moved := map[string]bool{}
	for _, path := range sortedPaths(is) {
		n := is[path]
		if was[path].inode == n.inode || path == "." {
			continue
		}
		c := change{in: is.parent(path), name: filepath.Base(path), inode: n.inode}
		for old, before := range was {
			if before.inode == n.inode && is[old].inode != n.inode && filepath.Dir(old) == filepath.Dir(path) {
				c.from, moved[old] = filepath.Base(old), true
			}
		}
		list = append(list, c)
	}
	for _, path := range sortedPaths(was) {
		if _, ok := is[path]; !ok && !moved[path] {
			list = append(list, change{in: was.parent(path), name: filepath.Base(path)})
		}
	}
	return list
}

func sortedPaths(t tree) (paths []string) {
	for p := range t {
		paths = append(paths, p)
	}
	slices.SortFunc(paths, strings.Compare)
	return paths
}

func sameContents(a, b tree) bool {
	for path, n := range b {
		if a[path].sum != n.sum {
			return false
		}
	}
	return true
}

// String describes an event.
func (e event) String() string {
	if e.step == "" {
		return "before the first step"
	}
	return fmt.Sprintf("after %s of %s", e.step, e.path)
}
