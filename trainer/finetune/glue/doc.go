// Package glue classifies sentences and sentence pairs: the tasks of GLUE (such
// as MRPC, SST-2 and MNLI) and the user's own tables. It reads and truncates
// examples as run_classifier.py of google-research/bert does, and computes
// GLUE's metrics.
//
//	task, err := glue.ByName("mrpc")
//	task, rows, err := task.Read("dev.tsv", bytes, glue.Dev)
//	examples, err := glue.NewExamples(task, rows, encoder, 128)
//	sums, err := finetune.Forward{Model: model, Heads: task.Heads(), Tokens: tokens}.Each(ctx, examples, take)
//
// # Tables
//
// A table is UTF-8 text with one row on each line and tab-separated cells,
// without quoting. The first line names the columns, except in CoLA's train.tsv
// and dev.tsv, which have no header. Columns are found by name; all common
// spellings are accepted. Rows of a test set need no label.
//
// # Sequences
//
//	[CLS] first [SEP]              segment 0
//	[CLS] first [SEP] second [SEP] segments 0 and 1
//
// If a pair is too long, word pieces are removed one by one from the end of the longer
// text, or of the second text if both are equally long.
//
// # Concurrency
//
// Tasks, rows and examples are immutable and may be shared.
package glue
