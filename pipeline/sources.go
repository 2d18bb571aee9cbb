package pipeline

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"

	"pretext/extract/books"
	"pretext/extract/wiki"
	"pretext/internal/store"
	"pretext/sharding"
)

// A sourcePlan is what the extract stage will do, found by looking at the
// sources' names, sizes and first and last bytes.
type sourcePlan struct {
	sources []SourceSpec
	inputs  []sharding.Input
	tasks   []any
	bytes   int64
}

func (p *sourcePlan) names() string {
	var names []string
	for _, in := range p.inputs {
		names = append(names, in.Name)
	}
	if len(names) > 3 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:3], ", "), len(names)-3)
	}
	return strings.Join(names, ", ")
}

// paths returns what is read.
func (p *sourcePlan) paths() (paths []string) {
	for _, s := range p.sources {
		paths = append(paths, s.Paths...)
	}
	return paths
}

// sizes returns the bytes that each task reads.
func (p *sourcePlan) sizes() (sizes []int64) {
	for _, t := range p.tasks {
		task := t.(extractTask)
		sizes = append(sizes, task.bytes(p.sources[task.Source]))
	}
	return sizes
}

// planSources cuts the sources into tasks. Text files are one source wherever
// they stand on the command line, since they are one stream of lines. note is told
// what a person should know.
func planSources(ctx context.Context, c ExtractConfig, note func(string)) (*sourcePlan, error) {
	p := new(sourcePlan)
	stems := map[string]int{}
	var texts []string
	sources, err := expandSources(ctx, c.Sources, note)
	if err != nil {
		return nil, err
	}
	for _, s := range sources {
		var err error
		switch {
		case s.books != nil:
			err = p.planBooks(ctx, listedBooks{files: s.books}, store.Absolute(s.Path), c.Options.Books, stems)
		case s.Kind == KindWiki:
			err = p.addWiki(ctx, s.Path, stems)
		case s.Kind == KindBooks:
			err = p.planBooks(ctx, books.Local{}, store.Absolute(s.Path), c.Options.Books, stems)
		case s.Kind == KindJSONL:
			if err = checkFields(ctx, s.Path, c.Options.Text); err == nil {
				err = p.addText(ctx, s.Kind, []string{s.Path}, stems)
			}
		case s.Kind == KindText:
			texts = append(texts, s.Path)
		default:
			panic("BUG: source of kind " + s.Kind)
		}
		if err != nil {
			return nil, err
		}
	}
	if len(texts) > 0 {
		if err := p.addText(ctx, KindText, texts, stems); err != nil {
			return nil, err
		}
	}
	if len(p.tasks) == 0 {
		return nil, &ConfigError{Err: fmt.Errorf("no sources: nothing to extract from")}
	}
	return p, nil
}

// add adds a source and returns its index.
func (p *sourcePlan) add(s SourceSpec, stems map[string]int) int {
	s.Stem = stem(s.Paths[0])
	stems[s.Stem]++
	if n := stems[s.Stem]; n > 1 {
		s.Stem = fmt.Sprintf("%s-%d", s.Stem, n) // two sources of one name
		stems[s.Stem]++
	}
	p.bytes += s.Bytes
	p.sources = append(p.sources, s)
	return len(p.sources) - 1
}

func (p *sourcePlan) addWiki(ctx context.Context, path string, stems map[string]int) error {
	in, err := inputOf(ctx, path)
	if err != nil {
		return err
	}
	f, err := store.OpenPath(ctx, path)
	if err != nil {
		return err
	}
	defer f.Close()
	head, err := wiki.ReadHead(f, f.Size())
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	source := p.add(SourceSpec{Kind: KindWiki, Paths: []string{store.Absolute(path)}, Bytes: f.Size(), Head: head, Inputs: []sharding.Input{in}}, stems)
	for i, r := range wiki.Ranges(f.Size()) {
		p.tasks = append(p.tasks, extractTask{Source: source, Number: i, Range: &r})
	}
	p.inputs = append(p.inputs, in)
	return nil
}

