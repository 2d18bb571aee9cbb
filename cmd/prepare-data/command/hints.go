package command

import (
	"github.com/spf13/pflag"

	"pretext/cmd/internal/cli"
	"pretext/records/columns/formats"
)

// normalize returns the flag's name in this program: hyphens for underscores, and
// --vocab for create_pretraining_data.py's --vocab_file.
func normalize(fs *pflag.FlagSet, name string) pflag.NormalizedName {
	n := cli.Normalize(fs, name)
	if n == "vocab-file" {
		return "vocab"
	}
	return n
}

// hints returns the flags and commands of other tools (create_pretraining_data.py,
// scripts of Hugging Face and NVIDIA, WikiExtractor) with their names in this
// program.
func hints() cli.Hints {
	h := cli.Hints{
		Flags: map[string]string{
			"input-file":  "give --text FILE to prepare-data examples, once for each file, or --text 'PATTERN'",
			"output-file": "give --out DIR: shards are written there as train-00000-of-….tfrecord",
			"input":       "name the kind of source: --wiki-dump FILE, --books PATH, or DOCUMENTS without a flag",
			"json":        "this command has no JSON output",
			"format":      "--to", "dry-run": "prepare-data plan shows what run would read, write and need",
			"records":       "prepare-data head PATH --json -n 0 writes every example",
			"cased":         "--do-lower-case=false",
			"uncased":       "--do-lower-case",
			"strip-accents": "--do-lower-case, which also drops accents",
		},
		Commands: map[string]string{
			"train":   "train-bert train trains on what prepare-data writes",
			"predict": "train-bert predict runs a model", "finetune": "train-bert finetune does that",
		},
	}
	h.Same(sameFlags(), sameCommands())
	return h
}

// sameFlags maps flags of this program to their names in other tools.
func sameFlags() map[string][]string {
	return map[string][]string{
		"out":             {"output", "output-dir", "output-folder", "output-prefix", "save-dir", "dest"},
		"wiki-dump":       {"dump", "wikipedia", "wiki-file", "xml"},
		"books":           {"bookcorpus", "book", "books-dir"},
		"workers":         {"processes", "num-processes", "num-workers", "num-proc", "nproc", "jobs", "threads", "n-processes"},
		"overwrite":       {"force", "overwrite-output-dir"},
		"random-seed":     {"seed"},
		"language":        {"lang"},
		"max-seq-length":  {"max-length", "max-len", "seq-length", "seq-len", "sequence-length", "max-sequence-length"},
		"masked-lm-prob":  {"mlm-prob", "mlm-probability", "mask-prob"},
		"dupe-factor":     {"duplicates", "dup-factor", "num-duplicates"},
		"eval-fraction":   {"test-size", "valid-size", "validation-split", "val-fraction", "eval-ratio", "test-fraction", "dev-fraction"},
		"shards":          {"num-shards", "n-shards", "num-output-files", "n-output-files"},
		"do-lower-case":   {"lowercase", "lower-case", "lower"},
		"tokenizer":       {"tokenizer-name", "tokenizer-file"},
		"vocab":           {"vocabulary", "bert-vocab", "vocab-path"},
		"text-field":      {"json-keys", "json-key", "text-column", "text-key"},
		"max-rejects":     {"max-errors"},
		"documents-level": {"compression-level"},
	}
}

// sameCommands maps commands to other words for what they do.
func sameCommands() map[string][]string {
	return map[string][]string{
		"run":       {"prepare", "process", "preprocess", "build", "make", "all", "pipeline", "start"},
		"extract":   {"wikiextractor", "documents", "parse", "unpack"},
		"vocab":     {"vocabulary", "tokenizer", "train-vocab", "train-tokenizer", "learn"},
		"examples":  {"create", "generate", "shards", "shard", "pretrain", "create-pretraining-data", "create_pretraining_data"},
		"filter":    {"clean", "dedup", "deduplicate"},
		"convert":   formats.Names(),
		"verify":    {"check", "validate", "test"},
		"head":      {"show", "view", "cat", "print", "peek", "sample"},
		"inspect":   {"info", "describe", "ls", "list", "status"},
		"stats":     {"statistics", "count", "summary"},
		"diff":      {"compare", "cmp"},
		"download":  {"get", "fetch", "wget"},
		"sentences": {"split", "segment"},
		"tokenize":  {"tokenise", "encode"},
	}
}
