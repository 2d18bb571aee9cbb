package pipeline

import (
	"fmt"

	"pretext/sharding"
)

// A shardPlan is what the examples stage will do.
type shardPlan struct {
	options   ExamplesOptions // with the number of shards resolved
	locations []string
	inputs    []sharding.Input
	tasks     []any
	bytes     int64
	sizes     []taskSize // of the tasks
}

// planShards deals the blocks of the documents to shards.
func planShards(inputs []documentsInput, o ExamplesOptions) (*shardPlan, error) {
	p := &shardPlan{options: o}
	var refs []sharding.BlockRef
	type place struct{ folder, file int }
	var places []place // of the files, in source order
	for i, in := range inputs {
		p.locations = append(p.locations, in.location)
		p.inputs = append(p.inputs, in.input)
		for j, f := range in.files {
			for k, b := range f.blocks {
				refs = append(refs, sharding.BlockRef{File: len(places), Block: k, Bytes: b.TextBytes})
				p.bytes += b.TextBytes
			}
			places = append(places, place{i, j})
		}
	}
	if len(refs) == 0 {
		return nil, fmt.Errorf("%w in the input", ErrNoDocuments)
	}
	if p.options.Shards == 0 {
		p.options.Shards = min(sharding.DefaultShards(p.bytes), len(refs))
	}
	dealt, err := sharding.Plan(refs, p.options.Shards, uint64(o.RandomSeed))
	if err != nil {
		return nil, err
	}
	for _, shard := range dealt {
		var blocks blockList
		last := -1
		for _, ref := range shard {
			at := places[ref.File]
			file := inputs[at.folder].files[at.file]
			if ref.File != last {
				blocks = append(blocks, fileBlocks{Folder: at.folder, Name: file.name})
				last = ref.File
			}
			f := &blocks[len(blocks)-1]
			f.Blocks = append(f.Blocks, file.blocks[ref.Block])
		}
		p.sizes = append(p.sizes, blocks.size())
		p.tasks = append(p.tasks, examplesTask{blocks})
	}
	return p, nil
}