// planBooks adds books: all of a path, or those of a download folder in which
// more may lie.
func (p *sourcePlan) planBooks(ctx context.Context, from books.Store, path string, options books.Options, stems map[string]int) error {
	tasks, err := books.Plan(from, []string{path}, options)
	if err != nil {
		return err
	}
	s := SourceSpec{Kind: KindBooks, Paths: []string{path}}
	for _, t := range tasks {
		s.Bytes += t.Bytes
	}
	in, err := booksInput(ctx, path, tasks)
	if err != nil {
		return err
	}
	if len(tasks[0].Files) == 0 {
		s.Inputs = []sharding.Input{in}
	}
	source := p.add(s, stems)
	for i, t := range tasks {
		t.Path = "" // plans hold no path; the source has it
		p.tasks = append(p.tasks, extractTask{Source: source, Number: i, Books: &t})
	}
	p.inputs = append(p.inputs, in)
	return nil
}

// booksInput describes a file, or a folder by the hash of its listing: a line
// "path TAB bytes TAB hash" for each file that is read.
func booksInput(ctx context.Context, path string, tasks []books.Task) (sharding.Input, error) {
	if len(tasks[0].Files) == 0 {
		return inputOf(ctx, path)
	}
	listing := sha256.New()
	total := int64(0)
	last := books.Name("")
	for _, t := range tasks {
		for _, name := range t.Files {
			if name == last { // its row groups are several tasks
				continue
			}
			last = name
			in, err := inputOf(ctx, filepath.Join(path, filepath.FromSlash(string(name))))
			if err != nil {
				return sharding.Input{}, err
			}
			fmt.Fprintf(listing, "%s\t%d\t%s\n", name, in.Bytes, in.SHA256)
			total += in.Bytes
		}
	}
	return sharding.Input{Name: filepath.Base(path), Bytes: total, SHA256: hex.EncodeToString(listing.Sum(nil))}, nil
}

func (p *sourcePlan) addText(ctx context.Context, kind string, paths []string, stems map[string]int) error {
	s := SourceSpec{Kind: kind}
	for _, path := range paths {
		in, err := inputOf(ctx, path)
		if err != nil {
			return err
		}
		s.Bytes += in.Bytes
		s.Paths, s.Inputs = append(s.Paths, store.Absolute(path)), append(s.Inputs, in)
		p.inputs = append(p.inputs, in)
	}
	p.tasks = append(p.tasks, extractTask{Source: p.add(s, stems)})
	return nil
}

// inputOf describes a raw source for the recipe.
func inputOf(ctx context.Context, path string) (sharding.Input, error) {
	f, err := store.OpenPath(ctx, path)
	if err != nil {
		return sharding.Input{}, err
	}
	defer f.Close()
	sum, err := sharding.EndsHash(f)
	if err != nil {
		return sharding.Input{}, fmt.Errorf("read %s: %w", path, err)
	}
	return sharding.Input{Name: filepath.Base(path), Bytes: f.Size(), SHA256: sum}, nil
}

// stem is the part of a documents file's name that tells its source: the base
// name without what says how it is packed, in letters that any store takes.
func stem(path string) string {
	name := filepath.Base(path)
	for {
		cut := name
		for _, suffix := range []string{".bz2", ".gz", ".zst", ".tgz", ".tar", ".zip", ".xml", ".txt", ".jsonl", ".json", ".epub", ".parquet"} {
			cut = strings.TrimSuffix(cut, suffix)
		}
		if cut == name || cut == "" {
			break
		}
		name = cut
	}
	name = strings.Map(func(r rune) rune {
		if r < 0x80 && (r == '-' || r == '_' || '0' <= r && r <= '9' || 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z') {
			return r
		}
		return '_'
	}, name)
	return name[:min(len(name), 100)]
}
