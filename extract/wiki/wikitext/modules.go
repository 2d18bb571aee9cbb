package wikitext

import (
	"bytes"
	"errors"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"pretext/extract/wiki/internal/lua"
	"pretext/extract/wiki/internal/scribunto"
)

// modulePrefix begins the names of modules among those of templates. No template has such
// a name.
const modulePrefix = "#module:"

// ModuleName returns the name under which [Definitions] has the source of a module, from
// its title without the namespace.
func ModuleName(title string) string {
	var name []byte
	return modulePrefix + string(fold(&name, []byte(title)))
}

// CallsModule reports whether the wikitext of a template calls a module.
func CallsModule(definition string) bool {
	for {
		k := strings.IndexByte(definition, '#')
		if k < 0 {
			return false
		}
		before := strings.TrimRight(definition[:k], " \n\t")
		definition = definition[k:]
		if len(definition) >= len("#invoke:") && strings.EqualFold(definition[:len("#invoke:")], "#invoke:") {
			// Between the braces and the name can be a word, as in "{{{{{|safesubst:}}}#invoke:".
			if before = strings.TrimRight(before, "}"); strings.HasSuffix(before, "{{") || strings.HasSuffix(before, ":") {
				return true
			}
		}
		definition = definition[1:]
	}
}

// modules runs the modules of a wiki. A scanner shares it with those of the templates that
// it expands.
type modules struct {
	engine *scribunto.Engine
	begun  bool // the engine knows the page

	calls   int            // since the last reset
	failed  map[string]int // calls without a result, by reason
	assumed map[string]int // assumptions, by what is assumed
}

// ModuleCalls returns how often a module was called since the last reset.
func (s *Scanner) ModuleCalls() int { return s.templates.modules.calls }

// ModuleFailures yields the reasons why calls of modules had no result since the last
// reset, with the number of calls, sorted by reason.
func (s *Scanner) ModuleFailures() iter.Seq2[string, int] {
	failed := s.templates.modules.failed
	return func(yield func(string, int) bool) {
		for _, reason := range slices.Sorted(maps.Keys(failed)) {
			if !yield(reason, failed[reason]) {
				return
			}
		}
	}
}

// ModuleAssumptions yields what modules asked of the wiki and got the usual answer to since
// the last reset, with the number of times, sorted.
func (s *Scanner) ModuleAssumptions() iter.Seq2[string, int] {
	assumed := s.templates.modules.assumed
	return func(yield func(string, int) bool) {
		for _, what := range slices.Sorted(maps.Keys(assumed)) {
			if !yield(what, assumed[what]) {
				return
			}
		}
	}
}

// assume counts an assumption.
func (x *modules) assume(what string) {
	if x.assumed == nil {
		x.assumed = map[string]int{}
	}
	x.assumed[what]++
}

// fail counts a call without a result. It returns false.
func (x *modules) fail(reason string) bool {
	if x.failed == nil {
		x.failed = map[string]int{}
	}
	x.failed[reason]++
	return false
}

// begin prepares the engine for the page, once.
func (x *modules) begin(page Page) {
	if x.begun {
		return
	}
	if x.engine == nil {
		x.engine = scribunto.NewEngine()
	}
	x.engine.Begin(scribunto.Page{Title: page.Title, Wiki: page.Wiki, Lang: page.Lang, Namespaces: page.Namespaces, Today: page.Today, CaseSensitive: page.CaseSensitive})
	x.begun = true
}

// invoke renders {{#invoke:module|function|…}}, whose text is src[i:e]. Without a result it
// is a hole.
func (t *templates) invoke(given span, i, e int) Source {
	if !t.wiki.expands() || !t.within(i, e) {
		return t.unable(given, i, e)
	}
	text, ok := t.moduleResult(given, i, e)
	if !ok || !t.expander.budget.allow(len(text)) {
		t.expander.budget.failed = true
		if t.expander.inner != nil {
			t.expander.inner.losses = losses{}
		}
		return t.unable(given, i, e)
	}
	t.expander.frame = nil
	t.renderExpansion(text)
	t.putExpansion(text, given)
	return fromWiki
}

