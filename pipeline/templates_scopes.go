package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"pretext/extract/download"
	"pretext/extract/wiki"
	"pretext/internal/failure"
)

// A planWiki is a wiki whose dump is read by a run.
type planWiki struct {
	name, lang string // lang is "" if it is unknown
	downloaded bool   // the dump will be downloaded, and lang is derived from name
}

// String returns the wiki's name for messages, such as "frwiki (fr)".
func (w planWiki) String() string {
	if w.lang == "" {
		return w.name
	}
	return fmt.Sprintf("%s (%s)", w.name, w.lang)
}

// holds reports whether any line of a rendering data file applies to the wiki. For a dump
// that is not yet downloaded, it also returns true if a line might apply: the head of the
// dump may contain a variant of the language, such as nds-NL, or another code for it.
func (w planWiki) holds(f templateFile) bool {
	if f.HoldsFor(w.lang, w.name) {
		return true
	}
	return w.downloaded && slices.ContainsFunc(f.Scopes(), func(scope string) bool {
		base, _, _ := strings.Cut(scope, "-")
		return w.lang == "" || base == w.lang || strings.HasPrefix(w.name, base)
	})
}

// checkEffect reads the user's files of rendering data, and returns a usage error for options
// that have no effect on any of the sources. d is as for readTemplates.
func (r Reading) checkEffect(ctx context.Context, sources []Source, d *DownloadConfig) ([]templateFile, error) {
	isBooks := func(s Source) bool { return s.Kind == KindBooks }
	mayBeBooks := func(q download.Request) bool { return q.Kind == download.Gutenberg || q.Kind == download.URL }
	if r.Extract.Books.Encoding != "" && !slices.ContainsFunc(sources, isBooks) && (d == nil || !slices.ContainsFunc(d.Requests, mayBeBooks)) {
		return nil, failure.Usagef("--set encoding=%s: the setting has no effect, because no source is books: omit it, or give --books", r.Extract.Books.Encoding)
	}
	return r.readTemplates(ctx, sources, d)
}

// readTemplates reads the user's files of rendering data. If no line of a file applies to
// any dump of the run, this is a usage error, because the file would have no effect. Only
// dumps are checked, because HTML pages contain the results of templates. d describes the
// downloads of the run; nil: none.
func (r Reading) readTemplates(ctx context.Context, sources []Source, d *DownloadConfig) ([]templateFile, error) {
	files, err := r.Templates.read(ctx)
	if err != nil || len(files) == 0 {
		return nil, err
	}
	local, err := expandSources(ctx, sources, func(string) {}) // notes are written later, when the sources are planned
	if err != nil {
		return nil, err
	}
	wikis, err := r.localWikis(ctx, local)
	if err != nil {
		return nil, err
	}
	if d != nil {
		for _, q := range d.Requests {
			switch q.Kind {
			case download.Wiki:
				wikis = append(wikis, planWiki{q.Wiki, cmp.Or(r.Extract.Wiki.Language, wiki.LanguageOf(q.Wiki)), true})
			case download.URL:
				return files, nil // the download may be a dump of any wiki
			}
		}
	}
	return files, checkScopes(files, r.Templates, wikis)
}

// localWikis returns the wikis of all dumps in sources.
func (r Reading) localWikis(ctx context.Context, sources []expandedSource) (wikis []planWiki, err error) {
	for _, s := range sources {
		if s.Kind != KindWiki {
			continue
		}
		f, dump, err := openDump(ctx, s.Path)
		if err != nil {
			return nil, err
		}
		f.Close()
		wikis = append(wikis, planWiki{dump.Wiki(), cmp.Or(r.Extract.Wiki.Language, dump.Language()), false})
	}
	return wikis, nil
}

// checkScopes returns a usage error if a file has lines, but none of them applies to any
// of the wikis. paths are the paths of the files.
func checkScopes(files []templateFile, paths TemplateFiles, wikis []planWiki) error {
	for k, f := range files {
		scopes := f.Scopes()
		switch {
		case len(scopes) == 0:
		case len(wikis) == 0:
			return failure.Usagef("--templates %s: the file has no effect, because no source is a dump of a wiki: omit --templates, or give --wiki-dump", paths[k])
		case !slices.ContainsFunc(wikis, func(w planWiki) bool { return w.holds(f) }):
			return failure.Usagef("--templates %s: the file has no effect, because it has lines only for %s, and the dumps are of %s: add lines below [all], [LANGUAGE] or [WIKI] of a dump, or omit the file",
				paths[k], listed(scopes, "[%s]"), listed(wikis, "%s"))
		}
	}
	return nil
}

// listed returns the distinct elements of a list as text, each formatted with format; at
// most five.
func listed[T comparable](list []T, format string) string {
	var names []string
	for _, v := range list {
		if name := fmt.Sprintf(format, v); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) > 5 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:5], ", "), len(names)-5)
	}
	return strings.Join(names, ", ")
}
