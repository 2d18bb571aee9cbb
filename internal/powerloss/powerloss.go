// Package powerloss shows what a disk may hold after power failed while code
// worked in folders through internal/store.
//
// Killing a process loses nothing that it wrote: the system still has it. A
// power failure does lose what was not synced. A [Recorder] watches every step
// of internal/store below a folder, and its [Log] can then build the folder anew
// as it may have been left at any moment, under a [Fate]:
//
//	r, err := powerloss.Record(root)
//	... work below root, one step at a time ...
//	log, err := r.Stop()
//	for i := range log.Len() {
//		err := log.Restore(i, dir, powerloss.Fates[0]) // and see what the next run makes of dir
//	}
//
// # Model
//
// It is that of POSIX, which promises less than any file system keeps. What a
// file held when it was last synced is safe; what was written to it since, and
// all of a file that never was, is kept, cut short, zeroed or gone. A name that
// was given, taken away or moved to another file is safe when the folder in
// which it stands was synced after that; until then each such change is kept or
// undone, whatever becomes of the others. A new folder is a name in the folder
// above it, and is lost with all that is in it where that name is. What was
// there when the recording began is safe. Modes and times are left out.
//
// What a step did is seen by looking at the whole folder before the next one:
// this is for folders of a few small files, and work whose steps do not overlap.
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

// A Fate decides what becomes of things that were not synced.
type Fate struct {
	Name string
	// Keep reports whether a change of a name survives.
	Keep func() bool
	// Data returns what is left of a file that held safe bytes when it was last
	// synced and holds bytes now, of which those from the offset on are not safe.
	Data func(now []byte, safe int) []byte
}

// Fates are the worst cases, each alone: names without bytes is what delayed
// allocation does to a file that was renamed before it was synced.
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

// Chance is a fate that decides each thing for itself.
func Chance(r *rand.Rand) Fate {
	return Fate{"chance decides", func() bool { return r.IntN(2) == 0 }, func(now []byte, safe int) []byte {
		cut := now[:safe+r.IntN(len(now)-safe+1)]
		if r.IntN(3) == 0 {
			return zeros(cut, safe)
		}
		return cut
	}}
}

// A Recorder watches a folder.
type Recorder struct {
	mu      sync.Mutex
	restore func()
	log     *Log
	next    event // what is about to happen
	tree    tree  // as of the last look
	inode   int   // the last number given
	open    map[string][]int
	err     error // the first look that failed
}

// Record watches the folder at a path from now on. One recorder, or other use of
// [store.Intercept], is at work at a time.
func Record(root string) (*Recorder, error) {
	r := &Recorder{log: &Log{root: root, contents: map[digest][]byte{}}, open: map[string][]int{}}
	r.look(event{})
	if r.err != nil {
		return nil, r.err
	}
	r.restore = store.Intercept(r.before)
	return r, nil
}

// Stop ends the recording.
func (r *Recorder) Stop() (*Log, error) {
	r.restore()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.look(r.next)
	return r.log, r.err
}

// before is called ahead of every step: by then the one before it has been done.
func (r *Recorder) before(step store.Step, path string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.look(r.next)
	r.next = event{step: step, path: path}
	return nil
}

// An event is a step and what it did.
type event struct {
	step    store.Step
	path    string // as the step has it
	tree    tree   // after it
	changes []change
	synced  int // inode whose bytes are safe now, 0 for none
	folder  int // inode of the folder whose names are
}

// A tree is what stands below the root, by path relative to it.
type tree map[string]node

// A node is a file or folder under a number of its own: what keeps its number
// is the same thing under another name.
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
	inode int    // what it stands for now, 0 for nothing
	from  string // the name that was given up for it, "" for none
}

// reads reports whether a step cannot have changed anything.
func reads(step store.Step) bool {
	return step == store.StepOpen || step == store.StepRead || step == store.StepStat || step == store.StepList
}

// look finds out what a step did and appends it to the log.
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

// follow finds the file or folder that a step was about. Steps go by the name
// that a file will have, under which two may be open at a time: the one that
// was created last is closed first.
func (r *Recorder) follow(e *event) {
	stack := r.open[e.path]
	switch e.step {
	case store.StepCreate:
		inode := -1 // gone already
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

// walk reads everything below the root.
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

// find returns the inode of what was there before, 0 for what is new.
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

// parent returns the inode of the folder in which a path stands.
func (t tree) parent(path string) int { return t[filepath.Dir(path)].inode }

// changes tells by what changes of names one tree becomes another.
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

// String names an event.
func (e event) String() string {
	if e.step == "" {
		return "before the first step"
	}
	return fmt.Sprintf("after %s of %s", e.step, e.path)
}
