package command

import (
	"slices"

	"pretext/cmd/internal/cli"
	"pretext/trainer"
)

// flagGroups are the headings of flags in help texts and manual pages, in the order
// in which users decide about them.
var flagGroups = []cli.Group{
	{Heading: "Question and text", Flags: []string{"question", "context", "text", "pair", "jsonl", "n-best", "top-k"}},
	{Heading: "Data", Flags: []string{"data", "task", "data-dir", "train-file", "predict-file", "text-column", "pair-column", "label-column", "labels", "regression",
		"eval-data", "eval-examples", "attend-across", "vocab", "vocab-file", "do-lower-case",
		"version-2-with-negative", "max-seq-length", "max-query-length", "doc-stride", "on-damage", "cache"}},
	{Heading: "Model", Flags: []string{"model", "init", "resume-from", "no-nsp", "dropout", "vocab-size"}},
	{Heading: "Measurement", Flags: []string{"rounds", "seconds", "isa", "simulate"}},
	{Heading: "Output", Flags: []string{"out", "keep", "save-checkpoints-steps", "eval-steps"}},
	{Heading: "Training", Flags: slices.Concat([]string{"num-train-steps", "num-train-epochs", "train-batch-size", "learning-rate", "num-warmup-steps", "warmup-proportion", "schedule"},
		scheduleFlags(), []string{"preset", "replay-rates", "optimizer", "weight-decay", "adam-beta1", "adam-beta2", "adam-epsilon", "max-grad-norm", "bias-correction", "seed"})},
	{Heading: "Masks", Flags: []string{"dynamic-masking", "masked-lm-prob", "max-predictions-per-seq", "do-whole-word-mask", "mask-token-prob", "random-token-prob"}},
	{Heading: "Answers", Flags: []string{"max-answer-length", "n-best-size", "null-score-diff-threshold"}},
	{Heading: "Server", Flags: []string{"serve", "max-wait", "max-queue", "max-connections", "max-body", "timeout"}},
	{Heading: "Resources", Flags: []string{"threads", "readers", "micro-batch-tokens", "batch-tokens", "pad-to-max-length", "device", "precision", "deterministic", "nproc", "zero1"}},
	{Heading: "Reporting", Flags: []string{"quiet", "json"}},
}

// scheduleFlags returns the flags of the parameters that only some schedules have.
func scheduleFlags() (names []string) {
	for _, p := range trainer.ScheduleParameters() {
		names = append(names, p.Name)
	}
	return names
}
