package verify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"pretext/internal/store"
	"pretext/records"
	"pretext/sharding"
)

// A folderCheck checks the folder of one stage.
type folderCheck struct {
	opts     Options
	folder   *stageFolder
	m        *sharding.Manifest
	index    map[string]int            // index of each file in the manifest, by name
	sums     map[string]string         // hash → name of the first shard with this hash
	made     *sharding.ExamplesOptions // options of shards; nil for other folders
	written  *conversion               // set for converted shards; nil for other folders
	rules    records.Rules             // rules for the records of shards
	mask     int32                     // id of [MASK], valid if rules.VocabSize is known
	repeats  *repeats
	repeated int64

	mu     sync.Mutex
	proved map[string]bool // files that side-cars list, and the side-cars; guarded by mu
}

func newFolderCheck(ctx context.Context, folder *stageFolder, m *sharding.Manifest, o Options) (*folderCheck, error) {
	c := &folderCheck{opts: o, folder: folder, m: m, index: map[string]int{}, sums: map[string]string{}, proved: map[string]bool{}, repeats: newRepeats(o)}
	for i, e := range m.Files {
		c.index[e.Name] = i
	}
	if m.Stage == sharding.StageConvert {
		var err error
		c.written, err = newConversion(folder, m)
		return c, err
	}
	if m.Stage != sharding.StageExamples {
		return c, nil
	}
	c.made = new(sharding.ExamplesOptions)
	if err := m.DecodeOptions(folder, c.made); err != nil {
		return nil, err
	}
	c.rules = records.Rules{Form: c.made.Form(), MaxSeqLength: c.made.MaxSeqLength, MaxPredictionsPerSeq: c.made.MaxPredictionsPerSeq}
	if t := c.made.Tokenizer; t != nil {
		c.rules.VocabSize, c.rules.CLS, c.rules.SEP, c.rules.Pad, c.mask = t.VocabSize, t.CLS, t.SEP, t.Pad, t.Mask
	} else if raw, err := store.ReadFile(ctx, folder, sharding.VocabName); err == nil && c.listed(sharding.VocabName, raw) {
		// A changed or unreadable vocabulary is reported by the check of its file. The
		// records are then not compared with the vocabulary.
		if v, err := c.made.ReadVocab(sharding.VocabName, raw); err == nil {
			c.rules.VocabSize, c.rules.CLS, c.rules.SEP, c.mask = v.Len(), v.CLS(), v.SEP(), v.MASK()
		}
	}
	for _, e := range m.RecordFiles() {
		if _, ok := c.sums[e.SHA256]; !ok {
			c.sums[e.SHA256] = e.Name
		}
	}
	return c, nil
}

// listed reports whether raw matches the hash in the manifest for the file with this
// name. It also returns true if the manifest does not contain the file.
func (c *folderCheck) listed(name string, raw []byte) bool {
	i, ok := c.index[name]
	return !ok || c.m.Files[i].SHA256 == sharding.Hash(raw)
}

// repeating reports whether shards may contain equal records, because a mix reads some
// documents more than once.
func (c *folderCheck) repeating() bool {
	return c.made != nil && c.made.Mix != nil && slices.ContainsFunc(c.made.Mix.Table, func(r sharding.MixRow) bool { return r.MixedTokens > r.Tokens })
}

func (c *folderCheck) close() { c.repeats.close() }

// file checks one file: its hash, then its content.
func (c *folderCheck) file(ctx context.Context, number int, e sharding.FileEntry) (fileReport, error) {
	r := fileReport{findings: findings{most: c.opts.MaxProblems}, files: 1, bytes: e.Bytes}
	name, shard := sharding.ParseShardName(e.Name)
	shard = shard && (e.Name == name.Records(false) || e.Name == name.Records(true))
	if shard && c.made != nil {
		return r, c.shard(ctx, number, e, &r)
	}
	problem, err := e.Check(ctx, c.folder)
	if err != nil {
		return r, err
	}
	if problem != nil {
		r.add(*problem)
		if problem.Reason == "missing" {
			return r, nil
		}
	}
	switch {
	case shard:
		r.add(sharding.Problem{File: e.Name, Reason: fmt.Sprintf("records in a folder of stage %s", c.m.Stage)})
	case strings.HasSuffix(e.Name, sharding.DocumentsSuffix):
		return r, c.documents(ctx, e, &r)
	case e.Name == sharding.VocabName, e.Name == sharding.TokenizerName:
		raw, err := store.ReadFile(ctx, c.folder, e.Name)
		if err != nil {
			return r, err
		}
		if e.Task != 0 {
			r.add(sharding.Problem{File: sharding.ManifestName, Reason: fmt.Sprintf("says that %s is of task %d, it is of none", e.Name, e.Task)})
		}
		if err := c.checkTokens(e.Name, raw); err != nil {
			r.add(sharding.Problem{File: e.Name, Reason: err.Error()})
		}
	case e.Name == sharding.TokenizerConfigName, e.Name == sharding.SpecialTokensName: // only their hashes are checked
	case c.written != nil && e.Name == c.written.index:
		return r, c.written.checkIndex(ctx, c.m, &r)
	case strings.HasSuffix(e.Name, sharding.SideCarSuffix):
		if err := c.sideCar(ctx, e, problem == nil, &r); err != nil || c.written == nil || r.found > 0 {
			return r, err
		}
		return r, c.written.checkRows(ctx, e.Name, &r)
	}
	return r, nil
}

