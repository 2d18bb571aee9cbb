package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"pretext/extract/books"
	"pretext/extract/text"
	"pretext/extract/wiki"
	"pretext/internal/failure"
	"pretext/internal/redact"
	"pretext/internal/store"
	"pretext/pipeline/stage"
	"pretext/sharding"
)

// findFiles replaces patterns (parts/*.bz2) and directories of dumps and text files by
// the matching files. It skips files that accompany dumps, such as indexes and checksums,
// and sorts the parts of a dump by page. It does not replace directories of books and of
// downloads. note receives messages for the user.
func findFiles(sources []Source, note func(string)) (found []Source, err error) {
	for _, s := range sources {
		if err := checkLocal(s); err != nil {
			return nil, err
		}
		paths, err := matches(s)
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			found = append(found, Source{s.Kind, path})
		}
	}
	dumps := slices.ContainsFunc(found, func(s Source) bool { return s.Kind == KindWiki && wiki.Companion(s.Path) == "" })
	passed := map[string][]string{} // names of skipped files, by their description
	var kept []Source
	var parts []string
	for _, s := range found {
		what := ""
		if s.Kind == KindWiki {
			what = wiki.Companion(s.Path)
		}
		switch {
		case what != "" && dumps:
			passed[what] = append(passed[what], store.Base(s.Path))
		case what != "":
			return nil, failure.Usagef("%s: %w", s.Path, wiki.NotDump(what))
		default:
			kept = append(kept, s)
			if s.Kind == KindWiki {
				parts = append(parts, s.Path)
			}
		}
	}
	for _, what := range slices.Sorted(maps.Keys(passed)) {
		names := passed[what]
		if len(names) == 1 {
			note(fmt.Sprintf("%s is not read: it is %s", names[0], what))
		} else {
			note(fmt.Sprintf("%s and %d more are not read: each is %s", names[0], len(names)-1, what))
		}
	}
	for _, line := range wiki.CheckParts(parts) {
		note("dump " + line)
	}
	return kept, nil
}

