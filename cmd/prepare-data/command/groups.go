package command

import "pretext/cmd/internal/cli"

// flagGroups are the headings of flags and settings in help texts and manual pages, in the
// order in which users usually decide about them.
var flagGroups = []cli.Group{
	{Heading: "Sources", Flags: []string{"wiki-dump", "wiki-html", "books", "text", "text-field", "language"}, Settings: []string{"lines-per-document", "column"}},
	{Heading: "Downloaded sources", Flags: []string{"preset", "wiki", "gutenberg", "gutenberg-limit", "gutenberg-ids", "url", "sha256", "contact", "offline"},
		Settings: []string{"wiki-layout", "multistream"}},
	{Heading: "Output", Flags: []string{"out", "overwrite", "shards", "compression", "eval-fraction", "to", "for", "int", "split", "format"}, Settings: []string{"split-seed", "documents-level"}},
	{Heading: "Vocabulary", Flags: []string{"vocab", "tokenizer", "model", "vocab-size", "limit-alphabet", "do-lower-case", "tokenizer-profile"}, Settings: []string{"limit-alphabet@run,plan", "tokenizer-profile@run,plan"}},
	{Heading: "Examples", Flags: []string{"max-seq-length", "max-predictions-per-seq", "masked-lm-prob", "dupe-factor", "short-seq-prob",
		"random-seed", "sentence-splitter"}},
	{Heading: "Recipes", Flags: []string{"recipe", "do-whole-word-mask"},
		Settings: []string{"span-mask", "mask-token-prob", "random-token-prob", "cross-documents", "nsp-negatives", "pack-slack", "length-bins"}},
	{Heading: "Mix", Flags: []string{"weight", "epochs"}, Settings: []string{"language-alpha"}},
	{Heading: "Text of wikis", Flags: []string{"min-characters", "templates"},
		Settings: []string{"namespaces", "headings", "lists", "back-matter", "keep-disambiguations", "code", "math", "expand-templates", "max-holes"}},
	{Heading: "Text of books", Settings: []string{"chapters", "keep-boilerplate", "keep-lines", "encoding"}},
	{Heading: "Filters", Flags: []string{"dedup", "dedup-threshold", "dedup-containment", "line-documents", "quality", "rule", "min-words", "min-script-share", "list-rules"},
		Settings: []string{"dedup-threshold@run,plan", "dedup-containment@run,plan", "line-documents@run,plan", "rule@run,plan", "min-words@run,plan", "min-script-share@run,plan"}},
	{Heading: "Resources", Flags: []string{"workers", "memory", "runner"}, Settings: []string{"temp-dir", "metrics-listen@convert,demo,download,examples,extract,filter,plan,run,vocab"}},
	{Heading: "Cluster", Flags: []string{"cluster", "endpoint", "flink-rest"}, Settings: []string{"parallelism", "worker-program", "worker-pool", "worker-secret", "worker-logs"}},
	{Heading: "Machines to plan for", Flags: []string{"machines"}, Settings: []string{"machine-cores", "machine-network", "machine-disk", "store-latency", "simulation-seed"}},
	{Heading: "Connections", Settings: []string{"bwlimit", "max-conn", "timeout", "attempts", "book-pause", "mirror", "allow-host", "allow-private"}},
	{Heading: "Templates", Flags: []string{"pairs", "min-uses", "min-explained"}},
	{Heading: "Reporting", Flags: []string{"max-rejects", "strict", "quiet", "json"}, Settings: []string{"record-paths", "top"}},
}