// sideCar compares the side-car of a file with the manifest. Both must list the same
// files and belong to the same plan. If they differ although the side-car matches its
// hash in the manifest, the manifest was edited.
func (c *folderCheck) sideCar(ctx context.Context, e sharding.FileEntry, proved bool, r *fileReport) error {
	at, other := e.Name, "the manifest"
	if proved {
		at, other = sharding.ManifestName, "the side-car "+e.Name
	}
	fault := func(format string, args ...any) {
		r.add(sharding.Problem{File: at, Reason: fmt.Sprintf(format, args...)})
	}
	car, err := sharding.ReadSideCar(ctx, c.folder, e.Name)
	if errors.Is(err, sharding.ErrFormat) {
		fault("%v", err)
		return nil
	}
	if err != nil {
		return err
	}
	c.proves(e.Name, car)
	if car.Fingerprint != c.m.Fingerprint || car.Stage != c.m.Stage {
		fault("of another plan than %s: a file of another run?", other)
	}
	if car.Task != e.Task {
		fault("%s is said to be of task %d and of task %d", e.Name, e.Task, car.Task)
	}
	for _, says := range append([]sharding.FileEntry{car.File, car.Index}, car.More...) {
		if says.Name == "" {
			continue
		}
		i, ok := c.index[says.Name]
		switch {
		case !ok:
			fault("%s and %s do not agree whether there is a file %q", e.Name, sharding.ManifestName, says.Name)
		case !sameEntry(says, c.m.Files[i]):
			fault("says otherwise of %s than %s", says.Name, other)
		}
	}
	return nil
}

// proves notes the files that a side-car lists.
func (c *folderCheck) proves(name string, car *sharding.SideCar) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.proved[name] = true
	for _, says := range append([]sharding.FileEntry{car.File, car.Index}, car.More...) {
		c.proved[says.Name] = true
	}
}

func sameEntry(a, b sharding.FileEntry) bool {
	return a.Name == b.Name && a.Task == b.Task && a.Bytes == b.Bytes && a.SHA256 == b.SHA256 && maps.Equal(a.Counts, b.Counts) && reflect.DeepEqual(a.Origin, b.Origin)
}

// whole runs the checks that concern more than one file.
func (c *folderCheck) whole(ctx context.Context, reports []fileReport) (r fileReport, err error) {
	r.most = c.opts.MaxProblems
	strangers, err := c.strangers(ctx)
	if err != nil {
		return r, err
	}
	for _, p := range strangers {
		r.add(p)
	}
	if err := c.totals(ctx, &r); err != nil {
		return r, err
	}
	c.unproved(&r)
	if err := c.plan(ctx, &r); err != nil {
		return r, err
	}
	for _, p := range append(c.dropped(ctx), c.warnings(ctx)...) {
		r.add(p)
	}
	if c.made == nil {
		return r, nil
	}
	c.vocabulary(&r)
	c.chances(reports, &r)
	copies, err := c.repeats.find(ctx, reports, func(i int) string { return c.m.Files[i].Name })
	for i := range reports {
		if c.repeating() {
			break
		}
		for _, p := range copies[i] {
			r.add(p)
		}
	}
	c.repeated = c.repeats.between
	return r, err
}

// unproved checks the files that are in no side-car. pretext writes such files at the end
// of a stage, with task 0.
func (c *folderCheck) unproved(r *fileReport) {
	if len(c.proved) == 0 {
		return // a third-party stage
	}
	for _, e := range c.m.Files {
		if !c.proved[e.Name] && e.Task != 0 {
			r.add(sharding.Problem{File: sharding.ManifestName, Reason: fmt.Sprintf("says that %s is of task %d, it is of none", e.Name, e.Task)})
		}
	}
}

// totals compares the totals in the manifest with the sums over its files, and
// counts equal document IDs again.
func (c *folderCheck) totals(ctx context.Context, r *fileReport) error {
	fault := func(format string, args ...any) {
		r.add(sharding.Problem{File: sharding.ManifestName, Reason: fmt.Sprintf(format, args...)})
	}
	counts := sharding.Counts{}
	var lists []string
	for _, e := range c.m.Files {
		counts.Add(e.Counts)
		if strings.HasSuffix(e.Name, sharding.IDsSuffix) {
			lists = append(lists, e.Name)
		}
	}
	names := counts.Clone()
	names.Add(c.m.Counts)
	for k := range names.All() {
		n, counted := counts[k]
		if total, said := c.m.Counts[k]; k != sharding.EqualIDs.Key && (n != total || counted != said) {
			fault("total of %s is %d, its files add up to %d", k, total, n)
		}
	}
	if len(lists) == 0 || r.found > 0 {
		return nil
	}
	equal, err := sharding.CountEqualIDs(ctx, c.folder, lists, nil)
	switch {
	case errors.Is(err, sharding.ErrFormat), errors.Is(err, fs.ErrNotExist):
		return nil // reported by the check of the list
	case err != nil:
		return err
	case equal != sharding.EqualIDs.Of(c.m.Counts):
		fault("%d documents have the ID of another one, equal_ids says %d", equal, sharding.EqualIDs.Of(c.m.Counts))
	}
	return nil
}

