package sharding

import (
	"context"
	"encoding/json"
	"fmt"

	"pretext/records"
)

// StageConvert is the stage in the manifest of a folder of shards in the format
// of another library.
const StageConvert = "convert"

// ConvertOptions are the options in the manifest of converted shards.
type ConvertOptions struct {
	Format               string `json:"format"`
	Split                string `json:"split,omitempty"` // the only split that was converted; "" for all
	MaxSeqLength         int    `json:"max_seq_length"`
	MaxPredictionsPerSeq int    `json:"max_predictions_per_seq"`

	Form records.Form `json:"form,omitempty"` // form of the examples; "" for pairs

	// Consumer is the name of the consumer whose columns the shards have; "" if they have
	// the columns of the format.
	Consumer string `json:"consumer,omitempty"`
	// Compression is one of the format's; "" for its default.
	Compression string `json:"compression,omitempty"`
	// Int is the type of integers; "" for int32, or the consumer's own.
	Int string `json:"int,omitempty"`

	// Bins are the largest numbers of tokens of the length bins of the files, if the rows of
	// all shards were divided so that the files of a bin have equally many, but for one; nil:
	// each shard has the rows of its records file, in the bins of the format.
	Bins []int `json:"bins,omitempty"`

	// VocabSize is the number of ids in the vocabulary, for formats whose files depend on
	// it; 0 for other formats, or if the size is unknown.
	VocabSize int `json:"vocab_size,omitempty"`

	// Examples are the options in the manifest of the input shards, unchanged. They are
	// absent if those shards have no manifest, and in folders of earlier versions.
	Examples json.RawMessage `json:"examples,omitempty"`
}

// Validate returns an error if the lengths are impossible for examples.
func (o ConvertOptions) Validate() error {
	if o.MaxSeqLength < 1 && !o.Form.Documents() || o.Form.Masks() && o.MaxPredictionsPerSeq < 1 {
		return fmt.Errorf("%w: %d tokens and %d predictions", ErrFormat, o.MaxSeqLength, o.MaxPredictionsPerSeq)
	}
	return nil
}

// ConvertBody is the Body of the side-car of a converted shard.
type ConvertBody struct {
	Rows  int64           `json:"rows"`
	Files []ConvertedFile `json:"files"` // in the order in which the rows are read
	// ValuesSHA256 is the hash of the converted values in a form that does not depend on
	// the format: the payloads that package records would write for these values.
	ValuesSHA256 string `json:"values_sha256"`
}

// A ConvertedFile is a file of a converted shard.
type ConvertedFile struct {
	Name string          `json:"name"`
	Info json.RawMessage `json:"info"` // the file's entry in the format's index; null if the format has none
}

// ReadConvertBody returns the Body of the side-car of a converted shard.
func ReadConvertBody(ctx context.Context, folder Folder, sideCar string) (body ConvertBody, err error) {
	err = readBody(ctx, folder, sideCar, func(raw []byte) error { return json.Unmarshal(raw, &body) })
	return body, err
}
