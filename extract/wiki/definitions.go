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

	"pretext/counts"
	"pretext/extract/bzip2"
	"pretext/extract/wiki/definitions"
	"pretext/extract/wiki/rendering"
	"pretext/extract/wiki/wikitext"
)

// Maximum lengths of a definition in bytes. Longer definitions are boxes and not parts
// of sentences, except those that choose among many texts, for example country names by
// code.
const (
	MaxDefinition = 4096
	MaxSwitch     = 64 << 10 // of a definition with #switch
)

// emptyDefinition is the definition of a template that adds nothing to a page.
const emptyDefinition = "<nowiki/>"

// Numbers of namespaces. They are the same on every wiki.
const (
	templateNamespace = 10
	moduleNamespace   = 828 // programs in Lua
)

// maxModule is the maximum length of a module in bytes.
const maxModule = 1<<20 - 1024

// A LeftOut is the reason why a template page has no definition.
type LeftOut string

// The reasons.
const (
	leftOutTable    LeftOut = "table" // it has a table
	leftOutTooLarge LeftOut = "too_large"
	leftOutUnusable LeftOut = "unusable" // no readable wikitext, or a redirect to something else
)

// DefinitionStats counts the pages of templates and modules that were read.
type DefinitionStats struct {
	Modules     int64             // modules in Lua, and data for them
	Templates   int64             // template pages
	Definitions int64             // pages with wikitext for use in a sentence, and redirects to other templates
	LeftOut     map[LeftOut]int64 // all other template pages
}

// Counts of template pages.
var (
	TemplatePages = counts.Declare("template_pages", counts.About{Label: "template pages", In: counts.Summary, Meaning: "template pages read"})
	LeftOutPages  = counts.DeclareFamily[LeftOut]("left_out", counts.About{Meaning: "those without a definition, by REASON: table, too_large, unusable"})
	Modules       = counts.Declare("modules", counts.About{Label: "modules in Lua", In: counts.Summary, Meaning: "modules in Lua, and data for them; absent if 0"})
)

// Counts returns the counts for a side-car.
func (s *DefinitionStats) Counts() counts.Counts {
	c := counts.Counts{TemplatePages.Key: s.Templates}
	if s.Modules > 0 {
		Modules.Add(c, s.Modules)
	}
	LeftOutPages.AddAll(c, s.LeftOut)
	return c
}

// Definitions yields the templates in the range whose source is wikitext that can be
// used in a sentence. It counts template pages in stats. Unless spool is nil, it also
// adds all pages of the range to spool. Like [Reader.Documents], it may be called only
// once.
func (r *Reader) Definitions(stats *DefinitionStats, spool *SpoolWriter) iter.Seq2[definitions.Definition, error] {
	return func(yield func(definitions.Definition, error) bool) {
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
				yield(definitions.Definition{}, fmt.Errorf("read %s: %w", r.source, err))
				return
			}
			if spool != nil {
				spool.add(r, p) // add copies p before it is decoded in place
			}
			if d, ok := r.definition(p, stats); ok && !yield(d, nil) {
				return
			}
			if p.end == endTruncated {
				yield(definitions.Definition{}, fmt.Errorf("read %s: %w", r.source, &CorruptError{Offset: r.size, Reason: "file ends inside a page", Err: io.ErrUnexpectedEOF}))
				return
			}
		}
	}
}

// namespaceOf returns the head of a page and the number of its namespace; ok is false
// if the page is incomplete or its head is malformed.
func (r *Reader) namespaceOf(p rawPage) (h pageHead, ns int, ok bool) {
	if p.end != endClosed || p.head == nil {
		return h, 0, false
	}
	if h, ok = parseHead(p.head); !ok || h.hasNS {
		return h, h.ns, ok
	}
	title, _, _ := dropInvalid(characters(bytes.Clone(h.title), h.markup))
	return h, r.namespaces.ofTitle(string(title)), true
}

// definition returns the definition of the template on page p; ok is false if p has
// none.
func (r *Reader) definition(p rawPage, stats *DefinitionStats) (d definitions.Definition, ok bool) {
	h, ns, ok := r.namespaceOf(p)
	if ok && ns == moduleNamespace {
		return r.module(p, h, stats)
	}
	if !ok || ns != templateNamespace {
		return d, false
	}
	if p.tooLarge {
		stats.count(leftOutTooLarge)
		return d, false
	}
	title := r.title(&h, p)
	source, _, reject := r.wikitext(p, h)
	if reject != "" {
		stats.count(leftOutUnusable)
		return d, false
	}
	if _, after, hasNamespace := strings.Cut(title, ":"); hasNamespace {
		title = after
	}
	d.Title = strings.TrimSpace(title)
	d.Name = wikitext.TemplateName(d.Title)
	value, why := definitionOf(source)
	if d.Value = value; d.Name == "" {
		why = leftOutUnusable
	}
	stats.count(why)
	return d, why == ""
}

// module returns the source of the module on page p; ok is false if p has none, such as a
// page that documents one. A redirect to another module, in Lua or in wikitext, is a module.
func (r *Reader) module(p rawPage, h pageHead, stats *DefinitionStats) (d definitions.Definition, ok bool) {
	if p.tooLarge {
		return d, false
	}
	title := r.title(&h, p)
	_, title, _ = strings.Cut(title, ":")
	source, rev, reject := r.pageSource(p, h, true)
	if target, ok := redirectTarget(source); reject == "" && ok && wikitext.IsRedirect(source) {
		source = fmt.Appendf(nil, "return require([==[Module:%s]==])", target) // titles have no brackets
		rev.module = true
	}
	// Dumps of old versions do not say what a page contains.
	if reject != "" || !rev.module && (rev.model || strings.HasSuffix(title, "/doc")) || len(source) == 0 || len(source)+2*len(title) > maxModule {
		return d, false
	}
	d.Title = strings.TrimSpace(title)
	d.Name = wikitext.ModuleName(d.Title)
	d.Value = string(source)
	stats.Modules++
	return d, true
}

