package survey

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"pretext/internal/store"
	"pretext/sharding"
	"pretext/sharding/examples"
)

// CompareOptions configures [Compare]. The zero value suits small data sets.
type CompareOptions struct {
	Memory int64  // memory for hashes in bytes; more hashes go to files; 0: 64 MB
	Temp   string // folder for these files; "": the system's temporary folder
	Most   int    // maximum number of differences of each kind to list; all are counted; 0: 20

	// ManifestsOnly trusts the hashes in the manifests: only sizes of files are checked.
	ManifestsOnly bool
}

func (o CompareOptions) normal() CompareOptions {
	if o.Memory <= 0 {
		o.Memory = defaultMemory
	}
	if o.Most <= 0 {
		o.Most = 20
	}
	return o
}

// A Difference describes the differences between two data sets, A and B.
type Difference struct {
	A       string             `json:"a"`
	B       string             `json:"b"`
	Equal   bool               `json:"same"`
	Folders []FolderDifference `json:"folders"` // folders that differ
}

// A FolderDifference describes the differences between two folders with the same name.
// Lists are limited to [CompareOptions.Most] entries; counts are complete.
type FolderDifference struct {
	Folder    string              `json:"folder"`         // "." for the path itself
	Only      string              `json:"only,omitempty"` // "a" or "b" if only that data set has the folder
	Options   []Change            `json:"options,omitempty"`
	Inputs    []Change            `json:"inputs,omitempty"`
	Counts    []Change            `json:"counts,omitempty"`
	Files     []Change            `json:"files,omitempty"` // files with different sizes or hashes
	Records   *RecordDifference   `json:"records,omitempty"`
	Documents *DocumentDifference `json:"documents,omitempty"`
}

// A Change is a named value that differs between A and B. "" means that the data set has
// no such value.
type Change struct {
	Name string `json:"name"`
	A    string `json:"a"`
	B    string `json:"b"`
}

// contentFormat is the format of a file's size and SHA-256 in a [Change].
const contentFormat = "%d bytes, SHA-256 %s"

// Sizes returns the sizes of the file in A and B in bytes. A size is -1 if the file does
// not exist in that data set. ok is false if the change is not about a file.
func (c Change) Sizes() (a, b int64, ok bool) {
	size := func(value string) (n int64, ok bool) {
		if value == "" {
			return -1, true
		}
		hash := ""
		_, err := fmt.Sscanf(value, contentFormat, &n, &hash)
		return n, err == nil
	}
	a, okA := size(c.A)
	b, okB := size(c.B)
	return a, b, okA && okB
}

// Compare compares two runs, stage folders or TFRecord files. Two stages are compared by
// their manifests, and every file is compared with the hash in its manifest, unless
// [CompareOptions.ManifestsOnly] is set. Records and documents are read where files
// differ. If a file is missing or corrupt, Compare returns an error.
func Compare(ctx context.Context, a, b string, o CompareOptions) (*Difference, error) {
	c := comparison{CompareOptions: o.normal()}
	da, stagesA, err := open(ctx, a)
	if err != nil {
		return nil, err
	}
	db, stagesB, err := open(ctx, b)
	if err != nil {
		return nil, err
	}
	d := &Difference{A: a, B: b, Folders: []FolderDifference{}}
	switch {
	case len(da.Records) > 0 && len(db.Records) > 0:
		err = c.bare(ctx, d, da.Records, db.Records)
	case len(da.Records) > 0 || len(db.Records) > 0:
		return nil, &KindError{a, b}
	default:
		err = c.stages(ctx, d, stagesA, stagesB)
	}
	d.Equal = len(d.Folders) == 0
	return d, err
}

// A KindError reports that two paths cannot be compared, because only one of
// them has a manifest.
type KindError struct{ A, B string }

func (e *KindError) Error() string {
	return fmt.Sprintf("%s and %s are of different kinds: compare two runs, two folders of a stage, or two files of records", e.A, e.B)
}

// Usage marks the error as a usage error, so that commands exit with code 2.
func (e *KindError) Usage() bool { return true }

// A comparison holds the options of one call of Compare.
type comparison struct{ CompareOptions }

// stages compares the stages of A and B that have the same folder name, and
// adds the differences to d.
func (c comparison) stages(ctx context.Context, d *Difference, a, b []stage) error {
	if len(a) == 1 && len(b) == 1 {
		return c.add(ctx, d, a[0], b[0])
	}
	find := func(list []stage, name string) int {
		return slices.IndexFunc(list, func(s stage) bool { return s.Name == name })
	}
	for _, sa := range a {
		i := find(b, sa.Name)
		if i < 0 {
			d.Folders = append(d.Folders, FolderDifference{Folder: sa.Name, Only: "a"})
			continue
		}
		if err := c.add(ctx, d, sa, b[i]); err != nil {
			return err
		}
	}
	for _, sb := range b {
		if find(a, sb.Name) < 0 {
			d.Folders = append(d.Folders, FolderDifference{Folder: sb.Name, Only: "b"})
		}
	}
	return nil
}

