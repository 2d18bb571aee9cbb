package sharding

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pretext/tokenize/hf"
)

// The two splits.
const (
	Train = "train"
	Eval  = "eval"
)

// ValFolder is the folder of the eval split for the loaders of consumers that call it so.
const ValFolder = "val"

// Names of the files in a stage's folder besides its data.
const (
	ManifestName = "manifest.json" // written last; makes the folder valid
	PlanName     = "plan.json"     // tasks of the stage; a worker with another plan must not write to the folder
	RunName      = "run.json"      // who ran the stage, when and how; readers do not depend on it
	VocabName    = "vocab.txt"     // the vocabulary used

	// TokenizerName is the tokenizer used. Beside a vocab.txt it is made from that, for
	// the library transformers.
	TokenizerName = hf.FileName

	// Further files by which the library transformers loads the folder of a vocab.txt or
	// tokenizer.json.
	TokenizerConfigName = hf.ConfigName
	SpecialTokensName   = hf.SpecialsName

	// ReaderName is a file for the Python package datasets. It says which files of a
	// folder are data, so that load_dataset does not read side-cars. Manifests do not list
	// it, because copying with * leaves out hidden files.
	ReaderName = ".huggingface.yaml"
)

// Suffixes of shard files and documents files.
const (
	RecordSuffix    = ".tfrecord"
	gzipSuffix      = ".gz"
	indexSuffix     = ".idx"
	SideCarSuffix   = ".json"
	DocumentsSuffix = ".jsonl.zst"
)

// importedReader is the content of [ReaderName] for a folder of shards with imported
// documents, which are what load_dataset can read there. A card names them in the same way.
const importedReader = "configs:\n- config_name: " + ImportedFolder + "\n  data_files:\n  - split: train\n    path: " + ImportedFolder + "/*" + DocumentsSuffix + "\n"

// RecordsReader returns the content of [ReaderName] for a folder of TFRecord shards, with
// imported documents or without. load_dataset cannot read TFRecord, and says so.
func RecordsReader(splits []string, imported bool) []byte {
	if imported {
		return []byte(importedReader)
	}
	return ReaderFile(splits, RecordSuffix+"*", "that datasets cannot read", nil)
}

// ReaderFile returns the content of [ReaderName] for a folder whose shards have the splits.
// suffix is what follows the names of shards, as a pattern. content identifies the content
// of the files: the cache of datasets knows a folder by its name and this text alone, and
// would give the rows of another one of the same name. A split with a list of files has
// these instead of all.
func ReaderFile(splits []string, suffix, content string, listed map[string][]string) []byte {
	b := fmt.Appendf(nil, "configs:\n- config_name: default\n  description: content %s\n  data_files:\n", content)
	for _, split := range splits {
		names := listed[split]
		if len(names) == 0 {
			b = fmt.Appendf(b, "  - split: %s\n    path: \"%s-*%s\"\n", split, split, suffix)
			continue
		}
		b = fmt.Appendf(b, "  - split: %s\n    path:\n", split)
		for _, name := range names {
			b = fmt.Appendf(b, "    - %q\n", name)
		}
	}
	return b
}

// A ShardName identifies a shard.
type ShardName struct {
	Split string // [Train] or [Eval]
	Index int    // from 0
	Count int
	Bin   int // length bin of the examples in the file; 0 without bins
}

// String returns the file name without a suffix: "train-00003-of-00010", or
// "train_128-00003-of-00010" for examples in a length bin. The numbers of shards have
// at least five digits.
func (n ShardName) String() string {
	split := n.Split
	if n.Bin != 0 {
		split += binMark + strconv.Itoa(n.Bin)
	}
	return fmt.Sprintf("%s-%05d-of-%05d", split, n.Index, n.Count)
}

// binMark separates the split from the length bin. The pattern train-* matches no file of
// a length bin, so that a reader does not mix bins by mistake.
const binMark = "_"

// Records returns the name of the records file.
func (n ShardName) Records(gzip bool) string {
	name := n.String() + RecordSuffix
	if gzip {
		name += gzipSuffix
	}
	return name
}

// The names of index and side-car do not match the pattern *.tfrecord*, so that programs
// that read this pattern see only records.

// IndexFile returns the name of the record index.
func (n ShardName) IndexFile() string { return n.String() + indexSuffix }

// SideCar returns the name of the side-car.
func (n ShardName) SideCar() string { return n.String() + SideCarSuffix }

// ParseShardName parses the name of any file of a shard. For other names ok is
// false.
func ParseShardName(name string) (n ShardName, ok bool) {
	stem, _, _ := strings.Cut(name, ".")
	parts := strings.Split(stem, "-")
	split, length, binned := strings.Cut(parts[0], binMark)
	if len(parts) != 4 || parts[2] != "of" || (split != Train && split != Eval) {
		return ShardName{}, false
	}
	bin := 0
	if binned {
		bin, _ = strconv.Atoi(length) // the comparison with String rejects names with no valid number
	}
	index, err1 := strconv.Atoi(parts[1])
	count, err2 := strconv.Atoi(parts[3])
	n = ShardName{split, index, count, bin}
	return n, err1 == nil && err2 == nil && n.String() == stem && index < count
}

// PlanFolder is the name of the folder in a stage's folder that holds the plans of
// its tasks, in one file named TasksName.
const (
	PlanFolder = "plan"
	TasksName  = "tasks.bin"
)

// OldTaskFile returns the file name in [PlanFolder] for the plan of the task with this
// index, in folders of earlier versions.
func OldTaskFile(index int) string { return fmt.Sprintf("%05d.json", index) }

// SumsName is the name of the list of hashes of the files in [PlanFolder], which
// sha256sum can check.
const SumsName = "SHA256SUMS"

// IsRecords reports whether a file name is that of a TFRecord file, written by
// pretext or by others. It accepts the names in common use:
//
//   - *.tfrecord: pretext, and most users of create_pretraining_data.py
//   - *.tf_record: the README of google-research/bert and TensorFlow's model
//     garden
//   - *.record: TensorFlow's research models
//   - *-00003-of-00500: TensorFlow's sharded names, as in MLPerf's BERT data
func IsRecords(name string) bool {
	name = strings.TrimSuffix(strings.ToLower(name), gzipSuffix)
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

// isSharded reports whether a name ends in -NNNNN-of-NNNNN.
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

// Prefixes of file names that tasks write, other than shards.
const (
	DocumentsPrefix  = "documents-"
	CountsPrefix     = "counts-"
	LinesPrefix      = "lines-"
	SignaturesPrefix = "signatures-"
	SamplesPrefix    = "samples-"
	CandidatesPrefix = "candidates-"
	SimilarPrefix    = "similar-"
	DecisionsPrefix  = "decisions-"
	tokensPrefix     = "tokens-"   // token counts for a mix
	manifestPrefix   = "manifest-" // parts of a manifest of many files
)

var taskPrefixes = []string{DocumentsPrefix, CountsPrefix, LinesPrefix, SignaturesPrefix, SamplesPrefix, CandidatesPrefix, SimilarPrefix, DecisionsPrefix, tokensPrefix, manifestPrefix}

// IsStageFile reports whether stages write files of this name.
func IsStageFile(name string) bool {
	if _, ok := ParseShardName(name); ok {
		return true
	}
	switch name {
	case ManifestName, PlanName, RunName, VocabName, TokenizerName, TokenizerConfigName, SpecialTokensName, ReaderName:
		return true
	}
	stem, isTask := strings.CutSuffix(name, SideCarSuffix)
	isTask = isTask && strings.Trim(stem, "0123456789") == ""
	return isTask || slices.ContainsFunc(taskPrefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}
