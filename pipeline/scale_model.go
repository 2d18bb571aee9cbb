package pipeline

import (
	"cmp"
	"math"

	"pretext/extract"
	"pretext/extract/wiki"
	"pretext/pipeline/stage"
	"pretext/sharding"
)

// Constants of the model for many machines. "Measured" means measured with this program
// on a 2-core Intel Xeon at about 2 GHz; docs/scale.md contains the commands.
const (
	// CPU seconds for extracting a byte of text, from a dump (the stage extract in
	// docs/benchmarks.md) and from books ("books to text" and "writing" there).
	dumpCPU = 72e-9
	bookCPU = 24e-9
	// CPU seconds for decompressing a .tar.gz of books, per byte of its text ("books in one
	// archive" in docs/benchmarks.md). One worker does this, others convert the books.
	archiveCPU = 5e-9
	// Bytes of memory that an archive takes when workers without a task help with it,
	// besides those of its own task: together with the process 247 MB, measured.
	archiveMemory = 48 << 20
	// CPU seconds of the stage examples (docs/benchmarks.md): per byte of text for
	// reading, splitting into sentences and WordPiece; and per byte of records for making
	// the records.
	tokenizeCPU = 22e-9
	recordsCPU  = 6.8e-9
	// CPU seconds for counting words, per byte of text; and for merging the counts in a
	// single process, per word in a task's counts.
	countCPU = 26e-9
	mergeCPU = 0.2e-6
	// Words in a task's counts per byte of the task's text. Each word takes 11 bytes.
	wordsPerTextByte = countsPerTextByte / 11
	// Seconds for training a vocabulary of 30,000 entries on merged counts: 0.35 s for
	// 130,000 words, ten times as much for the words of a large corpus.
	trainSeconds = 3.5
	// Bytes per second that a process hashes to check the tasks finished by an earlier
	// attempt.
	hashSpeed = 1.2e9

	// CPU seconds of the driver: per block of documents, for reading the block table,
	// assigning the block and writing it to the plan; per task, for passing it through
	// the runner; per task, for its part of the manifest. Measured by
	// internal/dev/bench/scale.
	planCPU     = 1.7e-6
	taskCPU     = 0.06e-3
	manifestCPU = 0.05e-3
	// Seconds of overhead for a job on a Flink cluster: a quarter of an empty run of four
	// stages, measured by internal/dev/clustertest.
	clusterJob = 1.5

	// Requests of a task to an object store, besides those for its content: the fence
	// after its commits; on a cluster also its plan and the side-car that would prove it.
	fenceGets   = 1
	clusterGets = 2
	// Requests of a stage, whatever its size: claims, lock, plan, manifest; and how many of
	// them follow one another. The driver lists the directory twice when the tasks are
	// done, a thousand names with a request.
	stageRequests = 45
	stageWaits    = 33
	listings      = 2
	listedNames   = 1000
	// Requests of a worker process: it checks the plan, lists the directory, reads the table
	// of plans and the vocabulary, and looks at the end what others do.
	workerRequests = 8
	// Requests for a small source file: a task reads its beginning and the rest, the driver
	// its beginning and its end.
	fileGets = 2
	// Requests that read the driver's sample of the text: 8 MiB in blocks.
	sampleGets = 35
	// Bytes per second of one request to Amazon S3 (its guide of performance: 85 to 90 MB).
	streamSpeed = 85e6
	// Requests per second that Amazon S3 promises for each prefix of names: GET and HEAD;
	// PUT, POST, DELETE and LIST (Amazon S3 User Guide, "Best practices design patterns").
	// A stage's directory is one prefix.
	prefixGets = 5500
	prefixPuts = 3500
	// Bytes of text in a task that counts words.
	countTask = countTaskBytes
)

// A scaleStage describes the work of one stage of a run.
type scaleStage struct {
	Name    string
	Tasks   int
	CPU     float64 // CPU seconds per task
	Read    float64 // bytes read per task
	Written float64 // bytes written per task
	Gets    float64 // requests to an object store that read, per task, one after the other
	Puts    float64 // requests that write
	Files   float64 // files in the directory, per task
	Driver  float64 // requests of the driver, besides those of every stage
	Waits   float64 // those for which the driver waits one after the other
	Serial  float64 // seconds in a single process, before and after the tasks
	Memory  int64   // bytes of memory per task
	Scratch float64 // bytes of unnamed files per task

	// Archives are the archives of books, each of which the cores of one machine share. For
	// the balance of work they are divided into Tasks as if others could share them, too.
	Archives []scaleArchive
}

// A scaleArchive describes the work of reading an archive of books.
type scaleArchive struct {
	Tasks  int     // number of Tasks into which it is divided
	Serial float64 // CPU seconds for decompressing it, which one core does
	Shared float64 // CPU seconds for converting its books
	Bytes  float64 // bytes read and written
}

