package pipeline

import (
	"cmp"

	"pretext/extract/wiki"
	"pretext/internal/store"
	"pretext/pipeline/stage"
)

// openSpool creates the temporary file that keeps the pages of dumps between the two
// stages. It disappears when it is closed. There is no spool if the directory is in
// object storage and no local one is given, if the job runs on a cluster, or if the
// disk has too little room. Then dumps are decoded twice.
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
		return func() {} // the stage will report what is wrong with the directory
	}
	c.spool = wiki.NewSpool(file, bytes > spoolPacked)
	return func() { file.Close() }
}

// spoolPacked is the total size of compressed dumps, in bytes, above which their
// spool is compressed. A smaller spool stays in the page cache of most machines.
const spoolPacked = 512 << 20

// spoolSpace returns the expected size of the spool for compressed dumps of the given
// size, and the free space that is required to make one. The documents need at most
// as much space as the dumps.
func spoolSpace(dumps int64) (size, room int64) {
	if dumps > spoolPacked {
		return dumps * 18 / 10, 4 * dumps
	}
	return 4 * dumps, 8 * dumps
}