// moduleResult calls a module and returns its result as wikitext.
func (t *templates) moduleResult(given span, i, e int) (text []byte, ok bool) {
	x := t.modules
	x.calls++
	frame := t.frameOf(given, i, e)
	switch {
	case frame == nil:
		return nil, x.fail(scribunto.FailNoModule)
	case !t.expander.budget.allow(0):
		return nil, x.fail(lua.FailDepth)
	}
	x.begin(t.wiki.page)
	function := ""
	if len(frame.Args) > 0 {
		function = frame.Args[0].Value
		frame.Args = frame.Args[1:]
		for k := range frame.Args { // the function's name is not an argument
			if n, err := strconv.Atoi(frame.Args[k].Name); err == nil && frame.Args[k].Name == strconv.Itoa(n) {
				frame.Args[k].Name = strconv.Itoa(n - 1)
			}
		}
	}
	host := &moduleHost{templates: t}
	if strings.Contains(function, "{{") {
		function = host.expand(function, frame.Parent)
	}
	result, err := x.engine.Invoke(host.functions(), strings.TrimPrefix(frame.Title, "Module:"), strings.TrimSpace(function), frame)
	if err == nil && host.limited {
		err = &lua.Failure{Reason: lua.FailDepth}
	}
	if failure := (*lua.Failure)(nil); errors.As(err, &failure) {
		return nil, x.fail(failure.Reason)
	}
	result = strings.ReplaceAll(result, "{{", "&#123;&#123;") // a result is not expanded again
	return []byte(strings.ToValidUTF8(result, "")), true
}

// frameOf returns the frame of a call of a module. Its first argument is the name of the
// function.
func (t *templates) frameOf(given span, i, e int) *scribunto.Frame {
	_, module, _ := bytes.Cut(t.in.bytes(given), []byte(":"))
	module = trimSpace(bytes.ReplaceAll(module, []byte("_"), []byte(" ")))
	if len(module) == 0 {
		return nil
	}
	base := len(t.args)
	t.split(i, e)
	f := &scribunto.Frame{Title: "Module:" + string(module), Args: t.frameArgs(t.args[base+1:]), Parent: t.frame}
	t.args = t.args[:base]
	if f.Parent == nil {
		f.Parent = &scribunto.Frame{Title: t.wiki.page.Title}
	}
	return f
}

// frameArgs returns arguments as a module sees them.
func (t *templates) frameArgs(args []argument) []scribunto.Arg {
	list := make([]scribunto.Arg, 0, len(args))
	place := 0
	for _, a := range args {
		name := string(t.in.bytes(a.key))
		if a.key.empty() {
			place++
			name = strconv.Itoa(place)
		}
		list = append(list, scribunto.Arg{Name: name, Value: string(t.in.bytes(a.value))})
	}
	return list
}

// A moduleHost gives a module access to the page and the wiki.
type moduleHost struct {
	*templates
	limited bool // an expansion has reached a limit
}

// functions returns what a module can ask.
func (h *moduleHost) functions() scribunto.Host {
	return scribunto.Host{Module: h.module, Expand: h.expand, LanguageName: h.languageName, Assume: h.modules.assume,
		Interwiki: func(prefix string) bool {
			var scratch []byte
			return isInterwiki([]byte(prefix), &scratch)
		},
		HasTemplate: func(title string) bool {
			return h.wiki.definition([]byte(title)) != ""
		}}
}

// module returns the source of a module.
func (h *moduleHost) module(title string) string {
	if h.wiki.page.Definitions == nil {
		return ""
	}
	return h.wiki.page.Definitions.Definition([]byte(ModuleName(title)), []byte(title))
}

// languageName returns the name of a language in the wiki's language.
func (h *moduleHost) languageName(code string) string { return h.wiki.table.LanguageName([]byte(code)) }

// expand replaces the templates in a text by what they show, and its parameters by the
// arguments of a frame. All else remains wikitext.
func (h *moduleHost) expand(text string, f *scribunto.Frame) string {
	if f != nil && strings.Contains(text, "{{{") {
		text = withArguments(text, f)
	}
	var b braceFinder
	b.load([]byte(text))
	var out []byte
	for i := 0; ; {
		k := bytes.Index(b.src[i:], []byte("{{"))
		if k < 0 {
			return string(append(out, b.src[i:]...))
		}
		out = append(out, b.src[i:i+k]...)
		i += k
		el, ok := b.elementAt(i)
		if !ok || el.width != 2 {
			out = append(out, b.src[i])
			i++
			continue
		}
		out = append(out, h.rendered(b.src[i:el.end], f)...)
		i = int(el.end)
	}
}

// rendered returns the text of one template or parser function.
func (h *moduleHost) rendered(source []byte, f *scribunto.Frame) []byte {
	if !h.expander.budget.allow(len(source)) {
		h.limited = true
		return nil
	}
	h.expander.frame = f
	h.renderExpansion(source)
	h.expander.budget.bytes += len(h.expander.text)
	return h.expander.text
}

// withArguments replaces the parameters in a text by the arguments of a frame.
func withArguments(text string, f *scribunto.Frame) string {
	var page []byte
	add := func(s string) span {
		start := len(page)
		page = append(page, s...)
		return span{start, len(page)}
	}
	args := []argument{{}}
	for _, a := range f.Args {
		args = append(args, argument{key: add(a.Name), value: add(a.Value)})
	}
	var s substitution
	out, ok := s.replace(text, page, args, maxExpandedBytes)
	if !ok {
		return ""
	}
	return string(out)
}
