package filter

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"

	"pretext/counts"
	"pretext/extract"
	"pretext/internal/extsort"
	"pretext/internal/store"
	"pretext/pipeline/stage"
	"pretext/sharding"
)

// The stage lines finds lines that many documents have. A task writes lines-NNNNN.bin: the
// hash of each different line of its documents, and the number of documents that have it.
// Finish adds the numbers up and writes the hashes of the repeated lines. The signatures
// and the filter read documents without these lines.

// Counts of repeated lines.
var (
	differentLines = counts.Declare("different_lines", counts.About{Meaning: "different lines of a task's documents, added up"})
	repeatedLines  = counts.Declare("repeated_lines", counts.About{Meaning: "lines that too many documents have"})
	removedLines   = counts.Declare("removed_lines", counts.About{Label: "repeated lines removed", In: counts.Summary, Sparse: true,
		Meaning: "lines that were removed because too many documents have them"})
	removedBytes = counts.Declare("removed_line_bytes", counts.About{Label: "bytes of repeated lines", Unit: counts.Bytes, In: counts.Summary, Sparse: true,
		Meaning: "bytes of these lines, with a line feed each"})
)

// Constants of the stage lines.
const (
	lineRowBytes = 12       // u64 hash, u32 documents
	lineBuffer   = 16 << 20 // bytes of hashes that a task sorts in memory
	repeatedFile = "repeated.bin"
)

func linesName(task int) string {
	return fmt.Sprintf("%s%05d%s", sharding.LinesPrefix, task, binarySuffix)
}

func init() {
	stage.Register(stage.Definition{
		Name:      sharding.LinesFolder,
		Algorithm: algorithm,
		New:       stage.New(func(env *stage.Env, work work) stage.Worker { return &linesWorker{env, work} }),
		Counts:    []counts.Count{extract.Documents, differentLines, repeatedLines},
	})
}

// findLines runs the stage lines and sets its path in w. run is the configuration of the
// filter stage.
func (w *work) findLines(ctx context.Context, r stage.Runner, run stage.Config) error {
	t := run.Target.In(sharding.LinesFolder)
	t.Out = store.Absolute(t.Out)
	run.Stage, run.Target, run.Work = sharding.LinesFolder, t, w
	if _, err := stage.Run(ctx, r, run); err != nil {
		return err
	}
	w.Lines = t.Out
	return nil
}

// linesWorker counts in how many documents each line occurs.
type linesWorker struct {
	*stage.Env
	work
}

func (w *linesWorker) Do(ctx context.Context, index int) ([]stage.Result, error) {
	var t task
	if err := w.Task(ctx, index, &t); err != nil {
		return nil, err
	}
	file := stage.TaskFile{Task: index, Name: linesName(index), Size: t.Blocks.TextBytes()}
	return w.WriteFile(ctx, file, func(out *stage.Output) (sharding.Counts, error) {
		keys := w.sorter(lineBuffer)
		defer keys.Close()
		counts := sharding.Counts{}
		var hashes []uint64 // of the different lines of a document
		for doc, err := range w.Documents(ctx, t.Blocks) {
			if err != nil {
				return nil, err
			}
			extract.Documents.Add(counts, 1)
			hashes = hashes[:0]
			for line := range strings.SplitSeq(doc.Text, "\n") {
				if line != "" {
					hashes = append(hashes, lineHash(line))
				}
			}
			slices.Sort(hashes)
			for _, h := range slices.Compact(hashes) {
				if err := keys.Add(h); err != nil {
					return nil, err
				}
			}
		}
		buffered := bufio.NewWriter(out)
		var row [lineRowBytes]byte
		err := eachKey(keys, func(hash uint64, documents uint32) error {
			differentLines.Add(counts, 1)
			binary.LittleEndian.PutUint64(row[:], hash)
			binary.LittleEndian.PutUint32(row[8:], documents)
			_, err := buffered.Write(row[:])
			return err
		})
		if err == nil {
			err = buffered.Flush()
		}
		return counts, err
	})
}

// sorter returns a sorter of hashes that uses about memory bytes.
func (w *linesWorker) sorter(memory int64) *extsort.Keys {
	return extsort.NewKeys(memory, func() (extsort.Spill, error) { return w.TempFile() })
}

