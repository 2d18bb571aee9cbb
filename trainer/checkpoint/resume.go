package checkpoint

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"pretext/internal/failure"
	"pretext/internal/store"
	"pretext/trainer"
)

// ErrNone is returned by [Newest] if there is no valid checkpoint.
var ErrNone = errors.New("no valid checkpoint")

// A Checkpoint is a verified checkpoint folder.
type Checkpoint struct {
	Dir    string
	Config trainer.Config
	State  State
}

// Newest returns the valid checkpoint with the highest step in the directory
// out. It skips corrupt or incomplete checkpoints. If none is valid, the error
// matches [ErrNone] and explains what is wrong with each. A checkpoint in a later
// format ends the search with a [*failure.Newer].
func Newest(out string) (*Checkpoint, error) {
	steps, err := stepFolders(out)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var damaged []error
	for _, name := range slices.Backward(steps) {
		c, err := Open(filepath.Join(out, name))
		if err == nil {
			return c, nil
		}
		if newer := (*failure.Newer)(nil); errors.As(err, &newer) {
			return nil, err // resuming from an older checkpoint would lose the newer program's steps
		}
		damaged = append(damaged, err)
	}
	return nil, errors.Join(append([]error{fmt.Errorf("%w in %s", ErrNone, out)}, damaged...)...)
}

// Last returns the folder of the checkpoint with the highest step in the output
// directory of a run, without verifying it; "" if there is none.
func Last(out string) string {
	steps, err := stepFolders(out)
	if err != nil || len(steps) == 0 {
		return ""
	}
	return filepath.Join(out, steps[len(steps)-1])
}

// stepFolders returns the names of the checkpoint folders, sorted by step.
func stepFolders(out string) ([]string, error) {
	entries, err := os.ReadDir(out)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		digits, ok := strings.CutPrefix(e.Name(), "step-")
		if ok && e.IsDir() && len(digits) >= 8 && strings.Trim(digits, "0123456789") == "" {
			names = append(names, e.Name())
		}
	}
	slices.SortFunc(names, func(a, b string) int { // numbers of more than eight digits have longer names
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	})
	return names, nil
}

// Open opens the checkpoint folder dir. It verifies the size and hash of every
// file in the manifest, and reads the model configuration and the state.
func Open(dir string) (*Checkpoint, error) {
	c := &Checkpoint{Dir: dir}
	if err := c.open(); err != nil {
		return nil, fmt.Errorf("open checkpoint %s: %w", dir, damaged(err))
	}
	return c, nil
}

func (c *Checkpoint) open() error {
	names, err := verify(c.Dir)
	if err != nil {
		return err
	}
	for _, name := range []string{configFile, weightsFile, optimizerFile, stateFile} {
		if !slices.Contains(names, name) {
			return fmt.Errorf("%s: not in the manifest", name)
		}
	}
	b, err := readBounded(filepath.Join(c.Dir, configFile), maxConfig)
	if err != nil {
		return err
	}
	if c.Config, err = trainer.ParseConfig(b); err != nil {
		return err
	}
	if err := readJSON(filepath.Join(c.Dir, stateFile), &c.State); err != nil {
		return err
	}
	if err := failure.CheckVersion(c.State.Format, formatVersion); err != nil {
		return err
	}
	if c.State.Format != formatVersion {
		return fmt.Errorf("format %d: this version reads format %d", c.State.Format, formatVersion)
	}
	return c.State.Heads.Validate()
}

func readJSON(path string, v any) error {
	b, err := readBounded(path, maxConfig)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	return nil
}

// verify checks the files of a folder against its manifest and returns their
// names.
func verify(dir string) ([]string, error) {
	var m manifest
	if err := readJSON(filepath.Join(dir, manifestFile), &m); err != nil {
		return nil, missing(manifestFile, err)
	}
	if err := failure.CheckVersion(m.Format, formatVersion); err != nil {
		return nil, err
	}
	if m.Format != formatVersion {
		return nil, fmt.Errorf("format %d: this version reads format %d", m.Format, formatVersion)
	}
	var names []string
	for _, f := range m.Files {
		if f.Name != filepath.Base(f.Name) || f.Name == manifestFile {
			return nil, fmt.Errorf("manifest: invalid file name %q: must be a plain name without a directory, and not %s", f.Name, manifestFile)
		}
		if err := verifyFile(filepath.Join(dir, f.Name), f); err != nil {
			return nil, err
		}
		names = append(names, f.Name)
	}
	return names, nil
}

func verifyFile(path string, want fileEntry) error {
	f, err := store.OpenRegular(path)
	if err != nil {
		return missing(want.Name, err)
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, f)
	if err != nil {
		return err
	}
	if n != want.Bytes || hex.EncodeToString(h.Sum(nil)) != want.SHA256 {
		return fmt.Errorf("%s: differs from the manifest", want.Name)
	}
	return nil
}

