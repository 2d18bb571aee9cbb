package consumers

import "pretext/records/columns"

// mosaicSplits are the folders that the configurations of ModernBERT and MosaicBERT name in
// split.
var mosaicSplits = map[string]string{"train": "train", "eval": "val"}

// modernBERT are both data sets of src/text_data.py. NoStreamingDataset, which its authors
// recommend for local files, wants files without compression and arrays of any integer
// type; StreamingTextDataset takes the bytes of input_ids for int64. So int64 is right for
// both: with a narrower type StreamingTextDataset reads several ids as one, without an error.
func modernBERT() Consumer {
	const masked = "masks text that has masks already"
	return Consumer{
		Name: "modernbert",
		About: "AnswerDotAI/ModernBERT: NoStreamingDataset and StreamingTextDataset,\n" +
			"with and without sequence packing",
		Checked: []string{"AnswerDotAI/ModernBERT 8c57a0f0"},
		Recipes: []string{"pieces"},
		Misread: map[string]string{
			"google":    masked,
			"mlm":       masked,
			"tokens":    "cuts documents off at max_seq_len, and adds no [CLS] and [SEP]",
			"sentences": "cuts documents off at max_seq_len, and adds no [CLS] and [SEP]",
			"packed":    "ignores sequence_lengths: attention runs over the borders of documents",
		},
		Format: "mds", Compression: "none", Int: columns.Int64, Share: 4.2,
		Fields: []columns.Field{{Name: "input_ids", From: []string{"input_ids"}}},
		Splits: mosaicSplits,
		Masks:  true, Cut: true, Reinterprets: true,
		Load: "import os\nfrom omegaconf import OmegaConf\nfrom src.text_data import build_text_dataloader, build_tokenizer # in a checkout of ModernBERT\n\n" +
			"local, split = os.path.split({folder})\nconfig = OmegaConf.create({\"name\": \"text\", \"sequence_packing\": True, \"num_workers\": 2, \"drop_last\": True, \"dataset\": {\n" +
			"    \"local\": local, \"split\": split, \"streaming\": False, \"max_seq_len\": 1024, \"shuffle\": True, \"mlm_probability\": 0.3}})\n" +
			"tokenizer = build_tokenizer(OmegaConf.create({\"name\": {folder}}))\n" +
			"loader = build_text_dataloader(config, tokenizer, device_batch_size=32, device_microbatch_size=8)",
	}
}

// mosaicBERT is StreamingTextDataset of MosaicBERT (examples/benchmarks/bert/src/text_data.py).
// It takes the bytes of tokens for int64. The streaming that it names, 0.4.1, has no arrays.
// Its collator gives ready tokens no attention_mask, so that a padded token is attended to,
// and rows must be full.
func mosaicBERT() Consumer {
	const masked, short = "masks text that has masks already", "attends to the padding behind short sequences"
	return Consumer{
		Name:    "mosaicbert",
		About:   "MosaicBERT of mosaicml/examples: StreamingTextDataset, with its rows of joined text",
		Checked: []string{"mosaicml/examples daddaeff"},
		Recipes: []string{"packed"},
		Misread: map[string]string{"google": masked, "mlm": masked, "tokens": short, "sentences": short, "pieces": short},
		Format:  "mds", Compression: "none", Int: columns.Int64, Share: 4.2,
		Fields: []columns.Field{
			{Name: "tokens", From: []string{"input_ids"}, Plain: true},
			{Name: "sequence_lengths", From: []string{"sequence_lengths"}, Plain: true},
		},
		Splits: mosaicSplits,
		Masks:  true, Cut: true, Reinterprets: true, Unmasked: true,
		Load: "import os\nfrom omegaconf import OmegaConf\nfrom src.text_data import build_text_dataloader, build_tokenizer # in examples/benchmarks/bert\n\n" +
			"local, split = os.path.split({folder})\nconfig = OmegaConf.create({\"name\": \"text\", \"num_workers\": 2, \"drop_last\": True, \"dataset\": {\n" +
			"    \"local\": local, \"split\": split, \"max_seq_len\": 128, \"shuffle\": True, \"mlm_probability\": 0.3}})\n" +
			"tokenizer = build_tokenizer(OmegaConf.create({\"name\": {folder}}))\n" +
			"loader = build_text_dataloader(config, tokenizer, device_batch_size=32)",
	}
}

// streamingLibrary is the library itself: StreamingDataset and StreamingDataLoader, whose
// collate_fn, that of PyTorch, stacks arrays of one length. PyTorch's losses want int64.
func streamingLibrary() Consumer {
	const lengths = "stacks arrays of one length, and those of this recipe differ"
	return Consumer{
		Name:    "streaming",
		About:   "MosaicML streaming: StreamingDataset with StreamingDataLoader, in a program of your own",
		Checked: []string{"mosaicml-streaming 0.13.0", "streaming-community 0.14.2"},
		Recipes: []string{"google", "mlm"},
		Misread: map[string]string{"tokens": lengths, "sentences": lengths, "packed": lengths, "pieces": lengths},
		Format:  "mds", Int: columns.Int64, Share: 0.44,
		Splits: map[string]string{"train": "train", "eval": "eval"},
		Load: "from streaming import StreamingDataLoader, StreamingDataset\n\n" +
			"dataset = StreamingDataset(local={folder}, shuffle=True, batch_size=32)\n" +
			"loader = StreamingDataLoader(dataset, batch_size=32, num_workers=2)",
	}
}
