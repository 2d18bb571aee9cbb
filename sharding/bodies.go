package sharding

import (
	"context"
	"encoding/json"
	"fmt"

	"pretext/extract"
	"pretext/records/pretrain"
)

// DocumentsBody is the part of a side-car (the JSON file beside a data file)
// that is specific to documents files.
type DocumentsBody struct {
	SourceSHA256 string           `json:"source_sha256,omitempty"` // hash of the bytes of the dump that the task read
	Dropped      map[string]int64 `json:"dropped_templates,omitempty"`
	Slack        int64            `json:"dropped_slack,omitempty"` // upper bound of the error of each number in Dropped
	// Holes counts templates of the wiki Wiki that were dropped from sentences, by
	// name; HoleCount is their number in documents, which have about Sentences
	// sentences.
	Wiki      string                  `json:"wiki,omitempty"`
	Sentences int64                   `json:"sentences,omitempty"`
	HoleCount int64                   `json:"hole_count,omitempty"`
	Holes     map[string]TemplateHole `json:"holes,omitempty"`

	Notes  []string        `json:"notes,omitempty"`
	Blocks []extract.Block `json:"blocks"`
}

// A TemplateHole counts the uses of a template that left holes in sentences.
type TemplateHole struct {
	Uses  int64  `json:"uses"`
	First string `json:"first"` // title of the first page with one
}

// ShardBody is the part of a side-car (the JSON file beside a data file) that
// is specific to files of records.
type ShardBody struct {
	RandomSeed int64  `json:"random_seed"` // seed with which the shard's examples were made
	Split      string `json:"split"`
	Shard      int    `json:"shard"`
	Shards     int    `json:"shards"`
	// Tokens and Masked have an element for each record, in file order.
	Tokens []uint32 `json:"tokens"`           // number of tokens, with [CLS] and [SEP]
	Masked []uint16 `json:"masked"`           // number of predictions; null if the form has no masks
	Pieces []uint32 `json:"pieces,omitempty"` // number of pieces; only in the form packed

	// WithoutPunkt counts documents by language if sentences are split by punkt
	// and Punkt has no parameters for the language.
	WithoutPunkt map[string]int64 `json:"without_punkt,omitempty"`

	// Followed counts examples by the document of segment B, with
	// [pretrain.NegativesCorpus]. If the corpus has many documents, it counts only
	// some of them.
	Followed []pretrain.Followed `json:"followed,omitempty"`
}

// ReadShardBody reads the body of the side-car of a records file.
func ReadShardBody(ctx context.Context, folder Folder, name ShardName) (body ShardBody, err error) {
	err = readBody(ctx, folder, name.SideCar(), &body)
	return body, err
}

func readBody(ctx context.Context, folder Folder, sideCar string, body any) error {
	car, err := ReadSideCar(ctx, folder, sideCar)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(car.Body, body); err != nil {
		return fmt.Errorf("side-car %s in %s: %w: %v", sideCar, folder, ErrFormat, err)
	}
	return nil
}
