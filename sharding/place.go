package sharding

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Folders that stages make below their own, see docs/format.md. They are
// finished folders of stages themselves.
const (
	ImportedFolder   = "imported"   // documents made of what a stage was given
	SignaturesFolder = "signatures" // of a filter that looks for copies
	PairsFolder      = "pairs"
)

var innerFolders = []string{ImportedFolder, PairsFolder, SignaturesFolder}

// A Place is what a path holds: a run or a stage's folder, files of records that no
// manifest describes, or both.
type Place struct {
	Path    string
	Folders []StageFolder // of stages, finished or not, in the order of the data's way
	Records []string      // the path itself, or files of records in it, sorted by name
}

// A StageFolder is a folder that a stage works or worked in.
type StageFolder struct {
	Name  string // below the place, with slashes; "." for the place itself
	Path  string
	Stage string // that its manifest or plan names, or else its name suggests; "" where neither does
}

// Locate reports what a path holds. Every command that takes a data set finds it
// this way:
//
//	a file                             a file of records
//	a folder with a manifest or plan   a stage's folder, and those of stages below it
//	a folder of such folders           a run
//	any other folder                   its files of records, see [IsRecords]
//
// A folder with none of these is an error that matches [ErrUnfinished].
func Locate(location string) (*Place, error) {
	p := &Place{Path: location}
	info, err := os.Stat(location)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		p.Records = []string{location}
		return p, nil
	}
	entries, err := os.ReadDir(location) // sorted by name
	if err != nil {
		return nil, err
	}
	itself := p.add(".")
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		p.add(e.Name())
		for _, inner := range innerFolders {
			p.add(path.Join(e.Name(), inner))
		}
		if !itself && !e.IsDir() && IsRecords(e.Name()) {
			p.Records = append(p.Records, filepath.Join(location, e.Name()))
		}
	}
	if len(p.Folders)+len(p.Records) == 0 {
		return nil, fmt.Errorf("%s: no files of records, and %w", location, ErrUnfinished)
	}
	slices.SortStableFunc(p.Folders, func(a, b StageFolder) int {
		return cmp.Or(cmp.Compare(stageRank(a.Stage), stageRank(b.Stage)), cmp.Compare(a.Name, b.Name))
	})
	return p, nil
}

// add adds the folder of a name if it is a stage's.
func (p *Place) add(name string) bool {
	f := StageFolder{Name: name, Path: filepath.Join(p.Path, filepath.FromSlash(name))}
	found := false
	for _, file := range []string{PlanName, ManifestName} { // what the manifest says wins
		raw, err := os.ReadFile(filepath.Join(f.Path, file))
		if err != nil {
			if _, err := os.Stat(filepath.Join(f.Path, file)); err == nil {
				found = true // its reader will say why
			}
			continue
		}
		found = true
		var says struct {
			Stage string `json:"stage"`
		}
		if json.Unmarshal(raw, &says) == nil {
			f.Stage = cmp.Or(says.Stage, f.Stage)
		}
	}
	if !found {
		return false
	}
	f.Stage = cmp.Or(f.Stage, map[string]string{"sources": "download", "documents": "extract", "vocab": "vocab", ShardsFolder: StageExamples}[path.Base(name)])
	p.Folders = append(p.Folders, f)
	return true
}

// ShardsFolder and DocumentsFolder are names of folders in a run, StageExamples what
// its manifest calls the stage.
const (
	ShardsFolder    = "shards"
	DocumentsFolder = "documents"
	StageExamples   = "examples"
)

// Shards returns the folder of shards: the one named shards, or the only one. ok is
// false if there is none or no one can tell which is meant.
func (p *Place) Shards() (f StageFolder, ok bool) {
	var found []StageFolder
	for _, f := range p.Folders {
		if f.Stage == StageExamples {
			if f.Name == "." || f.Name == ShardsFolder {
				return f, true
			}
			found = append(found, f)
		}
	}
	if len(found) != 1 {
		return StageFolder{}, false
	}
	return found[0], true
}

// Data returns the folders but those in which a filter looked for copies, unless
// the place is such a folder itself.
func (p *Place) Data() (folders []StageFolder) {
	for _, f := range p.Folders {
		if f.Name == "." || f.Stage != SignaturesFolder && f.Stage != PairsFolder {
			folders = append(folders, f)
		}
	}
	return folders
}

// stageRank orders stages as the data flows. Those of others turn documents into
// documents.
func stageRank(stage string) int {
	order := []string{"download", "extract", "", "vocab", StageExamples}
	if i := slices.Index(order, stage); i >= 0 {
		return i
	}
	return slices.Index(order, "")
}