// checkLocal returns a usage error if s is a URL other than an object's location. Sources
// must be local files or objects.
func checkLocal(s Source) error {
	scheme, rest, ok := strings.Cut(s.Path, "://")
	if !ok || strings.ContainsAny(scheme, `/\`) || strings.EqualFold(scheme, "s3") || scheme == "mem" {
		return nil
	}
	cure := "copy it to this machine first, and give the file"
	switch strings.ToLower(scheme) {
	case "http", "https":
		cure = "let --url download it, or --wiki NAME the newest dump of a wiki"
		if s.Kind == kindText || s.Kind == kindJSONL {
			cure = "download it first, with prepare-data download --url, and give the file"
		}
	case "gs":
		cure = "copy it to this machine first, with gcloud storage cp, and give the file"
	case "file":
		cure = "give the path alone, " + redact.URL("/"+strings.TrimLeft(rest, "/"))
	}
	return failure.Usagef("%s is a URL, not a local file: %s", redact.URL(s.Path), cure)
}

// matches returns the paths of a source: the files that match its pattern, the dumps or
// text files in its directory, or its path itself.
func matches(s Source) ([]string, error) {
	info, err := store.Stat(context.Background(), s.Path)
	switch {
	case err == nil && info.IsDir() && (s.Kind == KindWiki || s.Kind == KindWikiHTML || s.Kind == kindText):
		return filesOf(s)
	case err == nil || !strings.ContainsAny(s.Path, "*?["):
		return []string{s.Path}, nil // if it does not exist, opening it will report that
	}
	paths, err := glob(s.Path)
	if err != nil {
		return nil, failure.Usagef("pattern %s: %w", s.Path, err)
	}
	if len(paths) == 0 {
		return nil, failure.Usagef("no file matches %s", s.Path)
	}
	if s.Kind == KindWiki {
		wiki.SortParts(paths)
	}
	return paths, nil
}

// glob returns the files whose locations match a pattern. In an object store, only the
// last path element may contain wildcards.
func glob(pattern string) (paths []string, err error) {
	if local, ok := store.Locate(pattern).Local(); ok {
		return filepath.Glob(local)
	}
	entries, err := store.ReadDir(context.Background(), store.Dir(pattern))
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		ok, err := path.Match(store.Base(pattern), e.Name())
		if err != nil {
			return nil, err
		}
		if ok {
			paths = append(paths, store.Join(store.Dir(pattern), e.Name()))
		}
	}
	return paths, nil
}

// filesOf returns the dumps, snapshots or text files in the directory s.Path. For a
// directory of HTML pages it returns s.Path itself. For a download directory it also
// returns s.Path, which [expandDownloads] will replace.
func filesOf(s Source) (paths []string, err error) {
	folder, err := store.Open(s.Path)
	if err != nil {
		return nil, err
	}
	if isDownloads(folder) {
		return []string{s.Path}, nil
	}
	entries, err := store.ReadDir(context.Background(), s.Path) // sorted by name
	if err != nil {
		return nil, err
	}
	wanted, what := isDumpOrCompanion, "dump (.xml, .xml.bz2 or .xml.gz)"
	switch s.Kind {
	case kindText:
		wanted, what = isText, "text file (.txt, .txt.gz or .txt.zst)"
	case KindWikiHTML:
		wanted = isSnapshot
	}
	for _, e := range entries {
		path := store.Join(s.Path, e.Name())
		if info, err := store.Stat(context.Background(), path); err == nil && info.Mode().IsRegular() && wanted(path) {
			paths = append(paths, path)
		}
	}
	if len(paths) == 0 && s.Kind == KindWikiHTML {
		return []string{s.Path}, nil // a directory of HTML pages
	}
	if len(paths) == 0 {
		err := failure.Usagef("folder %s has no %s in it", s.Path, what)
		if s.Kind == KindWiki {
			err = cmp.Or(notDumps.Check(context.Background(), s.Path), err)
		}
		return nil, err
	}
	if s.Kind == KindWiki {
		wiki.SortParts(paths)
	}
	return paths, nil
}

func isDumpOrCompanion(path string) bool { return wiki.HasDumpName(path) || wiki.Companion(path) != "" }

// isText reports whether a file name is that of a text file.
func isText(path string) bool {
	name := strings.ToLower(store.Base(path))
	for _, packed := range []string{".gz", ".zst"} {
		name = strings.TrimSuffix(name, packed)
	}
	return strings.HasSuffix(name, ".txt") && !strings.HasPrefix(name, ".")
}

// isDownloads reports whether folder is the directory of a download stage.
func isDownloads(folder store.Folder) bool {
	plan, err := sharding.ReadPlan(context.Background(), folder)
	return err == nil && plan.Stage == "download"
}

// An expandedSource is a source as the extract stage reads it. Download directories are
// replaced by their files.
type expandedSource struct {
	Source
	books []books.Info // books to read from the directory Path; nil: all books
}

// expandSources replaces patterns, directories and download directories in sources by
// their files. note receives messages about skipped and missing files.
func expandSources(ctx context.Context, sources []Source, note func(string)) ([]expandedSource, error) {
	found, err := findFiles(sources, note)
	if err != nil {
		return nil, err
	}
	return expandDownloads(ctx, found)
}

// expandDownloads replaces each download directory by its files of the requested
// kind.
func expandDownloads(ctx context.Context, sources []Source) (out []expandedSource, err error) {
	for _, s := range sources {
		files, ok, err := downloadsIn(ctx, s.Path)
		if err != nil {
			return nil, err
		}
		if !ok || s.Kind != KindWiki && s.Kind != KindBooks {
			out = append(out, expandedSource{Source: s})
			continue
		}
		parts := partsOf(s, files)
		if len(parts) == 0 {
			return nil, failure.Usagef("%s holds downloads, but none of kind %s", s.Path, s.Kind)
		}
		out = append(out, parts...)
	}
	return out, nil
}

// partsOf returns the files of kind s.Kind in a download directory as sources. Each dump
// and each archive is a source of its own. All single books together form one source.
func partsOf(s Source, files []sharding.FileEntry) (parts []expandedSource) {
	var loose []books.Info
	for _, f := range files {
		switch {
		case f.Origin.Kind != s.Kind:
		case s.Kind == KindBooks && isBook(f.Name):
			loose = append(loose, books.Info{Name: f.Name, Size: f.Bytes})
		default:
			parts = append(parts, expandedSource{Source: Source{s.Kind, store.Join(s.Path, f.Name)}})
		}
	}
	if loose != nil {
		parts = append(parts, expandedSource{Source: s, books: loose})
	}
	return parts
}

// isBook reports whether a file is a single book instead of an archive.
func isBook(name string) bool {
	ext := strings.ToLower(filepath.Ext(name))
	return ext == ".txt" || ext == ".epub"
}

// downloadSources returns the content of a download directory as sources for the extract
// stage: dumps first, then books.
func downloadSources(ctx context.Context, folder string) (sources []Source, err error) {
	files, _, err := downloadsIn(ctx, folder)
	if err != nil {
		return nil, err
	}
	for _, kind := range []string{KindWiki, KindBooks} {
		if slices.ContainsFunc(files, func(f sharding.FileEntry) bool { return f.Origin.Kind == kind }) {
			sources = append(sources, Source{kind, folder})
		}
	}
	return sources, nil
}

// listedBooks is a [books.Store] for a directory in which only some files are books.
type listedBooks struct {
	bookFiles
	files []books.Info
}

// List implements [books.Store].
func (l listedBooks) List(string) ([]books.Info, error) { return slices.Clone(l.files), nil }

// documentInputs describes the inputs of a stage that reads documents: documents
// directories, and third-party files, which are first extracted to a documents directory.
type documentInputs struct {
	stage.Target      // output of the stage
	Reading           // options for third-party files
	locked       bool // the stage writes to its directory while it plans
	folders      []string
	foreign      []Source // third-party files: BERT text, JSON lines
}

// sort divides arguments into documents directories (in.folders) and files of JSON lines
// (in.foreign). A directory of JSON lines is replaced by its files. texts, files in
// BERT's text format, are added to in.foreign.
func (in *documentInputs) sort(arguments, texts []string) error {
	for _, arg := range arguments {
		sources, ours, err := classify(arg)
		if err != nil {
			return err
		}
		if ours {
			in.folders = append(in.folders, arg)
		}
		in.foreign = append(in.foreign, sources...)
	}
	for _, path := range texts {
		in.foreign = append(in.foreign, Source{kindText, path})
	}
	return nil
}

// imported extracts the third-party documents to OUT/imported, and returns all
// documents directories.
func (in *documentInputs) imported(ctx context.Context, r stage.Runner) ([]string, error) {
	if len(in.foreign) == 0 {
		return in.folders, nil
	}
	t := in.In(sharding.ImportedFolder)
	_, err := Extract(ctx, r, ExtractConfig{Target: t, Reading: in.Reading, Sources: in.foreign})
	return append(in.folders, t.Out), err
}

// run runs the stage that reads the documents. plan returns the stage's configuration for
// the given directories. run holds the stage's lock while it imports third-party
// documents, so that no other run can replace the imported documents.
func (in *documentInputs) run(ctx context.Context, r stage.Runner, plan func(folders []string) (stage.Config, error)) (*sharding.Manifest, error) {
	if len(in.foreign) == 0 && !in.locked { // without the lock: if plan fails, no directory is created
		c, err := plan(in.folders)
		if err != nil {
			return nil, err
		}
		return stage.Run(ctx, r, c)
	}
	return stage.Locked(in.Out, func(folder store.Folder) (*sharding.Manifest, error) {
		folders, err := in.imported(ctx, r)
		if err != nil {
			return nil, err
		}
		c, err := plan(folders)
		if err != nil {
			return nil, err
		}
		return stage.RunIn(ctx, folder, r, c)
	})
}

// classify reports whether arg is a documents directory of pretext (ours). Otherwise
// foreign contains the files of JSON lines at arg.
func classify(arg string) (foreign []Source, ours bool, err error) {
	if err := checkLocal(Source{kindJSONL, arg}); err != nil {
		return nil, false, err
	}
	info, err := store.Stat(context.Background(), arg)
	if err != nil {
		return nil, false, err
	}
	if !info.IsDir() {
		return []Source{{kindJSONL, arg}}, false, nil
	}
	if err := notModel.Check(context.Background(), arg); err != nil {
		return nil, false, err
	}
	for _, name := range []string{sharding.ManifestName, sharding.PlanName} {
		if _, err := store.Stat(context.Background(), store.Join(arg, name)); err == nil {
			return nil, true, nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, false, err
		}
	}
	entries, err := store.ReadDir(context.Background(), arg) // sorted by name
	if err != nil {
		return nil, false, err
	}
	for _, e := range entries {
		if stem, _, found := strings.Cut(e.Name(), ".jsonl"); found && stem != "" && !strings.HasPrefix(stem, ".") && !e.IsDir() {
			foreign = append(foreign, Source{kindJSONL, store.Join(arg, e.Name())})
		}
	}
	if len(foreign) == 0 {
		return nil, false, cmp.Or(notDocuments.Check(context.Background(), arg),
			failure.Usagef("%s: no %s and no JSON lines (.jsonl) in it: give a folder of documents, which prepare-data extract writes", arg, sharding.ManifestName))
	}
	return foreign, false, nil
}

// checkFields returns a usage error if the text field is missing in each of the first
// objects in a file of JSON lines, because every line would be rejected.
func checkFields(ctx context.Context, path string, o text.Options) error {
	f, err := store.OpenPath(ctx, path)
	if err != nil {
		return err
	}
	defer f.Close()
	s, err := text.SampleFields(path, io.NewSectionReader(f, 0, f.Size()))
	if err != nil {
		return fmt.Errorf("read text %q: %w", path, err)
	}
	name, field := store.Base(path), cmp.Or(o.Field, "text")
	var wrong error
	if s.Objects == 0 {
		wrong = notJSONLines.Check(ctx, path)
	}
	switch {
	case wrong == nil && s.Array:
		return failure.Usagef("%s is one JSON array, not JSON lines: write one object a line, as jq -c '.[]' does", path)
	case s.Objects == 0:
		return wrong // if nil, the reader counts the invalid lines
	case slices.Contains(s.Fields, field):
		return nil
	}
	cure := "none of them holds text"
	if s.Longest != "" {
		cure = fmt.Sprintf("give --text-field %s if that one holds the text", s.Longest)
	}
	fields := s.Fields
	if len(fields) > 10 {
		fields = append(slices.Clip(fields[:10]), "…")
	}
	return failure.Usagef("%s: no line of the first %d has a field %q, the fields are %s: %s", name, s.Objects, field, strings.Join(fields, ", "), cure)
}
