package sharding

import (
	"fmt"
	"strconv"
	"strings"
)

// The two sides of the held-out split.
const (
	Train = "train"
	Eval  = "eval"
)

// Names of the files that a stage's folder holds beside its data.
const (
	ManifestName = "manifest.json" // written last; makes the folder valid
	PlanName     = "plan.json"     // the fence: what is being made
	RunName      = "run.json"      // who made it, when and how: nothing trusts it
	VocabName    = "vocab.txt"     // the vocabulary in use

	// TokenizerName is the tokenizer in use, where it is not a vocabulary of BERT.
	TokenizerName = "tokenizer.json"
)

// Suffixes of the files of a shard and of a documents file.
const (
	RecordSuffix    = ".tfrecord"
	GzipSuffix      = ".gz"
	IndexSuffix     = ".idx"
	SideCarSuffix   = ".json"
	DocumentsSuffix = ".jsonl.zst"
)

// A ShardName says which shard a file belongs to.
type ShardName struct {
	Split string // [Train] or [Eval]
	Index int    // from 0
	Count int
}

// String returns the name without any suffix: "train-00003-of-00010". Numbers
// have five digits, or more where five do not do.
func (n ShardName) String() string {
	return fmt.Sprintf("%s-%05d-of-%05d", n.Split, n.Index, n.Count)
}

// Records returns the name of the file of records.
func (n ShardName) Records(gzip bool) string {
	name := n.String() + RecordSuffix
	if gzip {
		name += GzipSuffix
	}
	return name
}

// Index and side-car lie beside the records under names that no pattern for
// records (*.tfrecord*) matches.

// IndexFile returns the name of the record index.
func (n ShardName) IndexFile() string { return n.String() + IndexSuffix }

// SideCar returns the name of the side-car.
func (n ShardName) SideCar() string { return n.String() + SideCarSuffix }

// ParseShardName reads the name of any file of a shard.
func ParseShardName(name string) (n ShardName, ok bool) {
	stem, _, _ := strings.Cut(name, ".")
	parts := strings.Split(stem, "-")
	if len(parts) != 4 || parts[2] != "of" || (parts[0] != Train && parts[0] != Eval) {
		return ShardName{}, false
	}
	index, err1 := strconv.Atoi(parts[1])
	count, err2 := strconv.Atoi(parts[3])
	n = ShardName{parts[0], index, count}
	return n, err1 == nil && err2 == nil && n.String() == stem && index < count
}

// TaskFile returns the name of the plan file of a task, in the folder "plan".
func TaskFile(index int) string { return fmt.Sprintf("%05d.json", index) }

// PlanFolder is the folder of task files below a stage's folder. SumsName is the
// list of their hashes in it, as sha256sum writes and checks it.
const (
	PlanFolder = "plan"
	SumsName   = "SHA256SUMS"
)

// IsRecords tells files of records, ours or anyone's, by their names, as their
// makers name them:
// create_pretraining_data.py's users (*.tfrecord), its README and TensorFlow's
// model garden (*.tf_record), its research models (*.record), and TensorFlow's
// own form of sharded names (part-00003-of-00500, as MLPerf's BERT data has).
func IsRecords(name string) bool {
	name = strings.TrimSuffix(strings.ToLower(name), GzipSuffix)
	stem, suffix := name, ""
	if dot := strings.LastIndexByte(name, '.'); dot >= 0 {
		stem, suffix = name[:dot], name[dot+1:]
	}
	switch strings.TrimSuffix(suffix, "s") {
	case "tfrecord", "tf_record", "record":
		return stem != ""
	}
	return isSharded(name)
}

// isSharded recognises a name that ends in -NNNNN-of-NNNNN.
func isSharded(name string) bool {
	name, count, ok1 := cutLast(name, "-of-")
	_, index, ok2 := cutLast(name, "-")
	return ok1 && ok2 && isNumber(count) && isNumber(index)
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

func isNumber(s string) bool {
	return len(s) >= 5 && strings.Trim(s, "0123456789") == ""
}
