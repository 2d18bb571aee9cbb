package card

import (
	"fmt"
	"slices"

	"pretext/records"
	"pretext/sharding"
	"pretext/sharding/survey"
)

// kind returns what the records of r are called, in the singular.
func kind(r *survey.RecordStats) string {
	switch form(r) {
	case records.Masked:
		return "masked-LM example"
	case records.Tokens:
		return "tokenized document"
	case records.Packed:
		return "packed row"
	}
	return "masked-LM and next-sentence example"
}

// container returns what the files of r are called, in the singular.
func container(r *survey.RecordStats) string {
	if r.Format != "" {
		return r.Format + " shard"
	}
	return "TFRecord file"
}

// tags returns the card's tags for the Hub. r is nil if there are no examples.
func tags(r *survey.RecordStats) []string {
	list := []string{"bert", "pretraining", "masked-language-modeling"}
	if r == nil || form(r) == records.Pairs {
		list = append(list, "next-sentence-prediction")
	}
	if r != nil && r.Format != "" {
		return append(list, r.Format)
	}
	return append(list, "tfrecord")
}

// exact reports whether the manifests say that the examples are those of
// google-research/bert's script.
func exact(s *survey.Stats) bool {
	if s.Records == nil || form(s.Records) != records.Pairs {
		return false
	}
	for _, stage := range s.Stages {
		options := sharding.FlattenOptions(stage.Options)
		switch stage.Stage {
		case sharding.StageExamples:
			return options["nsp_negatives"] == ""
		case sharding.StageConvert:
			return options["examples.recipe"] != "" && options["examples.nsp_negatives"] == ""
		}
	}
	return false
}

// A reader shows how to read converted examples.
type reader struct {
	Library string
	Program string // Python
}

// converted returns how to read the examples of the first split, in the format of
// another library.
func converted(s *survey.Stats) (r reader) {
	split := sharding.Train
	if !slices.ContainsFunc(s.Records.Splits, func(p survey.Split) bool { return p.Split == split }) {
		split = sharding.Eval
	}
	folder := ""
	for _, stage := range s.Stages {
		if stage.Stage == sharding.StageConvert && (folder == "" || stage.Folder == split) {
			folder = slashed(stage.Folder)
		}
	}
	glob := func(pattern string) string {
		return "sorted(glob.glob(" + pythonString(escapeGlob(folder)+pattern) + "))"
	}
	switch files := split + "-*."; s.Records.Format {
	case "mds":
		return reader{"MosaicML streaming", fmt.Sprintf("from streaming import StreamingDataset\n\nexamples = StreamingDataset(local=%s, shuffle=False, batch_size=1)", pythonString("./"+folder))}
	case "parquet":
		return reader{"datasets", fmt.Sprintf("from datasets import load_dataset\n\nexamples = load_dataset(\"parquet\", data_files=%s, split=\"train\")", pythonString(escapeGlob(folder)+files+"parquet"))}
	case "npy":
		return reader{"NumPy", fmt.Sprintf("import glob, numpy\n\nstems = [name.removesuffix(\".json\") for name in %s]\ninput_ids = [numpy.load(stem + \".input_ids.npy\", mmap_mode=\"r\") for stem in stems]", glob(files+"json"))}
	case "webdataset":
		return reader{"webdataset", fmt.Sprintf("import glob, webdataset\n\nexamples = webdataset.WebDataset(%s, shardshuffle=False).decode()", glob(files+"tar"))}
	case "hdf5":
		return reader{"h5py", fmt.Sprintf("import glob, h5py\n\nfiles = [h5py.File(name, \"r\") for name in %s]", glob(files+"hdf5"))}
	case "lddl":
		return reader{"pyarrow", fmt.Sprintf("import glob, pyarrow.parquet\n\ntables = [pyarrow.parquet.read_table(name) for name in %s]", glob(files+"parquet_*"))}
	case "megatron":
		return reader{"Megatron-LM", fmt.Sprintf("import glob\nfrom megatron.core.datasets.indexed_dataset import IndexedDataset\n\ndatasets = [IndexedDataset(name.removesuffix(\".bin\")) for name in %s]", glob(files+"bin"))}
	}
	panic("BUG: no reader of the format " + s.Records.Format)
}
