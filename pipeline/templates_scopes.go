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

// A planWiki is the wiki of a dump that a run reads.
type planWiki struct {
	name, lang string // lang is "" if it is unknown
	downloaded bool   // the dump will be downloaded: lang follows from the name
}

// String returns the wiki as messages name it: "frwiki (fr)".
func (w planWiki) String() string {
	if w.lang == "" {
		return w.name
	}
	return fmt.Sprintf("%s (%s)", w.name, w.lang)
}

// holds reports whether a line of a file of rendering data holds for the wiki. Of
// a dump that will be downloaded, it is enough that it may hold: the dump's head
// may name a variant of the language, such as nds-NL, or another code for it.
func (w planWiki) holds(f templateFile) bool {
	if f.HoldsFor(w.lang, w.name) {
		return true
	}
	return w.downloaded && slices.ContainsFunc(f.Scopes(), func(scope string) bool {
		base, _, _ := strings.Cut(scope, "-")
		return w.lang == "" || base == w.lang || strings.HasPrefix(w.name, base)
	})
}

// readTemplates reads the user's files of rendering data. A file of which no line
// holds for any dump of the run is a usage error: it would have no effect. Only
// dumps have templates; pages as HTML show what their templates gave. d is what
// the run downloads; nil for nothing.
func (r Reading) readTemplates(ctx context.Context, sources []Source, d *DownloadConfig) ([]templateFile, error) {
	files, err := r.Templates.read(ctx)
	if err != nil || len(files) == 0 {
		return nil, err
	}
	local, err := expandSources(ctx, sources, func(string) {}) // planning the sources writes the notes
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
				return files, nil // it may be a dump of any wiki
			}
		}
	}
	return files, checkScopes(files, r.Templates, wikis)
}

// localWikis returns the wikis of the dumps among the sources.
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

// checkScopes returns a usage error if one of the files, read from paths, has lines
// but none that holds for one of the wikis.
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

// listed returns the different elements of a list, each in a format; at most five.
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
