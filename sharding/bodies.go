package sharding

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"pretext/extract"
	"pretext/extract/wiki/facts"
	"pretext/records/pretrain"
)

// DocumentsBody is the part of a side-car (the JSON file beside a data file)
// that is specific to documents files.
type DocumentsBody struct {
	SourceSHA256 string `json:"source_sha256,omitempty"` // hash of the bytes of the dump that the task read
	facts.Lost          // templates dropped from the pages of a wiki

	Notes  []string        `json:"notes,omitempty"`
	Blocks []extract.Block `json:"blocks"`
}

// ShardBody is the part of a side-car (the JSON file beside a data file) that
// is specific to files of records.
type ShardBody struct {
	RandomSeed int64  `json:"random_seed"` // seed for the shard's examples
	Split      string `json:"split"`
	Shard      int    `json:"shard"`
	Shards     int    `json:"shards"`
	// Tokens and Masked have an element for each record, in file order.
	Tokens []uint32 `json:"tokens"`           // number of tokens, with [CLS] and [SEP]
	Masked []uint16 `json:"masked"`           // number of predictions; null if the form has no masks
	Pieces []uint32 `json:"pieces,omitempty"` // number of pieces; only in the form packed

	// WithoutPunkt is the number of documents in each language for which Punkt has no
	// parameters. It is set only if punkt splits the sentences.
	WithoutPunkt map[string]int64 `json:"without_punkt,omitempty"`

	// Followed counts examples by the document of their segment B, with
	// [pretrain.NegativesCorpus]. In a large corpus, only a sample of the documents is
	// counted.
	Followed []pretrain.Followed `json:"followed,omitempty"`
}

// compact returns the body as JSON without white space, as json.Marshal does, in a fifth
// of the time: a shard has hundreds of thousands of numbers.
func (b *ShardBody) compact() []byte {
	first := b.part(func(c *ShardBody) {
		c.RandomSeed, c.Split, c.Shard, c.Shards = b.RandomSeed, b.Split, b.Shard, b.Shards
	})
	last := b.part(func(c *ShardBody) { c.WithoutPunkt, c.Followed = b.WithoutPunkt, b.Followed })
	const tables = `,"tokens":null,"masked":null` // of a body without records
	head, _, _ := bytes.Cut(first, []byte(tables))
	_, tail, _ := bytes.Cut(last, []byte(tables))
	out := make([]byte, 0, len(first)+len(last)+8*len(b.Tokens)+4*len(b.Masked)+8*len(b.Pieces))
	out = appendNumbers(append(append(out, head...), `,"tokens":`...), b.Tokens)
	out = appendNumbers(append(out, `,"masked":`...), b.Masked)
	if len(b.Pieces) > 0 {
		out = appendNumbers(append(out, `,"pieces":`...), b.Pieces)
	}
	return append(out, tail...)
}

// part returns a body with some fields as JSON.
func (*ShardBody) part(set func(*ShardBody)) []byte {
	var c ShardBody
	set(&c)
	raw, err := json.Marshal(c)
	if err != nil {
		panic("BUG: cannot be marshalled: " + err.Error())
	}
	return raw
}

// appendNumbers appends an array as JSON to dst.
func appendNumbers[T uint16 | uint32](dst []byte, numbers []T) []byte {
	if numbers == nil {
		return append(dst, "null"...)
	}
	dst = append(dst, '[')
	for i, n := range numbers {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendUint(dst, uint64(n), 10)
	}
	return append(dst, ']')
}

// ReadShardBody reads the body of the side-car of a records file.
func ReadShardBody(ctx context.Context, folder Folder, name ShardName) (body ShardBody, err error) {
	err = readBody(ctx, folder, name.SideCar(), body.parse)
	return body, err
}

func readBody(ctx context.Context, folder Folder, sideCar string, parse func([]byte) error) error {
	car, err := ReadSideCar(ctx, folder, sideCar)
	if err != nil {
		return err
	}
	if err := parse(car.Body); err != nil {
		return fmt.Errorf("side-car %s in %s: %w: %v", sideCar, folder, ErrFormat, err)
	}
	return nil
}
