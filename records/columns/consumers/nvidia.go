package consumers

// onlyPairs says why a loader of pairs with masks reads the records of no other recipe.
func onlyPairs() map[string]string {
	const pairs = "needs pairs of segments with masks"
	return map[string]string{"mlm": "needs next_sentence_labels", "tokens": pairs, "sentences": pairs, "packed": pairs, "pieces": pairs}
}

// nvidiaBERT is the loader of HDF5 in run_pretraining.py (class pretraining_dataset). With
// one file whose name contains "training", its loop over the files waits for ever.
func nvidiaBERT() Consumer {
	return Consumer{
		Name: "nvidia-bert",
		About: "run_pretraining.py of NVIDIA's DeepLearningExamples (PyTorch BERT) with HDF5,\n" +
			"as it was until February 2022; later versions read LDDL",
		Checked: []string{"NVIDIA/DeepLearningExamples 56ccaf80"},
		Recipes: []string{"google"},
		Misread: onlyPairs(),
		Format:  "hdf5", Files: 2,
		Load: "import glob, h5py\n\nfiles = [h5py.File(name, \"r\") for name in glob.glob({folder} + \"/*training*\")]",
	}
}

// lddl is LDDL's loader of BERT (lddl/torch/bert.py). Its ParquetDataset asserts that the
// files of a length bin have n and n+1 rows, and that there are some of each.
func lddl() Consumer {
	return Consumer{
		Name:    "lddl",
		About:   "NVIDIA's LDDL: get_bert_pretrain_data_loader, of DeepLearningExamples since 2022",
		Checked: []string{"NVIDIA/LDDL e4006d2b", "lddl 0.1.0"},
		Recipes: []string{"google"},
		Misread: onlyPairs(),
		Format:  "lddl", Files: 2, Balance: true, Words: true,
		Splits: map[string]string{"train": "train", "eval": "eval"},
		Load: "import lddl.torch\n\nloader = lddl.torch.get_bert_pretrain_data_loader({folder}, vocab_file={folder} + \"/vocab.txt\",\n" +
			"    data_loader_kwargs={\"batch_size\": 64, \"num_workers\": 2})",
	}
}

// megatronBERT is BERTMaskedWordPieceDataset (megatron/core/datasets/bert_dataset.py), whose
// sentences build_mapping joins to pairs (helpers.cpp). It finds words by the ## of their
// pieces, and pads types and masks with the id of [PAD].
func megatronBERT() Consumer {
	return Consumer{
		Name:    "megatron-bert",
		About:   "Megatron-LM and megatron-core: examples/bert/pretrain_bert.py, BERTMaskedWordPieceDataset",
		Checked: []string{"NVIDIA/Megatron-LM d98e8a64", "megatron-core 0.16.1"},
		Recipes: []string{"sentences"},
		Misread: map[string]string{
			"google": "masks text that has masks already",
			"mlm":    "masks text that has masks already",
			"tokens": "makes no pair of a document that is one sequence, and without pairs cuts it off at the sequence length",
			"packed": "makes pairs of sentences, which rows do not have",
			"pieces": "makes pairs of sentences, which pieces do not have",
		},
		Format: "megatron", Words: true, Masks: true,
		Load: "import glob\nfrom megatron.core.datasets.indexed_dataset import IndexedDataset\n\n" +
			"datasets = [IndexedDataset(name.removesuffix(\".bin\")) for name in sorted(glob.glob({folder} + \"/train-*.bin\"))]",
	}
}

// tensorFlow are the programs that parse the TFRecord files themselves, with
// FixedLenFeature.
func tensorFlow() Consumer {
	return Consumer{
		Name: "tensorflow",
		About: "TFRecord as it is: Google's run_pretraining.py, NVIDIA's for TensorFlow 1 and 2,\n" +
			"BertPretrainDataLoader of the Model Garden; nothing is converted",
		Checked: []string{"google-research/bert eedf5716", "NVIDIA/DeepLearningExamples 729963dd", "tf-models-official 2.20.0"},
		Recipes: []string{"google"},
		Misread: onlyPairs(),
		Load: "import tensorflow as tf\n\nfiles = tf.io.gfile.glob({folder} + \"/train-*.tfrecord\")\n" +
			"records = tf.data.TFRecordDataset(files)",
	}
}
