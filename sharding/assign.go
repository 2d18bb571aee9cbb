package sharding

import "fmt"

// An Assignment says which blocks of documents each shard is made from.
type Assignment struct {
	Locations []string // of the documents folders
	Inputs    []Input
	Tasks     []ShardTask // of shard 0, 1, …
	TextBytes int64       // of all shards together
}

// Assign assigns the blocks of the documents to o.Shards shards, or to the
// default number if that is 0.
func Assign(inputs []DocumentsInput, o ExamplesOptions) (*Assignment, error) {
	a := new(Assignment)
	var refs []BlockRef
	type place struct{ folder, file int }
	var places []place // of the files, in source order
	for i, in := range inputs {
		a.Locations = append(a.Locations, in.Location)
		a.Inputs = append(a.Inputs, in.Input)
		for j, f := range in.Files {
			for k, b := range f.Blocks {
				refs = append(refs, BlockRef{File: len(places), Block: k, Bytes: b.TextBytes})
				a.TextBytes += b.TextBytes
			}
			places = append(places, place{i, j})
		}
	}
	if len(refs) == 0 {
		return nil, fmt.Errorf("%w in the input", ErrNoDocuments)
	}
	if o.Shards == 0 {
		o.Shards = min(DefaultShards(a.TextBytes), len(refs))
	}
	shards, err := assignBlocks(refs, o.Shards, uint64(o.RandomSeed))
	if err != nil {
		return nil, err
	}
	for _, shard := range shards {
		var blocks BlockList
		last := -1
		for _, ref := range shard {
			at := places[ref.File]
			file := inputs[at.folder].Files[at.file]
			if ref.File != last {
				blocks = append(blocks, FileBlocks{Folder: at.folder, Name: file.Name})
				last = ref.File
			}
			f := &blocks[len(blocks)-1]
			f.Blocks = append(f.Blocks, file.Blocks[ref.Block])
		}
		a.Tasks = append(a.Tasks, ShardTask{blocks})
	}
	return a, nil
}
