package sharding

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"pretext/internal/store"
)

// A TaskList contains the plans of a stage's tasks. Plans are computed one at a time,
// since all plans of a large run would not fit into memory.
type TaskList struct {
	Len int
	// Plan returns the plan of a task, which is written as JSON. For the same task it
	// must always return the same plan.
	Plan func(task int) any
}

// The file of tasks begins with one line of JSON for each task, in order. A table with
// the offset of each line follows, so that a worker can read only its task. The footer at
// the end of the file contains the offset of the table:
//
//	tasks × line of JSON, LF
//	tasks × u64 offset of the line     (all integers little-endian)
//	u64 offset of the table, u64 tasks
//	32 bytes: SHA-256 of all bytes before this footer. If the file's hash differs from
//	that in plan.json, this shows which of the two files was changed.
//	"ptxplan\n"
const (
	tasksMagic  = "ptxplan\n"
	tasksFooter = 16 + sha256.Size + len(tasksMagic)

	// tasksTail is how many bytes are read first, from the end of the file. A small file
	// is read completely.
	tasksTail = 4 << 10
)

// NewPlan returns the plan of a stage with the given recipe and tasks. sum is the SHA-256
// that [WriteTasks] returned for these tasks.
func NewPlan(recipe Recipe, tasks TaskList, sum string) StagePlan {
	return StagePlan{Version: PlanVersion, Recipe: recipe, Tasks: tasks.Len, TasksSHA256: sum, Fingerprint: recipe.Fingerprint()}
}

// WriteTasks writes the content of the file of tasks, named [TasksName], and
// returns its SHA-256.
func WriteTasks(ctx context.Context, w io.Writer, tasks TaskList) (sum string, err error) {
	h := sha256.New()
	out := bufio.NewWriterSize(io.MultiWriter(w, h), 256<<10)
	places := make([]byte, 0, 8*tasks.Len)
	offset := 0
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	for i := range tasks.Len {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		line.Reset()
		plan := tasks.Plan(i)
		if shard, ok := plan.(ShardTask); ok && shard.plain() {
			line.Write(shard.line())
		} else if err := enc.Encode(plan); err != nil {
			return "", fmt.Errorf("plan of task %d: %w", i, err)
		}
		places = binary.LittleEndian.AppendUint64(places, uint64(offset))
		offset += line.Len()
		out.Write(line.Bytes()) // Flush returns the error
	}
	out.Write(places)
	if err := out.Flush(); err != nil {
		return "", err
	}
	footer := binary.LittleEndian.AppendUint64(nil, uint64(offset))
	footer = binary.LittleEndian.AppendUint64(footer, uint64(tasks.Len))
	out.Write(append(h.Sum(footer), tasksMagic...))
	if err := out.Flush(); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// A TaskFile is an open file of tasks.
type TaskFile struct {
	File
	tail   []byte // the end of the file
	places int64  // offset of the table of line offsets
	tasks  int
	table  []byte // the table of line offsets; nil: it is read where it is needed
}

// OpenTasks opens the file of tasks in a stage's folder. Folders of earlier versions have
// none; then the error matches [fs.ErrNotExist].
func OpenTasks(ctx context.Context, folder Folder) (*TaskFile, error) {
	f, err := folder.Open(ctx, PlanFolder+"/"+TasksName)
	if err != nil {
		return nil, err
	}
	t := &TaskFile{File: f, tail: make([]byte, min(f.Size(), tasksTail))}
	if err := t.readFooter(); err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", TasksName, err)
	}
	return t, nil
}

func (t *TaskFile) readFooter() error {
	if _, err := t.ReadAt(t.tail, t.Size()-int64(len(t.tail))); err != nil && err != io.EOF {
		return err
	}
	if len(t.tail) < tasksFooter || !bytes.HasSuffix(t.tail, []byte(tasksMagic)) {
		return fmt.Errorf("%w: truncated", ErrFormat)
	}
	footer := t.tail[len(t.tail)-tasksFooter:]
	places, tasks := binary.LittleEndian.Uint64(footer), binary.LittleEndian.Uint64(footer[8:])
	size := uint64(t.Size()) - uint64(tasksFooter)
	if places > size || (size-places)%8 != 0 || (size-places)/8 != tasks {
		return fmt.Errorf("%w: %d tasks with their places at byte %d do not make a file of %d bytes", ErrFormat, tasks, places, t.Size())
	}
	t.places, t.tasks = int64(places), int(tasks)
	return nil
}

