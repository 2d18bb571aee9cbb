package consumers

import "pretext/records/columns"

// levanter is the dataset format prebuilt of Levanter, which trains causal models: it joins
// the ids of all rows and cuts them into sequences.
func levanter() Consumer {
	const masks = "trains causal models, which would learn to write [MASK] and padding"
	const borders = "joins all documents, which have nothing between them"
	return Consumer{
		Name:    "levanter",
		About:   "Levanter of marin-community, dataset format prebuilt: causal language models",
		Checked: []string{"marin-community/marin lib/levanter 00643f7e (read, not run)"},
		Recipes: []string{"pieces"},
		Misread: map[string]string{
			"google": masks, "mlm": masks, "tokens": borders, "sentences": borders,
			"packed": "would learn to write the padding of rows",
		},
		Format: "parquet",
		Fields: []columns.Field{{Name: "input_ids", From: []string{"input_ids"}}},
		Load:   "from datasets import load_dataset\n\nrows = load_dataset({folder}, split=\"train\")",
	}
}
