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

// headBytes is the size of the beginning of a file that shows its kind.
const headBytes = 64 << 10

// A Kind is what a command writes, and how that is told from other files.
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
	Pairs       = Kind{"a list of uses of templates learn", begins(`{"wiki":"`)}
	Curve       = Kind{"a curve of train-bert", titled("train-bert: loss by step")}
	CurveSVG    = Kind{"a curve of train-bert", begins(`<svg xmlns="http://www.w3.org/2000/svg" class="chart`)}
	ManPage     = Kind{"a manual page of this program", begins(`.TH "`)}
)

func begins(with string) func([]byte) bool {
	return func(head []byte) bool { return bytes.HasPrefix(head, []byte(with)) }
}

// titled recognizes a page by the end of its title.
func titled(end string) func([]byte) bool {
	return func(head []byte) bool {
		title, _, ok := bytes.Cut(head, []byte("</title>"))
		return ok && bytes.HasPrefix(head, []byte("<!DOCTYPE html>")) && bytes.HasSuffix(title, []byte(end))
	}
}

// isCard recognizes the first key of a card and a line that every card has.
func isCard(head []byte) bool {
	return bytes.HasPrefix(head, []byte("---\npretty_name: ")) && bytes.Contains(head, []byte("BERT pre-training data: "))
}

// fixedNames are files of data sets that have the same name everywhere.
var fixedNames = []string{sharding.ManifestName, sharding.PlanName, sharding.RunName, sharding.VocabName, sharding.TokenizerName, sharding.TokenizerConfigName}

// checkName returns a usage error if the name is that of a file of a data set.
func (o *Output) checkName(ctx context.Context, t target) error {
	fixed := slices.ContainsFunc(fixedNames, func(name string) bool { return strings.EqualFold(name, t.name) })
	if fixed || sharding.IsRecords(t.name) || inData(ctx, t.folder) && sharding.IsStageFile(t.name) || listed(ctx, t) {
		return o.refuse("a file of a data set has this name, and would be damaged: give another name")
	}
	return nil
}

// listed reports whether the manifest of a data set lists the file.
func listed(ctx context.Context, t target) bool {
	m, err := sharding.ReadManifest(ctx, t.folder)
	return err == nil && slices.ContainsFunc(m.Files, func(f sharding.FileEntry) bool { return f.Name == t.name })
}

// dataKinds are the folders in which every file belongs to the data.
var dataKinds = []recognize.Kind{recognize.Downloads, recognize.Documents, recognize.VocabFolder, recognize.Shards, recognize.Converted, recognize.Model,
	recognize.TrainingRun, recognize.TokenizerFolder}

// inData reports whether a folder is, or lies in, that of a data set or a model.
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
