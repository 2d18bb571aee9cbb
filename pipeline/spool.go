package pipeline

import (
	"cmp"

	"pretext/extract/wiki"
	"pretext/internal/store"
	"pretext/pipeline/stage"
)

// openSpool creates the spool: a temporary file that stores the pages of dumps between
// the stages templates and extract, so that dumps need not be decoded twice. It
// disappears when it is closed. openSpool creates none if the only directory is in object
// storage, if the job runs on a cluster, or if the disk has too little space.
func (c *ExtractConfig) openSpool(folder store.Folder, r stage.Runner, plan *sourcePlan, dumps []int) (close func()) {
	var bytes int64
	for _, k := range dumps {
		if s := plan.sources[k]; s.Head.Compression != wiki.CompressionNone {
			bytes += s.Bytes
		}
	}
	free, ok := freeSpace(cmp.Or(c.Temp, c.Out))
	if _, room := spoolSpace(bytes); bytes == 0 || r.Name == stage.Flink || !ok || free < room {
		return func() {}
	}
	file, err := store.NewScratch(folder, c.Temp)
	if err != nil {
		return func() {} // the stage will report the problem with the directory
	}
	c.spool = wiki.NewSpool(file, bytes > spoolPacked)
	return func() { file.Close() }
}

// spoolPacked is a limit for the total size of compressed dumps, in bytes. For larger
// dumps the spool is compressed. A smaller spool fits into the page cache of most
// machines.
const spoolPacked = 512 << 20

// spoolSpace returns the expected size of the spool for compressed dumps with a total
// size of dumps bytes, and the free space required to create the spool. The required
// space includes the documents, which need at most as much space as the dumps.
func spoolSpace(dumps int64) (size, room int64) {
	if dumps > spoolPacked {
		return dumps * 18 / 10, 4 * dumps
	}
	return 4 * dumps, 8 * dumps
}
