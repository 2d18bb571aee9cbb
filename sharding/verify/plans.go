package verify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"pretext/extract"
	"pretext/internal/store"
	"pretext/sharding"
)

// A planCheck checks the plans of a folder's tasks.
type planCheck struct {
	*folderCheck
	plan      *sharding.StagePlan
	folder    store.Folder  // the directory plan/
	documents map[int]int64 // in a folder of shards: number of documents in each task's shard
	shards    bool          // the shards were made from folders of documents
	fault     func(name, reason string)
	report    *fileReport
}

// checkPlans compares the plans of all tasks with their hash in plan.json. For shards, it
// also compares the number of documents in each task's plan with the number in the
// manifest.
func (c *folderCheck) checkPlans(ctx context.Context, plan *sharding.StagePlan, r *fileReport) error {
	fromDocuments := slices.ContainsFunc(c.m.Inputs, func(in sharding.Input) bool { return in.Name == sharding.ManifestName })
	p := &planCheck{folderCheck: c, plan: plan, folder: c.folder.Folder(sharding.PlanFolder), documents: map[int]int64{}, shards: c.made != nil && fromDocuments, report: r,
		fault: func(name, reason string) {
			r.add(sharding.Problem{File: sharding.PlanFolder + "/" + name, Reason: reason})
		}}
	for _, e := range c.m.RecordFiles() {
		p.documents[e.Task] += extract.Documents.Of(e.Counts)
	}
	check := p.tasks
	if plan.Version != sharding.PlanVersion {
		check = p.oldTasks
	}
	if err := check(ctx); err != nil {
		return err
	}
	return p.strangers(ctx)
}

// tasks checks the file of tasks.
func (p *planCheck) tasks(ctx context.Context) error {
	_, sum, err := sharding.HashFile(ctx, p.folderCheck.folder, sharding.PlanFolder+"/"+sharding.TasksName)
	if errors.Is(err, fs.ErrNotExist) {
		p.fault(sharding.TasksName, "missing")
		return nil
	}
	if err != nil {
		return err
	}
	t, err := sharding.OpenTasks(ctx, p.folderCheck.folder)
	if errors.Is(err, sharding.ErrFormat) {
		p.fault(sharding.TasksName, err.Error())
		return nil
	}
	if err != nil {
		return err
	}
	defer t.Close()
	if sum != p.plan.TasksSHA256 {
		if err := p.differs(t); err != nil {
			return err
		}
	}
	if t.Len() != p.plan.Tasks {
		p.fault(sharding.TasksName, fmt.Sprintf("%d tasks, %s says %d", t.Len(), sharding.PlanName, p.plan.Tasks))
		return nil
	}
	if err := t.Load(); err != nil {
		return err
	}
	store.Sequential(t.File, 0, t.Size())
	for i := range p.plan.Tasks {
		raw, err := t.Raw(i)
		if err == nil {
			err = p.task(i, raw)
		} else if !errors.Is(err, sharding.ErrFormat) {
			return err
		}
		if err != nil {
			p.fault(sharding.TasksName, fmt.Sprintf("task %d: %v", i, err))
		}
	}
	return ctx.Err()
}

// differs is called if plan.json and the file of tasks do not match. It reports the one
// of the two files that was changed.
func (p *planCheck) differs(t *sharding.TaskFile) error {
	intact, err := t.Intact()
	if intact {
		p.report.add(sharding.Problem{File: sharding.PlanName, Reason: "tasks_sha256 is not the SHA-256 of " + sharding.PlanFolder + "/" + sharding.TasksName})
	} else if err == nil {
		p.fault(sharding.TasksName, "SHA-256 is not that in "+sharding.PlanName)
	}
	return err
}

// task checks the plan of a task. It returns an error if the plan is invalid or does not
// match the documents of the shard.
func (p *planCheck) task(i int, raw []byte) error {
	var t sharding.ShardTask
	if err := json.Unmarshal(raw, &t); err != nil {
		return err
	}
	if !p.shards {
		return nil
	}
	// With a mix, a shard uses only some documents of its blocks.
	if planned := t.CountDocuments(); planned < p.documents[i] || planned > p.documents[i] && p.made.Mix == nil {
		return fmt.Errorf("plans %d documents, the shard was made of %d", planned, p.documents[i])
	}
	return nil
}

// oldTasks checks plans in the format of earlier versions, with one file for each task.
func (p *planCheck) oldTasks(ctx context.Context) error {
	sums, err := p.oldSums(ctx)
	if err != nil {
		return err
	}
	for i := range p.plan.Tasks {
		name := sharding.OldTaskFile(i)
		raw, err := store.ReadFile(ctx, p.folder, name)
		if errors.Is(err, fs.ErrNotExist) {
			p.fault(name, "missing")
			continue
		}
		if err != nil {
			return err
		}
		if sums != nil && sharding.Hash(raw) != sums[i] {
			p.fault(name, "SHA-256 is not that in "+sharding.SumsName)
		}
		if err := p.task(i, raw); err != nil {
			p.fault(name, err.Error())
		}
	}
	return nil
}

// oldSums reads the hashes of the task plans from SHA256SUMS. It returns nil if
// SHA256SUMS does not exist, as in folders of the first versions, or does not match its
// hash in plan.json.
func (p *planCheck) oldSums(ctx context.Context) ([]string, error) {
	const list = sharding.PlanFolder + "/" + sharding.SumsName
	raw, err := store.ReadFile(ctx, p.folder, sharding.SumsName)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if p.plan.TasksSHA256 != "" {
			p.fault(sharding.SumsName, "missing")
		}
		return nil, nil
	case err != nil:
		return nil, err
	case sharding.Hash(raw) != p.plan.TasksSHA256:
		files := make([][]byte, p.plan.Tasks)
		for i := range files {
			if files[i], err = store.ReadFile(ctx, p.folder, sharding.OldTaskFile(i)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
		}
		if bytes.Equal(raw, sharding.PlanSums(files)) {
			p.report.add(sharding.Problem{File: sharding.PlanName, Reason: "tasks_sha256 is not the SHA-256 of " + list})
		} else {
			p.fault(sharding.SumsName, "SHA-256 is not that in "+sharding.PlanName)
		}
		return nil, nil
	}
	var sums []string
	for line := range strings.Lines(string(raw)) {
		sum, _, _ := strings.Cut(line, " ")
		sums = append(sums, sum)
	}
	if len(sums) != p.plan.Tasks {
		p.fault(sharding.SumsName, fmt.Sprintf("%d hashes for %d tasks", len(sums), p.plan.Tasks))
		return nil, nil
	}
	return sums, nil
}

// strangers reports each file in plan/ that does not belong to a task.
func (p *planCheck) strangers(ctx context.Context) error {
	infos, err := p.folder.List(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // all files are already reported
	}
	if err != nil {
		return err
	}
	for _, info := range infos {
		if !p.planned(info.Name()) && !forPeople(info.Name()) {
			p.fault(info.Name(), "no task has this plan: a file of another run?")
		}
	}
	return nil
}

// planned reports whether plan/ should contain a file with this name.
func (p *planCheck) planned(name string) bool {
	if p.plan.Version == sharding.PlanVersion {
		return name == sharding.TasksName
	}
	stem, isTask := strings.CutSuffix(name, sharding.SideCarSuffix)
	number, err := strconv.Atoi(stem)
	isTask = isTask && err == nil && number >= 0 && number < p.plan.Tasks && name == sharding.OldTaskFile(number)
	return isTask || name == sharding.SumsName
}
