package consumers

import "pretext/records/columns"

// hfTrainer is the Trainer of Hugging Face's transformers, which reads a data set of the
// library datasets. Its collators and models know columns by the names of the models'
// arguments.
func hfTrainer() Consumer {
	return Consumer{
		Name:    "hf-trainer",
		About:   "Hugging Face transformers: Trainer with a data set of datasets.load_dataset",
		Checked: []string{"transformers 4.57.1"},
		Recipes: []string{"google", "mlm"},
		Misread: map[string]string{
			"tokens":    "attends over whole documents without [CLS] and [SEP], and cuts them at its maximum length",
			"pieces":    "would need masks of its collator, which the columns of this consumer do not have",
			"sentences": "attends over whole documents without [CLS] and [SEP], and cuts them at its maximum length",
			"packed":    "ignores sequence_lengths: attention runs over the borders of documents",
		},
		Format: "parquet",
		Fields: []columns.Field{
			{Name: "input_ids", From: []string{"input_ids"}},
			{Name: "attention_mask", From: []string{"input_mask", columns.Ones}},
			{Name: "token_type_ids", From: []string{"segment_ids", columns.Zeros}},
			{Name: "labels", From: []string{columns.Labels}},
			{Name: "next_sentence_label", From: []string{"next_sentence_labels"}},
		},
		Load: "from datasets import load_dataset\n\nexamples = load_dataset({folder}, split=\"train\")",
	}
}
