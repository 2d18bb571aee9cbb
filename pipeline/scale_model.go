package pipeline

import (
	"cmp"
	"math"

	"pretext/extract/wiki"
	"pretext/pipeline/stage"
)

// Constants of the model of many machines. "measured" means with this program on a
// 2-core Intel Xeon at about 2 GHz; docs/scale.md names the commands.
const (
	// CPU seconds per byte of text to extract it: from a dump (the stage extract in
	// docs/benchmarks.md), and from books ("books to text" and "writing" there).
	dumpCPU = 72e-9
	bookCPU = 24e-9
	// CPU seconds of the stage examples (docs/benchmarks.md): per byte of text for
	// reading, sentences and WordPiece, and per byte of records for making them.
	tokenizeCPU = 22e-9
	recordsCPU  = 6.8e-9
	// CPU seconds to count words, per byte of text; and to merge the counts in one
	// process, per word of a task's counts.
	countCPU = 26e-9
	mergeCPU = 0.2e-6
	// Words in a task's counts per byte of its text, 11 bytes each.
	wordsPerTextByte = countsPerTextByte / 11
	// Seconds to train a vocabulary of 30,000 entries on merged counts: 0.35 s
	// for 130,000 words, ten times as much for the words of a large corpus.
	trainSeconds = 3.5
	// Bytes per second at which a process hashes files, to prove tasks that an
	// earlier attempt finished.
	hashSpeed = 1.2e9

	// CPU seconds of the driver: per block of documents for reading its table,
	// assigning it and writing it to the plan; per task for passing it through the
	// runner; per task in the manifest. Measured by internal/dev/bench/scale.
	planCPU     = 2e-6
	taskCPU     = 0.1e-3
	manifestCPU = 0.06e-3
	// Fixed seconds of a job on a Flink cluster, measured with an empty one.
	clusterJob = 6.7

	// Requests of a task to an object store besides reading its blocks: plan, fences,
	// commits, side-cars.
	taskRequests = 24
	// Size of the largest block of documents, in bytes of text.
	blockText = 256 << 10
	// Bytes of text whose words one task counts.
	countTask = countTaskBytes
)

// A scaleStage is the work of one stage of a run.
type scaleStage struct {
	Name     string
	Tasks    int
	CPU      float64 // seconds for a task
	Read     float64 // bytes that a task reads
	Written  float64 // bytes that a task writes
	Requests float64 // to an object store, of a task, one after the other
	Serial   float64 // seconds before and after the tasks, in one process
	Memory   int64   // bytes of a task
	Scratch  float64 // bytes of unnamed files of a task
}

// scaleStages returns the work of the stages of the run p. It does not depend on the
// number of machines.
func (c PlanConfig) scaleStages(p *Plan) []scaleStage {
	text, o := float64(p.TextBytes), c.Run.Examples
	documents := float64(p.Disk.Documents)
	blocks := math.Ceil(text / blockText)
	extract := scaleStage{Name: "extract", Memory: extractTaskMemory}
	var source, cpu float64
	for _, s := range p.Sources {
		source += float64(s.Bytes)
		perByte := dumpCPU
		if s.Kind != KindWiki {
			perByte = bookCPU
		}
		cpu += float64(s.TextBytes) * perByte
		extract.Tasks += max(1, len(wiki.Ranges(s.Bytes)))
	}
	n := float64(extract.Tasks)
	extract.CPU, extract.Read, extract.Written = cpu/n, source/n, documents/n
	extract.Requests = taskRequests + extract.Read/sequentialRead
	extract.Serial = n * (taskCPU + manifestCPU)

	counts := scaleStage{Name: "vocab", Tasks: 1, Requests: taskRequests, Memory: taskMemory}
	if !c.Run.given() {
		counts.Tasks = max(1, int(text/countTask))
		n := float64(counts.Tasks)
		counts.CPU, counts.Read, counts.Written = text*countCPU/n, documents/n, float64(p.Disk.Vocab)/n
		counts.Requests += counts.Read / sequentialRead
		counts.Serial = blocks*planCPU + n*(taskCPU+manifestCPU) + text*wordsPerTextByte*mergeCPU + trainSeconds
	}

	shards := float64(p.Shards)
	examples := scaleStage{Name: "examples", Tasks: p.Shards, Memory: p.shardMemory(c)}
	read := text * cmp.Or(c.passes, 1) // by the mix
	examples.CPU = (read*tokenizeCPU + float64(p.Records)*recordBytes(o, read/1e6*tokensPerMB/max(1, float64(p.Records)))*recordsCPU) / shards
	examples.Read, examples.Written = documents/shards, float64(p.Disk.Shards)/shards
	examples.Scratch = float64(p.Disk.Scratch) / float64(min(max(1, c.Workers), p.Shards))
	files := min(blocks/shards, n)
	examples.Requests = taskRequests + files + blocks/shards // each file is opened, each block read
	examples.Serial = blocks*planCPU + shards*(taskCPU+manifestCPU)
	return []scaleStage{extract, counts, examples}
}

// sequentialRead is the number of bytes that one request reads when a file is read
// from start to end.
const sequentialRead = 4 << 20

// shardMemory returns the memory in bytes of a task that makes a shard.
func (p *Plan) shardMemory(c PlanConfig) int64 {
	perByte := int64(textPerByte)
	if c.Run.Tokenizer != "" {
		perByte *= 2
	}
	return taskMemory + maxScratch + int64(float64(p.TextBytes)*cmp.Or(c.passes, 1))/int64(p.Shards)*perByte + 3<<20
}

// memory returns the memory in bytes of a process that runs several tasks of a stage
// at once.
func (s scaleStage) memory(workers int) int64 {
	return stage.BaseMemory + int64(min(workers, s.Tasks))*s.Memory
}