// eachKey calls do with each different key, in ascending order, and how often it was added.
func eachKey(keys *extsort.Keys, do func(key uint64, times uint32) error) error {
	var last uint64
	times := uint32(0)
	for key, err := range keys.Sorted() {
		if err != nil {
			return err
		}
		if key != last && times > 0 {
			if err := do(last, times); err != nil {
				return err
			}
			times = 0
		}
		last = key
		times++
	}
	if times == 0 {
		return nil
	}
	return do(last, times)
}

// lineHash returns the hash by which lines are compared. White space around a line does not
// count. Two of n different lines have the same hash with a probability of n²/2⁶⁵, one in
// 900 for 200 million lines; then a line could be removed that is in few documents.
func lineHash(line string) uint64 { return extsort.Hash([]byte(strings.TrimSpace(line))) }

// Finish writes the hashes of the lines that more documents have than the options allow.
func (w *linesWorker) Finish(ctx context.Context, results []stage.Result) error {
	most := uint32(w.Options.LineDocuments)
	keys := w.sorter(w.Budget)
	defer keys.Close()
	files, err := openTasks(ctx, w.Out(), linesName, func(f store.File) error { return addRows(keys, f, most) })
	if err != nil {
		return err
	}
	if err := files.close(); err != nil {
		return err
	}
	var repeated []byte
	err = eachKey(keys, func(hash uint64, documents uint32) error {
		if documents <= most {
			return nil
		}
		if int64(len(repeated)) >= w.Budget {
			return &stage.MemoryError{Need: 4 * w.Budget, Have: 2 * w.Budget, Why: "removing repeated lines"}
		}
		repeated = binary.LittleEndian.AppendUint64(repeated, hash)
		return nil
	})
	if err != nil {
		return err
	}
	entry, err := w.Write(ctx, sharding.LinesPrefix+repeatedFile, repeated)
	if err != nil {
		return err
	}
	entry.Counts = sharding.Counts{repeatedLines.Key: int64(len(repeated) / 8)}
	return w.Manifest(ctx, results, sharding.Manifest{Files: []sharding.FileEntry{entry}})
}

// addRows adds the hashes of a task's file to keys, as often as documents have the line, but
// at most once more than most.
func addRows(keys *extsort.Keys, f store.File, most uint32) error {
	r := bufio.NewReaderSize(io.NewSectionReader(f, 0, f.Size()), 64<<10)
	var row [lineRowBytes]byte
	for {
		if _, err := io.ReadFull(r, row[:]); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		hash := binary.LittleEndian.Uint64(row[:])
		for range min(binary.LittleEndian.Uint32(row[8:]), most+1) {
			if err := keys.Add(hash); err != nil {
				return err
			}
		}
	}
}

// A lineSet is the sorted hashes of repeated lines.
type lineSet []uint64

// repeated reads the hashes of the repeated lines; none if the filter keeps them.
func (w *work) repeated(ctx context.Context) (lineSet, error) {
	if w.Lines == "" {
		return nil, nil
	}
	rows, err := readRows(ctx, w.Lines, sharding.LinesPrefix+repeatedFile, 8)
	if err != nil {
		return nil, err
	}
	set := make(lineSet, len(rows)/8)
	for i := range set {
		set[i] = binary.LittleEndian.Uint64(rows[8*i:])
	}
	return set, nil
}

// remove removes the repeated lines from a document. It returns how many it removed, and
// their bytes with a line feed each.
func (s lineSet) remove(doc *extract.Document) (lines, bytes int64) {
	if len(s) == 0 {
		return 0, 0
	}
	var kept strings.Builder
	for line := range strings.SplitSeq(doc.Text, "\n") {
		if _, found := slices.BinarySearch(s, lineHash(line)); found && line != "" {
			lines++
			bytes += int64(len(line)) + 1
			continue
		}
		kept.WriteString(line)
		kept.WriteByte('\n')
	}
	if lines > 0 {
		doc.Text = strings.TrimSpace(kept.String())
	}
	return lines, bytes
}
