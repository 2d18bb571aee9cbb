package command

import "pretext/cmd/internal/cli"

// flagGroups are the headings of flags in help texts and manual pages, in the order
// in which users decide about them.
var flagGroups = []cli.Group{
	{Heading: "Sources", Flags: []string{"wiki-dump", "wiki-html", "books", "text", "text-field", "language", "lines-per-document", "column"}},
	{Heading: "Downloaded sources", Flags: []string{"preset", "wiki", "gutenberg", "gutenberg-limit", "gutenberg-ids", "url", "sha256", "contact", "offline"}},
	{Heading: "Output", Flags: []string{"out", "overwrite", "shards", "compression", "documents-level", "eval-fraction", "split-seed", "to", "split", "format"}},
	{Heading: "Vocabulary", Flags: []string{"vocab", "tokenizer", "model", "vocab-size", "limit-alphabet", "do-lower-case", "tokenizer-profile"}},
	{Heading: "Examples", Flags: []string{"max-seq-length", "max-predictions-per-seq", "masked-lm-prob", "dupe-factor", "short-seq-prob",
		"random-seed", "sentence-splitter"}},
	{Heading: "Recipes", Flags: []string{"recipe", "do-whole-word-mask", "span-mask", "mask-token-prob", "random-token-prob", "cross-documents", "nsp-negatives", "pack-slack", "length-bins"}},
	{Heading: "Mix", Flags: []string{"weight", "epochs", "language-alpha"}},
	{Heading: "Text of wikis", Flags: []string{"namespaces", "min-characters", "headings", "lists", "back-matter", "keep-disambiguations", "code", "math", "templates", "expand-templates", "max-holes"}},
	{Heading: "Text of books", Flags: []string{"chapters", "keep-boilerplate", "keep-lines"}},
	{Heading: "Filters", Flags: []string{"dedup", "dedup-threshold", "dedup-containment", "quality", "rule", "min-words", "min-script-share", "list-rules"}},
	{Heading: "Resources", Flags: []string{"workers", "memory", "temp-dir", "runner"}},
	{Heading: "With --runner flink", Flags: []string{"endpoint", "flink-rest", "parallelism", "worker-program", "worker-pool", "worker-secret", "worker-logs"}},
	{Heading: "Machines to plan for", Flags: []string{"machines", "machine-cores", "machine-network", "machine-disk", "store-latency", "simulation-seed"}},
	{Heading: "Connections", Flags: []string{"bwlimit", "max-conn", "timeout", "attempts", "book-pause", "wiki-layout", "multistream", "mirror", "allow-host", "allow-private"}},
	{Heading: "Templates", Flags: []string{"pairs", "min-uses", "min-explained"}},
	{Heading: "Reporting", Flags: []string{"max-rejects", "strict", "quiet", "json", "record-paths"}},
}