// plan checks plan.json and the plans of all tasks. A third-party folder may have no plan
// and no side-cars.
func (c *folderCheck) plan(ctx context.Context, r *fileReport) error {
	plan, err := sharding.ReadPlan(ctx, c.folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		planned, err := c.folder.Folder(sharding.PlanFolder).List(ctx)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if len(planned) > 0 || slices.ContainsFunc(c.m.Files, func(e sharding.FileEntry) bool { return strings.HasSuffix(e.Name, sharding.SideCarSuffix) }) {
			r.add(sharding.Problem{File: sharding.PlanName, Reason: "missing"})
		}
		return nil
	case errors.Is(err, sharding.ErrFormat):
		r.add(sharding.Problem{File: sharding.PlanName, Reason: err.Error()})
		return nil
	case err != nil:
		return err
	case plan.Fingerprint != c.m.Fingerprint || plan.Recipe.Fingerprint() != c.m.Fingerprint:
		r.add(sharding.Problem{File: sharding.PlanName, Reason: "of other options or inputs than the manifest"})
		return nil
	}
	// A folder with a plan was written by pretext, so there is only one valid form of
	// plan.json and of the manifest.
	sameForm := func(name string, want []byte) error {
		raw, err := store.ReadFile(ctx, c.folder, name)
		if err == nil && !bytes.Equal(raw, want) {
			r.add(sharding.Problem{File: name, Reason: "not in the form in which it is written: edited by hand?"})
		}
		return err
	}
	if err := errors.Join(sameForm(sharding.PlanName, sharding.Marshal(plan)), c.m.Write(sameForm)); err != nil {
		return err
	}
	// Each task writes at least one file, so the plan must have as many tasks as the
	// manifest.
	made := 0
	for _, e := range c.m.Files {
		made = max(made, e.Task+1)
	}
	if plan.Tasks != made {
		r.add(sharding.Problem{File: sharding.PlanName, Reason: fmt.Sprintf("plans %d tasks, the files of the manifest are those of %d", plan.Tasks, made)})
		return nil
	}
	return c.checkPlans(ctx, plan, r)
}

// vocabulary checks that the vocabulary file in the folder equals the vocabulary among
// the inputs in the manifest.
func (c *folderCheck) vocabulary(r *fileReport) {
	name := c.made.TokenFile()
	i, ok := c.index[name]
	if !ok {
		return
	}
	for _, in := range c.m.Inputs {
		if in.Name == name && in.SHA256 != c.m.Files[i].SHA256 {
			r.add(sharding.Problem{File: name, Reason: "not the one that the records were made with"})
		}
	}
}

// warnings derives the warnings again and compares them with those in the manifest.
// Manifests of earlier versions have no warnings, so they are not compared.
func (c *folderCheck) warnings(ctx context.Context) []sharding.Problem {
	if len(c.m.Warnings) == 0 {
		return nil
	}
	want, err := sharding.DeriveWarnings(ctx, c.folder, c.m)
	if err != nil {
		return nil // reported by the check of the file
	}
	if !slices.Equal(c.m.Warnings, want) {
		return []sharding.Problem{{File: sharding.ManifestName, Reason: "warnings are not those that its counts and files give: edited by hand?"}}
	}
	return nil
}

// dropped compares the dropped templates in the manifest with the sums over the
// side-cars.
func (c *folderCheck) dropped(ctx context.Context) []sharding.Problem {
	var sideCars []string
	for _, f := range c.m.DocumentsFiles() {
		sideCars = append(sideCars, strings.TrimSuffix(f.Name, sharding.DocumentsSuffix)+sharding.SideCarSuffix)
	}
	want, err := sharding.SumDropped(ctx, c.folder, sideCars)
	if err != nil {
		return nil // reported by the check of the side-car's file
	}
	if !reflect.DeepEqual(c.m.Dropped, want) {
		return []sharding.Problem{{File: sharding.ManifestName, Reason: "dropped_templates are not what the side-cars add up to"}}
	}
	return nil
}

// checkTokens parses a vocabulary or tokenizer. A tokenizer must agree with the
// options in the manifest.
func (c *folderCheck) checkTokens(name string, raw []byte) error {
	made := c.made
	if c.written != nil && c.written.Options.Examples != nil {
		made = new(sharding.ExamplesOptions)
		if err := json.Unmarshal(c.written.Options.Examples, made); err != nil {
			return err
		}
	}
	return made.CheckTokenFile(name, raw)
}