// add compares two stages and adds their differences to d.
func (c comparison) add(ctx context.Context, d *Difference, a, b stage) error {
	f := FolderDifference{Folder: a.Name}
	ma, mb := a.manifest, b.manifest
	f.Options = changes(sharding.FlattenOptions(ma.Options), sharding.FlattenOptions(mb.Options))
	if ma.Stage != mb.Stage {
		f.Options = append([]Change{{"(stage)", ma.Stage, mb.Stage}}, f.Options...)
	}
	if ma.Algorithm != mb.Algorithm {
		f.Options = append(f.Options, Change{"(algorithm)", fmt.Sprint(ma.Algorithm), fmt.Sprint(mb.Algorithm)})
	}
	f.Inputs = changes(inputs(ma.Inputs), inputs(mb.Inputs))
	f.Counts = changes(numbers(ma.Counts), numbers(mb.Counts))
	f.Files = changes(entries(ma.Files), entries(mb.Files))
	var err error
	if f.Records, err = c.ofStages(ctx, a, b); err != nil {
		return err
	}
	if differ(a.manifest.DocumentsFiles(), b.manifest.DocumentsFiles()) {
		if f.Documents, err = c.documents(ctx, a, b); err != nil {
			return err
		}
	}
	// After the records, whose errors say more than a hash does.
	for _, s := range []stage{a, b} {
		if err := sharding.CheckFiles(ctx, s.Stage, s.manifest.Files, !c.ManifestsOnly); err != nil {
			return err
		}
	}
	if len(f.Options)+len(f.Inputs)+len(f.Counts)+len(f.Files) > 0 {
		d.Folders = append(d.Folders, f)
	}
	return nil
}

// changes returns the entries that differ between two maps from names to values, sorted
// by name.
func changes(a, b map[string]string) (list []Change) {
	all := maps.Clone(a)
	maps.Copy(all, b)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if a[name] != b[name] {
			list = append(list, Change{name, a[name], b[name]})
		}
	}
	return list
}

func inputs(list []sharding.Input) map[string]string {
	m := map[string]string{}
	for i, in := range list {
		m[fmt.Sprintf("%d %s", i, in.Name)] = fmt.Sprintf(contentFormat, in.Bytes, in.SHA256)
	}
	return m
}

func numbers(counts sharding.Counts) map[string]string {
	m := map[string]string{}
	for name, n := range counts {
		m[name.String()] = fmt.Sprint(n)
	}
	return m
}

func entries(files []sharding.FileEntry) map[string]string {
	m := map[string]string{}
	for _, e := range files {
		m[e.Name] = fmt.Sprintf(contentFormat, e.Bytes, e.SHA256)
	}
	return m
}

// differ reports whether two lists of data files differ in number, names or hashes.
func differ(a, b []sharding.FileEntry) bool {
	return !maps.Equal(entries(a), entries(b))
}

// ofStages compares the records of two stages, unless their files are equal. It returns
// nil if neither stage has records.
func (c comparison) ofStages(ctx context.Context, a, b stage) (*RecordDifference, error) {
	partsA, err := examples.Of(ctx, a.Stage, a.manifest)
	if err != nil {
		return nil, err
	}
	partsB, err := examples.Of(ctx, b.Stage, b.manifest)
	if err != nil || len(partsA)+len(partsB) == 0 {
		return nil, err
	}
	same := !differ(a.manifest.RecordFiles(), b.manifest.RecordFiles())
	if a.manifest.Stage == sharding.StageConvert || b.manifest.Stage == sharding.StageConvert {
		same = !differ(a.manifest.Files, b.manifest.Files)
	}
	if same {
		return nil, nil
	}
	return c.records(ctx, partsA, partsB)
}

// bare compares TFRecord files without a manifest.
func (c comparison) bare(ctx context.Context, d *Difference, a, b []string) error {
	partsA, err := examples.Files(ctx, a)
	if err != nil {
		return err
	}
	partsB, err := examples.Files(ctx, b)
	if err != nil {
		return err
	}
	r, err := c.records(ctx, partsA, partsB)
	if err != nil {
		return err
	}
	f := FolderDifference{Folder: ".", Records: r}
	if !oneEach(a, b) {
		f.Files = changes(sizes(a), sizes(b))
	}
	if r.Differ+r.OnlyA+r.OnlyB > 0 || len(f.Files) > 0 {
		d.Folders = append(d.Folders, f)
	}
	return nil
}

// oneEach reports whether A and B consist of one file each. Two single files are compared
// even if their names differ.
func oneEach[T any](a, b []T) bool { return len(a) == 1 && len(b) == 1 }

// sizes returns the size of each file, by base name.
func sizes(paths []string) map[string]string {
	m := map[string]string{}
	for _, p := range paths {
		m[store.Base(p)] = "there"
		if info, err := store.Stat(context.Background(), p); err == nil {
			m[store.Base(p)] = fmt.Sprintf("%d bytes", info.Size())
		}
	}
	return m
}