// scaleStages returns the work of all stages of the run p. It does not depend on the
// number of machines.
func (c PlanConfig) scaleStages(p *Plan) []scaleStage {
	text, o := float64(p.TextBytes), c.Run.Examples
	documents := float64(p.Disk.Documents)
	blocks := p.blocks()
	extract := c.scaleExtract(p)

	tables := extract.tasks() // documents files, whose tables a driver reads
	sample := math.Min(sampleGets, blocks)
	waits := tables/sharding.TablesAtOnce + sample
	counts := scaleStage{Name: "vocab", Tasks: 1, Memory: taskMemory}
	if !c.Run.given() {
		counts.Tasks = max(1, int(text/countTask))
		n := float64(counts.Tasks)
		counts.CPU, counts.Read, counts.Written = text*countCPU/n, documents/n, float64(p.Disk.Vocab)/n
		each := math.Max(1, extract.tasks()/n) // documents files that a task reads
		counts.Gets = fenceGets + each*readGets(counts.Read/each)
		counts.Puts, counts.Files = 2, 2 // words, side-car
		counts.Driver, counts.Waits = tables+sample+n*readGets(counts.Written), waits+n/opensAtOnce
		counts.Serial = blocks*planCPU + n*(taskCPU+manifestCPU) + text*wordsPerTextByte*mergeCPU + trainSeconds
	}

	shards := float64(p.Shards)
	examples := scaleStage{Name: "examples", Tasks: p.Shards, Memory: p.shardMemory(c)}
	read := text * cmp.Or(c.passes, 1) // text of all passes, with a mix
	examples.CPU = (read*tokenizeCPU + float64(p.Records)*recordBytes(o, read/1e6*tokensPerMB/max(1, float64(p.Records)))*recordsCPU) / shards
	examples.Read, examples.Written = documents/shards, float64(p.Disk.Shards)/shards
	examples.Scratch = float64(p.Disk.Scratch) / float64(min(max(1, c.Workers), p.Shards))
	// A run of neighbouring blocks takes one request. Of two neighbours, one in shards is
	// in the same shard.
	examples.Gets = fenceGets + math.Max(1, blocks/shards*(1-1/shards))
	examples.Puts, examples.Files = filePuts(examples.Written)+2, 3 // records, index, side-car
	examples.Driver, examples.Waits = tables+sample, waits
	examples.Serial = blocks*planCPU + shards*(taskCPU+manifestCPU)
	return []scaleStage{extract, counts, examples}
}

// scaleExtract returns the work of the stage extract.
func (c PlanConfig) scaleExtract(p *Plan) scaleStage {
	stage := scaleStage{Name: "extract", Memory: extractTaskMemory}
	documents := float64(p.Disk.Documents) / math.Max(1, float64(p.TextBytes)) // bytes per byte of text
	var source, cpu, gets, puts float64
	for _, s := range p.Sources {
		text, bytes, tasks := float64(s.TextBytes), float64(s.Bytes), max(1, len(wiki.Ranges(s.Bytes)))
		stage.Tasks += tasks
		files := float64(tasks) // documents files
		source += bytes
		switch {
		case s.archive:
			a := scaleArchive{Tasks: tasks, Serial: text * archiveCPU, Shared: text * bookCPU, Bytes: bytes + text*documents}
			stage.Archives = append(stage.Archives, a)
			cpu += a.Serial + a.Shared
			files = 1
		case s.Kind != KindWiki:
			cpu += text * bookCPU
		default:
			cpu += text * dumpCPU
		}
		gets += files*fenceGets + math.Max(files*readGets(bytes/files), fileGets*float64(s.Files))
		if s.Files > 1 {
			stage.Driver += fileGets * float64(s.Files)
			stage.Waits += fileGets * float64(s.Files) / booksAtOnce
		}
		puts += files * (filePuts(text*documents/files) + 3) // documents, rejects, IDs, side-car
	}
	n := stage.tasks()
	stage.CPU, stage.Read, stage.Written = cpu/n, source/n, float64(p.Disk.Documents)/n
	stage.Gets, stage.Puts, stage.Files = gets/n, puts/n, 4
	stage.Serial = n * (taskCPU + manifestCPU)
	return stage
}

// blocks returns the number of blocks of documents.
func (p *Plan) blocks() (n float64) {
	for _, s := range p.Sources {
		n += math.Ceil(float64(s.TextBytes) / float64(extract.BlockBytes(s.Bytes)))
	}
	return n
}

func (s scaleStage) tasks() float64 { return float64(s.Tasks) }

// requests returns the requests of a task on a cluster.
func (s scaleStage) requests() float64 { return s.Gets + clusterGets + s.Puts }

// limit returns the least time of tasks by the limits of the store, in seconds.
func (s scaleStage) limit(tasks int) float64 {
	return float64(tasks) * max((s.Gets+clusterGets)/prefixGets, s.Puts/prefixPuts)
}

// readGets returns the requests that read so many bytes in order: windows of 8 MiB that
// double up to 64 MiB, see package store.
func readGets(bytes float64) (n float64) {
	for window := float64(8 << 20); bytes > 0; window = min(2*window, 64<<20) {
		bytes -= window
		n++
	}
	return n
}

// filePuts returns the requests that write a file of so many bytes: one, or parts of 8 MiB,
// which need a beginning, an end and a note of the upload, which is removed.
func filePuts(bytes float64) float64 {
	const part = 8 << 20
	if bytes <= part {
		return 1
	}
	return math.Ceil(bytes/part) + 4
}

// shardMemory returns the memory, in bytes, of a task that makes a shard.
func (p *Plan) shardMemory(c PlanConfig) int64 {
	perByte := int64(textPerByte)
	if c.Run.Tokenizer != "" {
		perByte *= 2
	}
	return taskMemory + maxScratch + int64(float64(p.TextBytes)*cmp.Or(c.passes, 1))/int64(p.Shards)*perByte + 3<<20
}

// memory returns the memory, in bytes, of a process that runs workers tasks of the stage
// concurrently. Workers without a task help with an archive.
func (s scaleStage) memory(workers int) int64 {
	tasks := s.Tasks
	for _, a := range s.Archives {
		tasks -= a.Tasks - 1
	}
	memory := stage.BaseMemory + int64(min(workers, tasks))*s.Memory
	if workers > tasks && len(s.Archives) > 0 {
		memory += archiveMemory
	}
	return memory
}
