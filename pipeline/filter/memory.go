package filter

import (
	"fmt"

	"pretext/pipeline/stage"
	"pretext/sharding"
)

// budget returns the size in bytes of the buffer for sorting duplicates, or 0 if the
// options do not search for duplicates. If the stage does not fit into have bytes of
// memory, the error is a [*stage.MemoryError].
func (p *plan) budget(have int64, workers int, o Options) (int64, error) {
	var tasks []int64
	for _, t := range p.tasks {
		tasks = append(tasks, o.taskMemory(t.Blocks.LargestBlock(), t.Blocks.CountDocuments()))
	}
	if need := stage.PeakMemory(tasks, workers); need > have {
		return 0, &stage.MemoryError{Need: need, Have: have, Why: "filtering documents", Less: " or fewer --workers"}
	}
	if !o.sorts() {
		return 0, nil
	}
	fixed := o.decideMemory(p.documents)
	if fixed+minBudget > have {
		return 0, &stage.MemoryError{Need: fixed + minBudget, Have: have, Why: fmt.Sprintf("finding duplicates among %d documents", p.documents)}
	}
	return (have - fixed) / 2, nil
}

// sorts reports whether the options need a buffer for sorting, in a stage before the filter.
func (o Options) sorts() bool { return o.Dedup != DedupNone || o.LineDocuments > 0 }

// taskMemory returns the memory in bytes for a task with the given number of documents.
// largest is the size of the largest document's text in bytes. That document is in memory
// as compressed frame, as JSON, as text and as plain text.
func (o Options) taskMemory(largest, documents int64) int64 {
	perDocument, lines := int64(0), int64(0)
	if o.LineDocuments > 0 {
		lines = 2 * lineBuffer // also for the repeated lines
	}
	if o.Dedup != DedupNone {
		perDocument = 64 + o.bandBytes() // digest, state, ID
	}
	return taskMemory + lines + 4*largest + min(8*largest, repetitionMemory) + perDocument*documents
}

// bandBytes returns the size of a document's MinHash bands in bytes.
func (o Options) bandBytes() int64 {
	if o.Nearly == nil {
		return 0
	}
	return 8 * int64(o.Nearly.Bands)
}

// decideMemory returns the memory in bytes for deciding which documents are duplicates,
// without the buffer for sorting. It consists of each document's cluster, similarity and
// one bit, for near duplicates also the cluster of similar documents and its size, and for
// containment the number of samples. No task runs at that time.
func (o Options) decideMemory(documents int64) int64 {
	perDocument := int64(9)
	switch o.Dedup {
	case DedupNone:
		perDocument = 0
	case DedupMinHash:
		perDocument += 8
	}
	if o.containment() > 0 {
		perDocument += 8
	}
	return stage.BaseMemory + perDocument*documents
}

const (
	taskMemory       = 24 << 20 // a task without its documents: sets of shingles, block and output buffers
	repetitionMemory = 48 << 20 // bytes of the largest tables for measuring repetition
	minBudget        = 32 << 20 // minimum size of the buffer for sorting duplicates
)

// A Corpus is the expected size of the documents that are filtered.
type Corpus struct{ TextBytes, Documents int64 }

// Disk returns the expected size, in bytes, of the temporary files for finding
// duplicates.
func (o Options) Disk(c Corpus) int64 {
	lines := int64(0)
	if o.LineDocuments > 0 {
		lines = int64(float64(c.TextBytes) * linesPerTextByte)
	}
	if o.Dedup == DedupNone {
		return lines
	}
	bytes := lines + c.Documents*(signatureBytes+o.bandBytes())
	if o.containment() > 0 {
		bytes += int64(float64(c.TextBytes) * samplesPerTextByte)
	}
	return bytes
}

const (
	// signatureBytes is the disk space per document in the directories signatures and
	// pairs, without its MinHash bands. It consists of 17 bytes of state and digest, an
	// offset, an ID, 0.15 candidates, and parts of plans and side-cars. Measured.
	signatureBytes = 60
	// samplesPerTextByte is the size of samples per byte of text: eight bytes for each
	// 128th word, with six bytes per word.
	samplesPerTextByte = 8.0 / 128 / 6
	// linesPerTextByte is the size of the rows of lines, and of the file in which they are
	// sorted, per byte of text: 20 bytes per line, with 60 bytes per line.
	linesPerTextByte = 20.0 / 60
	// sortedPerDocument is the size per document, in bytes, of the buffer for sorting
	// duplicates, if memory allows: see the package comment of extract/dedup.
	sortedPerDocument = 24
)

// Memory predicts the memory of the stage in bytes. needed is the minimum; with less, the
// stage refuses to start. peak is the expected use if have bytes are allowed.
func (o Options) Memory(c Corpus, workers int, have int64) (needed, peak int64) {
	const largest = 1 << 20 // size of the largest document in nearly all corpora, in bytes
	tasks := max(1, c.TextBytes/sharding.RunBytes, c.Documents/sharding.RunDocuments)
	needed = stage.BaseMemory + min(int64(workers), tasks)*o.taskMemory(largest, c.Documents/tasks)
	if !o.sorts() {
		return needed, needed
	}
	fixed := o.decideMemory(c.Documents)
	needed = max(needed, fixed+minBudget)
	sorted := min(c.Documents*sortedPerDocument, max(0, have-fixed)/2)
	return needed, max(needed, fixed+sorted)
}
