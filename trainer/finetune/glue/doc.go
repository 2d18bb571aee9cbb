// Package glue classifies sentences and pairs of sentences: the tasks of GLUE
// (MRPC, SST-2, MNLI and their like), and tables of one's own, as
// google-research/bert's run_classifier.py reads and cuts them, with GLUE's
// metrics.
//
//	task, err := glue.ByName("mrpc")
//	task, rows, err := task.Read("dev.tsv", bytes, glue.Dev)
//	examples, err := glue.NewExamples(task, rows, encoder, 128)
//	sums, err := finetune.Forward{Model: model, Heads: task.Heads(), Tokens: tokens}.Each(ctx, examples, take)
//
// # Tables
//
// A table is UTF-8, a row a line, cells between tabs; nothing is quoted. The
// first line names the columns, but in CoLA's train.tsv and dev.tsv, which have
// no names. Columns are found by name, so that the spellings in use all work.
// Rows of a test set have no label.
//
// # Sequences
//
//	[CLS] first [SEP]              segment 0
//	[CLS] first [SEP] second [SEP] segments 0 and 1
//
// A pair that is too long loses pieces from the end of the longer of the two, of
// the second where they are equal.
//
// # Concurrency
//
// Tasks, rows and examples do not change and may be shared.
package glue
