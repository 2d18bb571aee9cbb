package session

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"pretext/internal/recognize"
	"pretext/trainer"
)

// giveModel is the advice for all commands that need a model.
const giveModel = "give a run of train-bert, a checkpoint, a transformers folder, or the prefix of a TensorFlow checkpoint"

// hubName matches the name of a model on the Hugging Face Hub.
var hubName = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9._-]*/)?[A-Za-z0-9][A-Za-z0-9._]*-[A-Za-z0-9._-]+$`)

// tensorFlowPart matches the name of one of the files of a TensorFlow checkpoint. Its
// group is the prefix.
var tensorFlowPart = regexp.MustCompile(`^(.+)\.(index|meta|data-\d{5}-of-\d{5})$`)

// checkModel returns a usage error if the file or folder at path is clearly not a
// model.
func checkModel(path string) error {
	info, err := os.Stat(path)
	_, noParent := os.Stat(filepath.Dir(path)) // of "data/a-b", which is a path if there is a directory data
	switch {
	case os.IsNotExist(err) && hubName.MatchString(path) && (noParent != nil || !strings.Contains(path, "/")):
		return usagef("%s: no such file or folder; if that is the name of a model on the Hugging Face Hub, download its folder (config.json, model.safetensors, vocab.txt) and give that", path)
	case os.IsNotExist(err):
		return usagef("%s: no such file or folder: %s", path, giveModel)
	case err != nil:
		return err
	case info.IsDir():
		return checkModelFolder(path)
	}
	if part := tensorFlowPart.FindStringSubmatch(path); part != nil {
		return usagef("%s is a part of a TensorFlow checkpoint: give its prefix, %s", path, part[1])
	}
	switch kind := recognize.Path(context.Background(), path); kind {
	case recognize.Weights, recognize.ModelConfig, recognize.TokenizerJSON, recognize.Vocab:
		return usagef("%s is %s: give the folder that it is in, %s", path, kind, filepath.Dir(path))
	case "":
		return usagef("%s is a file: %s", path, giveModel)
	default:
		return usagef("%s is %s, not a model: %s", path, kind, giveModel)
	}
}

// checkModelFolder returns a usage error if a directory holds no model.
func checkModelFolder(path string) error {
	if _, err := os.Stat(filepath.Join(path, "config.json")); !os.IsNotExist(err) {
		return nil // opening it later reports the error
	}
	if indexes, _ := filepath.Glob(filepath.Join(path, "*.index")); len(indexes) > 0 { // the pattern is valid
		return usagef("%s holds a TensorFlow checkpoint: give its prefix, %s", path, strings.TrimSuffix(indexes[len(indexes)-1], ".index"))
	}
	switch kind := recognize.Path(context.Background(), path); kind {
	case recognize.TrainingRun:
		return usagef("%s has no checkpoint yet: train writes one every --save-checkpoints-steps; run the command that trains it again", path)
	case "":
		return usagef("%s has no config.json, so it is no model: %s", path, giveModel)
	default:
		return usagef("%s is %s, not a model: %s", path, kind, giveModel)
	}
}

// CheckOut returns a usage error if the output directory is a folder of data: a run
// would damage its manifest. It accepts such a folder if an earlier version has already
// begun a run in it.
func CheckOut(out string) error {
	kind := recognize.Path(context.Background(), out)
	if kind == recognize.PreparedRun {
		if _, err := os.Stat(filepath.Join(out, MetricsFile)); err == nil {
			return nil
		}
	}
	switch kind {
	case recognize.PreparedRun, recognize.Downloads, recognize.Documents, recognize.VocabFolder, recognize.Shards, recognize.Converted:
		return usagef("--out %s is %s: give a folder of its own", out, kind)
	}
	return nil
}

// checkConfig returns a usage error if the file that --model names is clearly not a
// configuration.
func checkConfig(path string) error {
	switch kind := recognize.Path(context.Background(), path); kind {
	case "", recognize.JSON, recognize.ModelConfig:
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			return usagef("--model %s is a folder: give a config.json, or the weights of a model as --init", path)
		}
		return nil
	default:
		return usagef("--model %s is %s: give one of %s or a config.json; the weights of a model are given as --init", path, kind, strings.Join(trainer.PresetNames(), ", "))
	}
}

// notJSON gives advice for files that are not JSON, by kind.
var notJSON = recognize.Each("give a JSON file of the format that --help describes",
	recognize.Text, recognize.Dump, recognize.XML, recognize.HTML, recognize.Vocab, recognize.Parquet, recognize.Arrow, recognize.Zip, recognize.Tar,
	recognize.Gzip, recognize.Bzip2, recognize.Records, recognize.Weights, recognize.Empty, recognize.EmptyFolder)