// Intact reports whether the content of the file matches the SHA-256 in its footer.
func (t *TaskFile) Intact() (bool, error) {
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(t, 0, t.Size()-int64(tasksFooter))); err != nil {
		return false, err
	}
	return bytes.Equal(h.Sum(nil), t.tail[len(t.tail)-tasksFooter:][16:16+sha256.Size]), nil
}

// Load reads the table of all tasks into memory, 8 bytes for each. After it, one read finds
// the plan of a task.
func (t *TaskFile) Load() error {
	table, err := t.at(t.places, 8*int64(t.tasks))
	if err == nil {
		t.table = table
	}
	return err
}

// Len returns the number of tasks.
func (t *TaskFile) Len() int { return t.tasks }

// at returns n bytes of the file from offset.
func (t *TaskFile) at(offset, n int64) ([]byte, error) {
	if from := offset - (t.Size() - int64(len(t.tail))); from >= 0 {
		return t.tail[from : from+n], nil
	}
	b := make([]byte, n)
	if _, err := t.ReadAt(b, offset); err != nil && err != io.EOF {
		return nil, err
	}
	return b, nil
}

// Raw returns the plan of a task as JSON.
func (t *TaskFile) Raw(task int) ([]byte, error) {
	if task < 0 || task >= t.tasks {
		return nil, fmt.Errorf("%w: no task %d among %d", ErrFormat, task, t.tasks)
	}
	ends := int64(2)
	if task == t.tasks-1 {
		ends = 1 // the last line ends where the table begins
	}
	var b []byte
	var err error
	if t.table != nil {
		b = t.table[8*task:]
	} else if b, err = t.at(t.places+8*int64(task), 8*ends); err != nil {
		return nil, err
	}
	from, to := binary.LittleEndian.Uint64(b), uint64(t.places)
	if ends == 2 {
		to = binary.LittleEndian.Uint64(b[8:])
	}
	if from > to || to > uint64(t.places) {
		return nil, fmt.Errorf("%w: the place of task %d is not in the file", ErrFormat, task)
	}
	return t.at(int64(from), int64(to-from))
}

// ReadTask reads the plan of the task with this index and decodes it into to. Without the
// file of tasks the error matches [ErrDamaged].
func ReadTask(ctx context.Context, folder Folder, index int, to any) error {
	raw, name, err := readTask(ctx, folder, index)
	if err != nil {
		return fmt.Errorf("read plan of task %d: %w", index, err)
	}
	if err := json.Unmarshal(raw, to); err != nil {
		return fmt.Errorf("read plan of task %d: %s: %w: %v", index, name, ErrFormat, err)
	}
	return nil
}

// readTask returns the plan of a task as JSON and the name of its file.
func readTask(ctx context.Context, folder Folder, index int) (raw []byte, name string, err error) {
	t, err := OpenTasks(ctx, folder)
	if errors.Is(err, fs.ErrNotExist) {
		name = OldTaskFile(index)
		raw, err = store.ReadFile(ctx, folder, PlanFolder+"/"+name)
		return raw, name, Missing(store.Join(folder.String(), PlanFolder, TasksName), err)
	}
	if err != nil {
		return nil, "", err
	}
	defer t.Close()
	raw, err = t.Raw(index)
	return raw, TasksName, err
}

// PlanSums returns the content of [SumsName] for the task files of an earlier
// version: the SHA-256 of each, in the format of sha256sum.
func PlanSums(files [][]byte) []byte {
	var sums bytes.Buffer
	for i, data := range files {
		fmt.Fprintf(&sums, "%s  %s\n", Hash(data), OldTaskFile(i))
	}
	return sums.Bytes()
}

// createTasks writes the file of tasks in a stage's folder, which must not have
// one, and returns its SHA-256. Write it before the plan.
func createTasks(ctx context.Context, folder store.Folder, tasks TaskList) (sum string, err error) {
	w, err := folder.Folder(PlanFolder).Create(ctx, TasksName)
	if err != nil {
		return "", err
	}
	defer w.Abort()
	if sum, err = WriteTasks(ctx, w, tasks); err != nil {
		return "", err
	}
	return sum, w.Commit()
}
