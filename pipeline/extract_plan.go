package pipeline

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"pretext/extract/books"
	"pretext/extract/wiki"
	"pretext/internal/failure"
	"pretext/internal/store"
	"pretext/sharding"
)

// A sourcePlan lists the tasks of the extract stage. It is derived from the names,
// sizes, and first and last bytes of the sources.
type sourcePlan struct {
	sources []SourceSpec
	inputs  []sharding.Input
	tasks   []extractTask
	bytes   int64
	stems   stems
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

// paths returns the paths of all sources.
func (p *sourcePlan) paths() (paths []string) {
	for _, s := range p.sources {
		paths = append(paths, s.Paths...)
	}
	return paths
}

// sizes returns the number of bytes that each task reads.
func (p *sourcePlan) sizes() (sizes []int64) {
	for _, task := range p.tasks {
		sizes = append(sizes, task.bytes(p.sources[task.Source]))
	}
	return sizes
}

// planSources divides the sources into tasks. All text files form one source, because
// they are one stream of lines. note receives messages for the user.
func planSources(ctx context.Context, c ExtractConfig, note func(string)) (*sourcePlan, error) {
	p := &sourcePlan{stems: stems{}}
	var texts []string
	sources, err := expandSources(ctx, c.Sources, note)
	if err != nil {
		return nil, err
	}
	for _, s := range sources {
		var err error
		switch {
		case s.books != nil:
			err = p.planBooks(ctx, listedBooks{bookFiles{ctx}, s.books}, store.Absolute(s.Path), c.Extract.Books)
		case s.Kind == KindWiki:
			err = p.addWiki(ctx, s.Path)
		case s.Kind == KindWikiHTML:
			err = p.addWikiHTML(ctx, s.Path)
		case s.Kind == KindBooks:
			if err = checkBook(ctx, s.Path); err == nil {
				err = p.planBooks(ctx, bookFiles{ctx}, store.Absolute(s.Path), c.Extract.Books)
			}
			if errors.Is(err, books.ErrNoBooks) {
				err = cmp.Or(notBooks.Check(ctx, s.Path), fmt.Errorf("%s: %w", s.Path, books.ErrNoBooks))
			}
		case s.Kind == kindJSONL:
			if err = checkFields(ctx, s.Path, c.Extract.Text); err == nil {
				err = p.addText(ctx, s.Kind, []string{s.Path})
			}
		case s.Kind == kindText:
			texts = append(texts, s.Path)
		default:
			panic("BUG: source of kind " + s.Kind)
		}
		if err != nil {
			return nil, err
		}
	}
	if len(texts) > 0 {
		if err := p.addText(ctx, kindText, texts); err != nil {
			return nil, err
		}
	}
	if len(p.tasks) == 0 {
		return nil, failure.Usagef("no sources: nothing to extract from")
	}
	return p, nil
}

// add adds a source with a unique stem and returns its index.
func (p *sourcePlan) add(s SourceSpec) int {
	s.Stem = p.stems.next(s.Paths[0])
	p.bytes += s.Bytes
	p.sources = append(p.sources, s)
	return len(p.sources) - 1
}

func (p *sourcePlan) addWiki(ctx context.Context, path string) error {
	in, err := sharding.SourceInput(ctx, path)
	if err != nil {
		return err
	}
	f, dump, err := openDump(ctx, path)
	if err != nil {
		return err
	}
	defer f.Close()
	source := p.add(SourceSpec{Kind: KindWiki, Paths: []string{store.Absolute(path)}, Bytes: f.Size(), Head: dump.Head, Inputs: []sharding.Input{in}})
	for i, r := range wiki.Ranges(f.Size()) {
		p.tasks = append(p.tasks, extractTask{Source: source, Number: i, Range: &r})
	}
	p.inputs = append(p.inputs, in)
	return nil
}

// openDump opens a dump and reads its head. The caller must close the file.
func openDump(ctx context.Context, path string) (store.File, wiki.Dump, error) {
	f, err := store.OpenPath(ctx, path)
	if err != nil {
		return nil, wiki.Dump{}, err
	}
	head, err := wiki.ReadHead(f, f.Size())
	if err != nil {
		f.Close()
		return nil, wiki.Dump{}, fmt.Errorf("%s: %w", path, err)
	}
	return f, wiki.Dump{File: f, Size: f.Size(), Name: store.Base(path), Head: head}, nil
}

// planBooks adds the books of one source. from is the store that lists the books in path.
func (p *sourcePlan) planBooks(ctx context.Context, from books.Store, path string, options books.Options) error {
	tasks, err := abandon(ctx, func() ([]books.Task, error) { return books.Plan(from, []string{path}, options) })
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
	source := p.add(s)
	for i, t := range tasks {
		t.Path = "" // a plan contains no path; it is stored with the source
		p.tasks = append(p.tasks, extractTask{Source: source, Number: i, Books: &t})
	}
	p.inputs = append(p.inputs, in)
	return nil
}

// booksAtOnce is the number of books whose ends are read concurrently: in an object store
// each takes some hundredths of a second, and a folder may have a million.
const booksAtOnce = 32

// booksInput returns the input for a file or directory of books. A directory is
// identified by the hash of its listing, which has one line "path TAB bytes TAB hash" per
// file to read.
func booksInput(ctx context.Context, path string, tasks []books.Task) (sharding.Input, error) {
	if len(tasks[0].Files) == 0 {
		return sharding.SourceInput(ctx, path)
	}
	var names []books.Name
	for _, t := range tasks {
		names = append(names, t.Files...)
	}
	names = slices.Compact(names) // several tasks read row groups of the same file
	inputs := make([]sharding.Input, len(names))
	g, within := errgroup.WithContext(ctx)
	g.SetLimit(booksAtOnce)
	for i, name := range names {
		g.Go(func() (err error) {
			inputs[i], err = sharding.SourceInput(within, store.Join(path, string(name)))
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return sharding.Input{}, cmp.Or(ctx.Err(), err)
	}
	listing := sha256.New()
	total := int64(0)
	for i, in := range inputs {
		fmt.Fprintf(listing, "%s\t%d\t%s\n", names[i], in.Bytes, in.SHA256)
		total += in.Bytes
	}
	return sharding.Input{Name: store.Base(path), Bytes: total, SHA256: hex.EncodeToString(listing.Sum(nil))}, nil
}

func (p *sourcePlan) addText(ctx context.Context, kind string, paths []string) error {
	s := SourceSpec{Kind: kind}
	for _, path := range paths {
		if kind == kindText {
			if err := notBERTText.Check(ctx, path); err != nil {
				return err
			}
		}
		in, err := sharding.SourceInput(ctx, path)
		if err != nil {
			return err
		}
		s.Bytes += in.Bytes
		s.Paths, s.Inputs = append(s.Paths, store.Absolute(path)), append(s.Inputs, in)
		p.inputs = append(p.inputs, in)
	}
	p.tasks = append(p.tasks, extractTask{Source: p.add(s)})
	return nil
}

// stems counts how many sources have each stem.
type stems map[string]int

// next returns a unique stem for a source.
func (s stems) next(path string) string {
	name := stem(path)
	s[name]++
	if n := s[name]; n > 1 {
		name = fmt.Sprintf("%s-%d", name, n) // two sources with the same name
		s[name]++
	}
	return name
}

// stem returns the part of the documents files' names that identifies the source. It is
// the base name of path without suffixes such as .xml.bz2, restricted to characters that
// every file system accepts.
func stem(path string) string {
	name := store.Base(path)
	for {
		cut := name
		for _, suffix := range []string{".bz2", ".gz", ".zst", ".tgz", ".tar", ".zip", ".xml", ".txt", ".jsonl", ".ndjson", ".json", ".html", ".epub", ".parquet"} {
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
