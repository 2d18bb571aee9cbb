package consumers

import "pretext/records/columns"

// hfTrainer is the Trainer of Hugging Face's transformers, which reads a data set of the
// library datasets. Trainer drops the columns that are no arguments of the model's forward.
// Its collator for masked language modelling pads and masks, and overwrites labels; the
// default one passes rows of equal length on.
func hfTrainer() Consumer {
	int64s := columns.Int64 // what cross_entropy takes, also where arrays are not converted
	const documents = "attends over whole documents without [CLS] and [SEP], and fails where they are longer than the model's positions"
	return Consumer{
		Name:    "hf-trainer",
		About:   "Trainer of Hugging Face transformers, with datasets.load_dataset: pieces for\nDataCollatorForLanguageModeling, mlm and google for default_data_collator",
		Checked: []string{"transformers 4.48.3", "transformers 4.57.6", "transformers 5.24.0", "datasets 5.2.0"},
		Recipes: []string{"pieces", "mlm", "google"},
		Misread: map[string]string{
			"tokens":    documents,
			"sentences": documents,
			"packed":    "ignores sequence_lengths: attention runs over the borders of documents",
		},
		Format: "parquet",
		Masks:  true,
		Fields: []columns.Field{
			{Name: "input_ids", From: []string{"input_ids"}},
			{Name: "attention_mask", From: []string{"input_mask"}},
			{Name: "token_type_ids", From: []string{"segment_ids"}},
			{Name: "labels", From: []string{columns.Labels}, Type: &int64s},
			{Name: "next_sentence_label", From: []string{"next_sentence_labels"}},
		},
		Load: "from datasets import load_dataset\n\nexamples = load_dataset({folder}, split=\"train\")",
	}
}
