package onefile

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"pretext/internal/recognize"
	"pretext/internal/store"
	"pretext/sharding"
)

// headBytes is the number of bytes at the beginning of a file by which its kind is
// recognized.
const headBytes = 64 << 10

// A Kind is a kind of file that a command writes, with a way to recognize it.
type Kind struct {
	name string // with an article, for messages
	is   func(head []byte) bool
}

// Kinds of files that commands write.
var (
	Report      = Kind{"a report of prepare-data", titled("data set report")}
	Card        = Kind{"a card of prepare-data", isCard}
	Definitions = Kind{"a list of templates collect", begins("# Source: the templates of ")}
	Learned     = Kind{"a list of templates learn", begins("# Source: learned from ")}
	Checked     = Kind{"a list of templates check", begins("# Source: checked with ")}
	Pairs       = Kind{"a list of uses of templates learn", begins(`{"wiki":"`)}
	Curve       = Kind{"a curve of train-bert", titled("train-bert: loss by step")}
	CurveSVG    = Kind{"a curve of train-bert", begins(`<svg xmlns="http://www.w3.org/2000/svg" class="chart`)}
	ManPage     = Kind{"a manual page of this program", begins(`.TH "`)}
)

func begins(with string) func([]byte) bool {
	return func(head []byte) bool { return bytes.HasPrefix(head, []byte(with)) }
}

// titled returns a function that recognizes an HTML page by the end of its title.
func titled(end string) func([]byte) bool {
	return func(head []byte) bool {
		title, _, ok := bytes.Cut(head, []byte("</title>"))
		return ok && bytes.HasPrefix(head, []byte("<!DOCTYPE html>")) && bytes.HasSuffix(title, []byte(end))
	}
}

// isCard recognizes a dataset card by its first key and a line that every card has.
func isCard(head []byte) bool {
	return bytes.HasPrefix(head, []byte("---\npretty_name: ")) && bytes.Contains(head, []byte("BERT pre-training data: "))
}

// fixedNames are the files of data sets whose names are always the same.
var fixedNames = []string{sharding.ManifestName, sharding.PlanName, sharding.RunName, sharding.VocabName, sharding.TokenizerName, sharding.TokenizerConfigName,
	sharding.SpecialTokensName, sharding.ReaderName}

// checkName returns a usage error if t has the name of a file of a data set, which writing
// would corrupt.
func (o *Output) checkName(ctx context.Context, t target) error {
	fixed := slices.ContainsFunc(fixedNames, func(name string) bool { return strings.EqualFold(name, t.name) })
	if fixed || sharding.IsRecords(t.name) || inData(ctx, t.folder) && sharding.IsStageFile(t.name) || listed(ctx, t) {
		return o.refuse("a file of a data set has this name, and would be damaged: give another name")
	}
	return nil
}

// listed reports whether the manifest in t's folder lists the file.
func listed(ctx context.Context, t target) bool {
	m, err := sharding.ReadManifest(ctx, t.folder)
	return err == nil && slices.ContainsFunc(m.Files, func(f sharding.FileEntry) bool { return f.Name == t.name })
}

// dataKinds are the kinds of folders in which every file belongs to a data set or a model.
var dataKinds = []recognize.Kind{recognize.Downloads, recognize.Documents, recognize.VocabFolder, recognize.Shards, recognize.Converted, recognize.Model,
	recognize.TrainingRun, recognize.TokenizerFolder}

// inData reports whether a folder belongs to a data set or a model, or is inside such a
// folder.
func inData(ctx context.Context, folder store.Folder) bool {
	at := store.Absolute(folder.String())
	if slices.Contains(dataKinds, recognize.Path(ctx, at)) {
		return true
	}
	for _, dir := range []string{at, store.Dir(at)} {
		for _, name := range []string{sharding.ManifestName, sharding.PlanName} {
			if _, err := store.Stat(ctx, store.Join(dir, name)); err == nil {
				return true
			}
		}
	}
	return false
}
