package command

import (
	"slices"

	"pretext/cmd/internal/cli"
	"pretext/trainer"
)

// flagGroups are the headings of flags and settings in help texts and manual pages, in the
// order in which users usually decide about them.
var flagGroups = []cli.Group{
	{Heading: "Question and text", Flags: []string{"question", "context", "text", "pair", "jsonl", "n-best", "top-k"}},
	{Heading: "Data", Flags: []string{"data", "task", "data-dir", "train-file", "predict-file", "text-column", "pair-column", "label-column",
		"eval-data", "eval-examples", "vocab", "vocab-file", "do-lower-case", "version-2-with-negative", "max-seq-length", "doc-stride"},
		Settings: []string{"labels", "regression", "attend-across", "max-query-length", "on-damage", "cache"}},
	{Heading: "Model", Flags: []string{"model", "init", "resume-from", "no-nsp", "vocab-size"}, Settings: []string{"dropout"}},
	{Heading: "Measurement", Flags: []string{"rounds", "seconds", "simulate", "model-time"}, Settings: []string{"isa"}},
	{Heading: "Output", Flags: []string{"out", "keep", "save-checkpoints-steps"}, Settings: []string{"eval-steps"}},
	{Heading: "Training", Flags: []string{"num-train-steps", "num-train-epochs", "train-batch-size", "learning-rate", "num-warmup-steps", "schedule",
		"preset", "budget", "optimizer", "seed"},
		Settings: slices.Concat(scheduleSettings(), []string{"warmup-proportion", "replay-rates", "weight-decay", "adam-beta1", "adam-beta2", "adam-epsilon", "max-grad-norm", "bias-correction"})},
	{Heading: "Masks", Flags: []string{"dynamic-masking", "masked-lm-prob"}, Settings: []string{"max-predictions-per-seq", "do-whole-word-mask", "mask-token-prob", "random-token-prob"}},
	{Heading: "Answers", Settings: []string{"max-answer-length", "n-best-size", "null-score-diff-threshold"}},
	{Heading: "Server", Flags: []string{"serve"}, Settings: []string{"max-wait", "max-queue", "max-connections", "max-body", "timeout"}},
	{Heading: "Resources", Flags: []string{"threads", "micro-batch-tokens", "device", "precision", "deterministic", "nproc"},
		Settings: []string{"readers", "batch-tokens", "pad-to-max-length", "zero1"}},
	{Heading: "Reporting", Flags: []string{"quiet", "json"}},
}

// scheduleSettings returns the settings for parameters that only some learning-rate
// schedules have. One such parameter has a flag and is not included.
func scheduleSettings() (names []string) {
	for _, p := range trainer.ScheduleParameters() {
		if p.Name != "budget" {
			names = append(names, p.Name)
		}
	}
	return names
}
