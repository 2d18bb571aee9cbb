package filter

import (
	"fmt"

	"pretext/pipeline/stage"
	"pretext/sharding"
)

// budget returns the size in bytes of the buffer in which duplicates are
// sorted, 0 if the options do not look for duplicates. It returns a
// [*stage.MemoryError] if the stage does not fit into have bytes of memory.
func (p *plan) budget(have int64, workers int, o Options) (int64, error) {
	var tasks []int64
	for _, t := range p.tasks {
		tasks = append(tasks, o.taskMemory(t.Blocks.LargestBlock(), t.Blocks.CountDocuments()))
	}
	if need := stage.PeakMemory(tasks, workers); need > have {
		return 0, &stage.MemoryError{Need: need, Have: have, Why: "filtering documents", Less: " or fewer --workers"}
	}
	if o.Dedup == DedupNone {
		return 0, nil
	}
	fixed := o.decideMemory(p.documents)
	if fixed+minBudget > have {
		return 0, &stage.MemoryError{Need: fixed + minBudget, Have: have, Why: fmt.Sprintf("finding duplicates among %d documents", p.documents)}
	}
	return (have - fixed) / 2, nil
}

// taskMemory returns the bytes of memory that a task needs for a number of
// documents. largest is the text of the largest document in bytes; that
// document is held as a compressed frame, as JSON, as text and as plain text.
func (o Options) taskMemory(largest, documents int64) int64 {
	perDocument := int64(0)
	if o.Dedup != DedupNone {
		perDocument = 64 + o.bandBytes() // digest, state, ID
	}
	return taskMemory + 4*largest + min(8*largest, repetitionMemory) + perDocument*documents
}

// bandBytes returns the bytes of a document's MinHash bands.
func (o Options) bandBytes() int64 {
	if o.Nearly == nil {
		return 0
	}
	return 8 * int64(o.Nearly.Bands)
}

// decideMemory returns the bytes of memory needed to decide which documents are
// duplicates, without the buffer in which they are sorted: for each document
// its cluster, its similarity and a bit, and for containment its number of
// samples. No task runs at that time.
func (o Options) decideMemory(documents int64) int64 {
	perDocument := int64(9)
	if o.containment() > 0 {
		perDocument += 8
	}
	return stage.BaseMemory + perDocument*documents
}

const (
	taskMemory       = 24 << 20 // of a task without its documents: sets of shingles, block and output buffers
	repetitionMemory = 48 << 20 // bytes of the largest tables for measuring repetition
	minBudget        = 32 << 20 // minimum size of the buffer in which duplicates are sorted
)

// A Corpus is the expected size of the documents that are filtered.
type Corpus struct{ TextBytes, Documents int64 }

// Disk returns the expected bytes of the files that find duplicates.
func (o Options) Disk(c Corpus) int64 {
	if o.Dedup == DedupNone {
		return 0
	}
	bytes := c.Documents * (signatureBytes + o.bandBytes())
	if o.containment() > 0 {
		bytes += int64(float64(c.TextBytes) * samplesPerTextByte)
	}
	return bytes
}

const (
	// signatureBytes is the disk space per document in the directories
	// signatures and pairs, without its MinHash bands: 17 bytes of state and
	// digest, an offset, an ID, 0.15 candidates, its part of plans and
	// side-cars. Measured.
	signatureBytes = 60
	// samplesPerTextByte are the bytes of samples per byte of text: eight for
	// each 128th word of six bytes.
	samplesPerTextByte = 8.0 / 128 / 6
	// sortedPerDocument is the size per document of the buffer in which
	// duplicates are sorted, if memory allows: see the package comment of
	// extract/dedup.
	sortedPerDocument = 24
)

// Memory predicts the memory of the stage in bytes: needed is the minimum,
// below which the stage refuses to start; peak is the expected use if have
// bytes are allowed.
func (o Options) Memory(c Corpus, workers int, have int64) (needed, peak int64) {
	const largest = 1 << 20 // bytes of the largest document in nearly all corpora
	tasks := max(1, c.TextBytes/sharding.RunBytes, c.Documents/sharding.RunDocuments)
	needed = stage.BaseMemory + min(int64(workers), tasks)*o.taskMemory(largest, c.Documents/tasks)
	if o.Dedup == DedupNone {
		return needed, needed
	}
	fixed := o.decideMemory(c.Documents)
	needed = max(needed, fixed+minBudget)
	sorted := min(c.Documents*sortedPerDocument, max(0, have-fixed)/2)
	return needed, max(needed, fixed+sorted)
}