// Check compares s, the state of a checkpoint, with run, the settings of a run
// that would resume from it. The error lists every difference in a setting that
// must not change within a phase. The number of ranks, the device, the precision
// and the rates of future steps ([trainer.Schedule.Continues]) may change.
func (s State) Check(run State) error {
	var errs []error
	check := func(name string, was, is any) {
		if !reflect.DeepEqual(was, is) {
			errs = append(errs, fmt.Errorf("%s: the checkpoint has %v, this run %v", name, was, is))
		}
	}
	check("phase", s.Phase, run.Phase)
	check("heads", s.Heads, run.Heads)
	check("train_batch_size", s.Batch, run.Batch)
	check("micro_batch_tokens", s.Tokens, run.Tokens)
	check("seed", s.Seed, run.Seed)
	check("data manifest", s.Data, run.Data)
	if err := run.Schedule.Continues(s.Schedule, s.Progress.Step); err != nil {
		errs = append(errs, fmt.Errorf("schedule: %w", err))
	}
	check("optimizer", s.Optimizer, run.Optimizer)
	names := maps.Collect(maps.All(s.Options))
	maps.Copy(names, run.Options)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		check(name, strconv.Quote(s.Options[name]), strconv.Quote(run.Options[name]))
	}
	return errors.Join(errs...)
}

// Weights opens the weights of the checkpoint. Close the result after use.
func (c *Checkpoint) Weights() (*Pretrained, error) { return OpenPretrained(c.Dir) }

// Restore loads weights, optimizer moments and counters into m, which must have
// been opened with the checkpoint's config and heads.
func (c *Checkpoint) Restore(m trainer.Model) error {
	if err := c.restore(m); err != nil {
		return fmt.Errorf("restore checkpoint %s: %w", c.Dir, damaged(err))
	}
	return nil
}

func (c *Checkpoint) restore(m trainer.Model) error {
	p, err := c.Weights()
	if err != nil {
		return err
	}
	defer p.Close()
	report, err := m.Load(trainer.Weights, p.Tensors())
	if err != nil {
		return err
	}
	if err := report.Complete(); err != nil {
		return err
	}
	if err := c.LoadMoments(m, c.State.Heads); err != nil {
		return err
	}
	m.SetState(c.State.Model)
	return nil
}

// LoadMoments loads the optimizer's moments into m, a model with the heads h: a new phase
// starts with the weights and moments of the previous phase. The schedule starts again, but
// the bias correction counts all updates that the moments have seen
// ([trainer.State].Carried). Moments of heads that m does not have are ignored. Moments of
// heads that the checkpoint does not have stay zero.
func (c *Checkpoint) LoadMoments(m trainer.Model, h trainer.Heads) error {
	s, err := OpenSafetensors(filepath.Join(c.Dir, optimizerFile))
	if err != nil {
		return err
	}
	defer s.Close()
	for _, kind := range momentKinds {
		report, err := m.Load(kind, prefixed(s, momentPrefix[kind]))
		if err != nil {
			return err
		}
		if err := c.ofOtherHeads(report, h).Complete(); err != nil {
			return fmt.Errorf("%v: %w", kind, err)
		}
	}
	now := m.State()
	now.Carried = c.State.Model.Carried + c.State.Model.Step
	m.SetState(now)
	return nil
}

// ofOtherHeads removes from the report the tensors of heads that only the checkpoint
// has, or only a model with the heads h, and returns the result.
func (c *Checkpoint) ofOtherHeads(r trainer.LoadReport, h trainer.Heads) trainer.LoadReport {
	without := func(names []string, has trainer.Heads) []string {
		specs := trainer.Tensors(c.Config, has)
		return slices.DeleteFunc(names, func(name string) bool {
			return !slices.ContainsFunc(specs, func(s trainer.TensorSpec) bool { return s.Name == name })
		})
	}
	return trainer.LoadReport{Missing: without(r.Missing, c.State.Heads), Unexpected: without(r.Unexpected, h)}
}

// prefixed yields the tensors of s whose names begin with prefix. It removes
// the prefix from the names.
func prefixed(s *Safetensors, prefix string) iter.Seq2[trainer.Tensor, error] {
	return func(yield func(trainer.Tensor, error) bool) {
		var data []float32
		for _, e := range s.Entries {
			name, ok := strings.CutPrefix(e.Name, prefix)
			if !ok {
				continue
			}
			t, err := safeWeights{s}.tensor(name, e.Name, data)
			if !yield(t, err) || err != nil {
				return
			}
			data = t.Data
		}
	}
}

// A Saver is a [trainer.Saver] that writes checkpoint folders to Dir. Only rank
// 0 writes.
type Saver struct {
	Dir       string
	Keep      int // number of newest checkpoints to keep; 0 keeps all
	Rank      int
	Config    trainer.Config
	State     State // the fields that stay the same during the run
	Tokenizer Tokenizer

	// Progress, if not nil, is called with the bytes written and the approximate
	// size of the folder after each write.
	Progress func(written, total int64)
}

// Save writes a checkpoint, then removes all but the newest s.Keep checkpoints.
// It does nothing on ranks other than 0.
func (s *Saver) Save(p trainer.Progress, m trainer.Snapshot) error {
	if s.Rank != 0 {
		return nil
	}
	if err := s.write(p, m); err != nil {
		return err
	}
	if s.Keep == 0 {
		return nil
	}
	if err := s.prune(); err != nil {
		return fmt.Errorf("remove old checkpoints: %w", err)
	}
	return nil
}

// prune removes all but the newest s.Keep checkpoints. It does not remove
// temporary files of killed processes: the next process removes them when it
// locks the folder.
func (s *Saver) prune() error {
	steps, err := stepFolders(s.Dir)
	if err != nil {
		return err
	}
	folder, err := store.Open(s.Dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range steps[:max(0, len(steps)-s.Keep)] {
		errs = append(errs, store.RemoveFolder(folder, name))
	}
	return errors.Join(errs...)
}
