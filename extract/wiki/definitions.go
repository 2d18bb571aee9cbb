package wiki

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"pretext/extract"
	"pretext/extract/bzip2"
	"pretext/extract/wiki/rendering"
	"pretext/extract/wiki/wikitext"
)

// A TemplateDefinition is a template of a wiki, as a line of kind definition in
// package rendering describes it.
type TemplateDefinition struct {
	Name  string // folded
	Value string // what a page that uses it includes; or rendering.Alias and a name
}

// maxDefinition is the maximum length of a definition in bytes. Longer ones are
// boxes and tables, not parts of sentences.
const maxDefinition = 4096

// templateNamespace is the number of the namespace of templates on every wiki.
const templateNamespace = 10

// Definitions yields the templates in the range that are wikitext which a
// sentence can include: without Lua modules, tables and more than 4 KiB. Like
// [Reader.Documents] it may be called only once; the reader's options must keep
// namespace 10.
func (r *Reader) Definitions() iter.Seq2[TemplateDefinition, error] {
	return func(yield func(TemplateDefinition, error) bool) {
		if r.used {
			panic("BUG: Documents or Definitions called twice")
		}
		r.used = true
		for {
			p, err := r.split.next()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(TemplateDefinition{}, fmt.Errorf("read %s: %w", r.source, err))
				return
			}
			if d, ok := r.definition(p); ok && !yield(d, nil) {
				return
			}
		}
	}
}

// definition returns the template that is the page p; ok is false if it is none.
func (r *Reader) definition(p rawPage) (d TemplateDefinition, ok bool) {
	h, title, reject := r.header(p)
	if reject == extract.RejectRedirect {
		title = r.title(&h, p)
	} else if reject != "" {
		return d, false
	}
	source, _, reject := r.wikitext(p, h)
	if reject != "" {
		return d, false
	}
	_, name, _ := strings.Cut(title, ":")
	d.Name = wikitext.TemplateName(name)
	if strings.ContainsAny(d.Name, "*|") || d.Name == "" {
		return d, false
	}
	if wikitext.IsRedirect(source) {
		target, ok := redirectTarget(source)
		d.Value = rendering.Alias + target
		return d, ok
	}
	d.Value = string(bytes.TrimSpace(wikitext.Included(source)))
	usable := d.Value != "" && len(d.Value) <= maxDefinition && !strings.Contains(d.Value, "{|") &&
		!strings.Contains(strings.ToLower(d.Value), "#invoke:") && !strings.HasPrefix(d.Value, rendering.Alias)
	return d, usable
}

// redirectTarget returns the folded name of the template to which a page
// redirects; ok is false if it is no template.
func redirectTarget(source []byte) (name string, ok bool) {
	_, rest, ok := bytes.Cut(source, []byte("[["))
	target, _, closed := bytes.Cut(rest, []byte("]]"))
	if !ok || !closed {
		return "", false
	}
	target, _, _ = bytes.Cut(target, []byte("|"))
	target, _, _ = bytes.Cut(target, []byte("#"))
	_, after, hasNamespace := bytes.Cut(target, []byte(":"))
	return wikitext.TemplateName(string(after)), hasNamespace && len(after) > 0
}

// maxDefinitions is the maximum size of all definitions of a wiki in bytes. If
// they are larger, the shortest are kept: they are the words of sentences.
const maxDefinitions = 12 << 20

// CollectDefinitions returns the definitions of a dump's templates, sorted by
// name. It reads workers ranges at once; the result does not depend on their
// number.
func CollectDefinitions(ctx context.Context, d Dump, workers int) ([]TemplateDefinition, error) {
	options := DefaultOptions()
	options.Namespaces = []int{templateNamespace}
	var kept definitionSet
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(workers, 1))
	for _, rng := range Ranges(d.Size) {
		group.Go(func() error {
			for definition, err := range NewReader(d, rng, options).Definitions() {
				if errors.Is(err, bzip2.ErrTrailing) {
					return nil // padding after the last page
				}
				if err == nil {
					err = ctx.Err()
				}
				if err != nil {
					return err
				}
				mu.Lock()
				kept.add(definition)
				mu.Unlock()
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	kept.trim()
	slices.SortFunc(kept.list, func(a, b TemplateDefinition) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Value, b.Value))
	})
	return slices.CompactFunc(kept.list, func(a, b TemplateDefinition) bool { return a.Name == b.Name }), nil
}

// A definitionSet holds the shortest definitions in bounded memory. Which these
// are does not depend on the order in which they are added.
type definitionSet struct {
	list []TemplateDefinition
	size int
}

func (s *definitionSet) add(d TemplateDefinition) {
	s.list = append(s.list, d)
	if s.size += len(d.Name) + len(d.Value); s.size > 2*maxDefinitions {
		s.trim()
	}
}

// trim keeps the shortest definitions, up to maxDefinitions.
func (s *definitionSet) trim() {
	slices.SortFunc(s.list, func(a, b TemplateDefinition) int {
		return cmp.Or(cmp.Compare(len(a.Value), len(b.Value)), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Value, b.Value))
	})
	s.size = 0
	for k, d := range s.list {
		if s.size+len(d.Name)+len(d.Value) > maxDefinitions {
			clear(s.list[k:])
			s.list = s.list[:k]
			return
		}
		s.size += len(d.Name) + len(d.Value)
	}
}

// AppendDefinitions appends definitions as a file of rendering data for the wiki
// with the given name.
func AppendDefinitions(dst []byte, wiki string, list []TemplateDefinition) []byte {
	dst = fmt.Appendf(dst, "# Source: the templates of %s, %d of them.\n[%s]\n", wiki, len(list), wiki)
	for _, d := range list {
		dst = fmt.Appendf(dst, "definition %s | %s\n", d.Name, strconv.Quote(d.Value))
	}
	return dst
}
