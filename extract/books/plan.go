package books

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"pretext/extract/parquet"
	"pretext/internal/failure"
)

// taskBytes is the approximate size, in bytes, of a task of consecutive files in a
// folder. A larger file is a separate task.
const taskBytes = 32 << 20

// A Kind is the way in which a task is read.
type Kind string

// The kinds of tasks.
const (
	kindFile   Kind = "file"   // a file: an archive or a book
	kindFolder Kind = "folder" // some files of a folder
	kindRows   Kind = "rows"   // some row groups of a Parquet file: Path, or Files[0] in the folder Path
)

// A Task is the part of the sources that one [Reader] reads.
type Task struct {
	Path    Name   `json:"path"` // path of the file or folder
	Kind    Kind   `json:"kind"`
	Files   []Name `json:"files,omitempty"`   // paths in the folder, slash-separated, in order
	Bytes   int64  `json:"bytes"`             // size of all files
	Skipped int64  `json:"skipped,omitempty"` // files of the folder that are not books; set only in the folder's first task
	// The next three fields are only for kindRows: the first row group, the number of
	// row groups, and the number of rows before the first row group.
	First  int   `json:"first,omitempty"`
	Groups int   `json:"groups,omitempty"`
	Row    int64 `json:"row,omitempty"`
}

// Archive reports whether the task is a single file, which may be an archive.
func (t Task) Archive() bool { return t.Kind == kindFile }

// Shared reports whether the task is an archive, by its name, whose books a team converts,
// see [Reader.Share].
func (t Task) Shared(opts Options) bool {
	return t.Archive() && kindOf(string(t.Path)) != epub && promises(string(t.Path)) != other && opts.LinesPerDocument == 0
}

// A Name is a path in a [Store]. Its JSON form is a string if it is valid
// UTF-8, and {"bytes": base64} otherwise, because a JSON string cannot hold
// other bytes.
type Name string

type nameBytes struct {
	Bytes []byte `json:"bytes"`
}

// MarshalJSON implements [json.Marshaler].
func (n Name) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(n)) {
		return json.Marshal(string(n))
	}
	return json.Marshal(nameBytes{[]byte(n)})
}

// UnmarshalJSON implements [json.Unmarshaler].
func (n *Name) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '{' {
		var raw nameBytes
		err := json.Unmarshal(b, &raw)
		*n = Name(raw.Bytes)
		return err
	}
	return json.Unmarshal(b, (*string)(n))
}

// A File is a file open for reading at any offset.
type File interface {
	io.ReaderAt
	io.Closer
	Size() int64
}

// Info describes a file.
type Info struct {
	Name string // slash-separated path in the folder; "" if the source is a file
	Size int64
}

// A Store gives access to the files of sources, such as a file system
// ([Local]). Its methods must be safe for concurrent use.
type Store interface {
	// List returns the files in the folder path at any depth, in any order. If
	// path is a file, it returns one Info without a name.
	List(path string) ([]Info, error)
	// Open opens the file name in the folder path, or the file path if name is "".
	Open(path, name string) (File, error)
}

// ErrNoBooks is returned by [Plan] for a folder without books.
var ErrNoBooks = failure.Usage(errors.New("no .txt, .epub or .parquet file in this folder"))

// Plan lists the sources at paths and divides them into tasks, in order. It reads the
// footers of Parquet files. For a folder without books, the error is [ErrNoBooks].
func Plan(store Store, paths []string, opts Options) ([]Task, error) {
	var all []Task
	for _, path := range paths {
		p := planner{store, path, opts.column()}
		tasks, err := p.plan()
		if err != nil {
			return nil, fmt.Errorf("plan books %q: %w", path, err)
		}
		all = append(all, tasks...)
	}
	return all, nil
}

// A planner divides the source at path, a file or folder, into tasks.
type planner struct {
	store  Store
	path   string
	column string // text column of Parquet files
}

func (p planner) plan() ([]Task, error) {
	files, err := p.store.List(p.path)
	switch {
	case err != nil:
		return nil, err
	case len(files) != 1 || files[0].Name != "":
		return p.folder(files)
	case kindOf(p.path) == rows:
		return p.rows(files[0])
	}
	return []Task{{Path: Name(p.path), Kind: kindFile, Bytes: files[0].Size}}, nil
}

// folder divides the books of a folder into tasks.
func (p planner) folder(files []Info) ([]Task, error) {
	slices.SortFunc(files, func(a, b Info) int { return strings.Compare(a.Name, b.Name) })
	var tasks []Task
	var skipped int64
	for _, f := range files {
		if kindOf(f.Name) == other {
			skipped++
			continue
		}
		if kindOf(f.Name) == rows {
			groups, err := p.rows(f)
			if err != nil {
				return nil, err
			}
			tasks = append(tasks, groups...)
			continue
		}
		last := len(tasks) - 1
		if last < 0 || tasks[last].Kind == kindRows || tasks[last].Bytes+f.Size > taskBytes {
			tasks = append(tasks, Task{Path: Name(p.path), Kind: kindFolder})
			last++
		}
		tasks[last].Files = append(tasks[last].Files, Name(f.Name))
		tasks[last].Bytes += f.Size
	}
	if len(tasks) == 0 {
		return nil, ErrNoBooks
	}
	tasks[0].Skipped = skipped
	return tasks, nil
}

// rows divides a Parquet file into tasks. A corrupt file becomes a task without row
// groups; its error is reported when the task is read.
func (p planner) rows(info Info) ([]Task, error) {
	f, err := p.store.Open(p.path, info.Name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	task := Task{Path: Name(p.path), Kind: kindRows}
	if info.Name != "" {
		task.Files = []Name{Name(info.Name)}
	}
	file, err := parquet.Open(f, info.Size, p.column)
	if err != nil {
		var corrupt *parquet.CorruptError
		var unsupported *parquet.UnsupportedError
		if errors.As(err, &corrupt) || errors.As(err, &unsupported) {
			err = nil
		}
		task.Bytes = info.Size
		return []Task{task}, err
	}
	var tasks []Task
	row := int64(0) // number of rows before group i
	for i, g := range file.Groups() {
		if task.Groups > 0 && task.Bytes+g.Bytes > taskBytes {
			tasks = append(tasks, task)
			task.First, task.Row, task.Groups, task.Bytes = i, row, 0, 0
		}
		task.Groups++
		task.Bytes += g.Bytes
		row += g.Rows
	}
	return append(tasks, task), nil
}

// Local is the [Store] of the local file system. It follows links to files. Inside a
// folder, it does not follow links to other folders.
type Local struct{}

// List implements [Store].
func (Local) List(root string) ([]Info, error) {
	info, err := os.Stat(root)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		if !info.Mode().IsRegular() { // a pipe would block
			return nil, failure.Usagef("%s: not a regular file", root)
		}
		return []Info{{"", info.Size()}}, nil
	}
	var files []Info
	err = filepath.WalkDir(root+string(filepath.Separator), func(p string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := os.Stat(p)
		if os.IsNotExist(err) {
			return nil // a broken link
		}
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		name, err := filepath.Rel(root, p)
		if err != nil {
			return err
		}
		files = append(files, Info{filepath.ToSlash(name), info.Size()})
		return nil
	})
	return files, err
}

// Open implements [Store].
func (Local) Open(root, name string) (File, error) {
	f, err := os.Open(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	return localFile{f, info.Size()}, nil
}

type localFile struct {
	*os.File
	size int64
}

func (f localFile) Size() int64 { return f.size }