// count counts a template page. why is the reason why it has no definition; "" if it
// has one.
func (s *DefinitionStats) count(why LeftOut) {
	s.Templates++
	if why == "" {
		s.Definitions++
		return
	}
	if s.LeftOut == nil {
		s.LeftOut = map[LeftOut]int64{}
	}
	s.LeftOut[why]++
}

// definitionOf returns the definition in the source of a template page, or the
// reason why it has none.
func definitionOf(source []byte) (string, LeftOut) {
	if wikitext.IsRedirect(source) {
		target, ok := redirectTarget(source)
		if !ok {
			return "", leftOutUnusable
		}
		return rendering.Alias + target, ""
	}
	included := bytes.TrimSpace(wikitext.Included(source))
	switch {
	case len(included) == 0:
		return emptyDefinition, ""
	case len(included) > MaxSwitch, len(included) > MaxDefinition && !bytes.Contains(included, []byte("#switch")):
		return "", leftOutTooLarge
	case hasTable(included):
		return "", leftOutTable
	case bytes.HasPrefix(included, []byte(rendering.Alias)):
		return "", leftOutUnusable // source that could be mistaken for our mark of a redirect
	}
	return string(included), ""
}

// hasTable reports whether wikitext has the beginning of a table, which "{{{|safesubst:}}}", a
// parameter without a name, is not.
func hasTable(text []byte) bool {
	for {
		k := bytes.Index(text, []byte("{|"))
		if k < 0 {
			return false
		}
		if k == 0 || text[k-1] != '{' {
			return true
		}
		text = text[k+2:]
	}
}

// redirectTarget returns the title, without the namespace, of the template to which a
// page redirects; ok is false if the target is not a template.
func redirectTarget(source []byte) (title string, ok bool) {
	_, rest, ok := bytes.Cut(source, []byte("[["))
	target, _, closed := bytes.Cut(rest, []byte("]]"))
	if !ok || !closed {
		return "", false
	}
	target, _, _ = bytes.Cut(target, []byte("|"))
	target, _, _ = bytes.Cut(target, []byte("#"))
	_, after, hasNamespace := bytes.Cut(target, []byte(":"))
	after = bytes.TrimSpace(after)
	return string(after), hasNamespace && len(after) > 0
}

// maxDefinitions is the maximum size in bytes of all definitions in a file of rendering
// data. If they are larger, only the shortest are kept, because these render words of
// sentences.
const maxDefinitions = 12 << 20

// CollectDefinitions returns the definitions of a dump's templates, sorted by name, for
// a file of rendering data. It reads several ranges in parallel, one for each worker;
// the result does not depend on the number of workers.
func CollectDefinitions(ctx context.Context, d Dump, workers int) ([]definitions.Definition, error) {
	var kept definitionSet
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(workers, 1))
	for _, rng := range Ranges(d.Size) {
		group.Go(func() error {
			var stats DefinitionStats
			for definition, err := range NewReader(d, rng, DefaultOptions()).Definitions(&stats, nil) {
				if errors.Is(err, bzip2.ErrTrailing) {
					return nil // padding after the last page
				}
				if err == nil {
					err = ctx.Err()
				}
				if err != nil {
					return err
				}
				// Such names have a meaning in the file. A file has no modules, so it
				// has no templates that need them either.
				if !strings.ContainsAny(definition.Name, "*|#") && !wikitext.CallsModule(definition.Value) {
					mu.Lock()
					kept.add(folded(definition))
					mu.Unlock()
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	kept.trim()
	slices.SortFunc(kept.list, func(a, b definitions.Definition) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), compareBool(isAlias(a), isAlias(b)), cmp.Compare(a.Value, b.Value))
	})
	return slices.CompactFunc(kept.list, func(a, b definitions.Definition) bool { return a.Name == b.Name }), nil
}

// folded returns a definition in the form that a file of rendering data uses: names are
// folded, and the title is removed.
func folded(d definitions.Definition) definitions.Definition {
	d.Title = ""
	if target, ok := strings.CutPrefix(d.Value, rendering.Alias); ok {
		d.Value = rendering.Alias + wikitext.TemplateName(target)
	}
	return d
}

// isAlias reports whether a definition is a redirect. Among definitions with the same
// folded name, redirects are sorted last, because the target's name often differs only
// in case.
func isAlias(d definitions.Definition) bool { return strings.HasPrefix(d.Value, rendering.Alias) }

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// A definitionSet holds the shortest definitions in bounded memory. The result does not
// depend on the order in which they are added.
type definitionSet struct {
	list []definitions.Definition
	size int
}

func (s *definitionSet) add(d definitions.Definition) {
	s.list = append(s.list, d)
	if s.size += len(d.Name) + len(d.Value); s.size > 2*maxDefinitions {
		s.trim()
	}
}

// trim removes the longest definitions until the size is at most maxDefinitions.
func (s *definitionSet) trim() {
	slices.SortFunc(s.list, func(a, b definitions.Definition) int {
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

// AppendDefinitions appends definitions in the format of a file of rendering data, for
// the wiki with the given name.
func AppendDefinitions(dst []byte, wiki string, list []definitions.Definition) []byte {
	dst = fmt.Appendf(dst, "# Source: the templates of %s, %d of them.\n[%s]\n", wiki, len(list), wiki)
	for _, d := range list {
		dst = fmt.Appendf(dst, "definition %s | %s\n", d.Name, strconv.Quote(d.Value))
	}
	return dst
}
