package scribunto

import (
	"hash/fnv"
	"strings"
	"time"

	"pretext/extract/wiki/internal/lua"
)

// Limits of calls and pages.
const (
	callSteps = 20_000_000
	callBytes = 96 << 20
	pageSteps = 100_000_000
	pageBytes = 384 << 20
	maxNested = 8 // calls that begin during another call
)

// Reasons of failures, besides those of package lua.
const (
	FailNoModule   = "no_module"   // the dump does not have the module
	failNoFunction = "no_function" // the module does not have the function
	failWikidata   = "wikidata"    // it asks for data of Wikidata
	failClock      = "clock"       // it asks for the date, and the dump has none
	failWiki       = "wiki"        // it asks what only a running wiki knows
	failShown      = "shown_error" // it shows an error message to readers
)

// A Page is the page whose text is made.
type Page struct {
	Title      string
	Wiki       string         // name of the wiki, "enwiktionary"
	Lang       string         // code of its language
	Namespaces map[int]string // names of its namespaces
	Today      time.Time      // day that programs see; zero: unknown

	CaseSensitive bool // a title may begin with a small letter
}

// A Host gives access to the wiki.
type Host struct {
	// Module returns the source of a module, by its title without the namespace; "" if
	// there is none.
	Module func(title string) string
	// Expand returns wikitext with its templates expanded; {{{x}}} is an argument of the
	// frame.
	Expand func(wikitext string, f *Frame) string
	// LanguageName returns the name of a language in the wiki's language, or "".
	LanguageName func(code string) string
	// HasTemplate reports whether the dump has a template, by its title without the namespace.
	HasTemplate func(title string) bool
	// Interwiki reports whether titles in another wiki begin with a prefix, such as "de".
	Interwiki func(prefix string) bool
	// Assume counts an assumption. It is called when a program asks what is not in the dump
	// and gets the usual answer: that a page exists ("exists"), that it is no
	// redirect ("not_redirect"), and that the software has no message ("no_message").
	Assume func(what string)
}

// A Frame holds the arguments of a call of a module or template.
type Frame struct {
	Title  string // of the module or template
	Args   []Arg
	Parent *Frame
}

// An Arg is an argument of a call. Name is its number if it has no name.
type Arg struct{ Name, Value string }

// An Engine runs the modules of one page after another. It must not be used by several
// goroutines at once.
type Engine struct {
	chunks map[string]*lua.Chunk // by source
	size   int                   // of the sources in chunks

	page   Page
	host   Host
	left   lua.Limits // of the page
	data   map[string]*lua.Table
	nested int

	expensive int // calls of functions that are limited for a page
}

// maxChunks is the maximum size of the sources whose compiled form is kept, in bytes.
const maxChunks = 4 << 20

// NewEngine returns an engine.
func NewEngine() *Engine { return &Engine{} }

// Begin begins a page.
func (e *Engine) Begin(page Page) {
	e.page, e.data, e.nested, e.expensive = page, nil, 0, 0
	e.left = lua.Limits{Steps: pageSteps, Bytes: pageBytes}
}

// compile returns the compiled form of a source.
func (e *Engine) compile(name, source string) (*lua.Chunk, error) {
	key := name + "\x00" + source
	if c := e.chunks[key]; c != nil {
		return c, nil
	}
	c, err := lua.Compile(name, source)
	if err != nil {
		return nil, err
	}
	if e.size += len(source); e.chunks == nil || e.size > maxChunks {
		e.chunks, e.size = map[string]*lua.Chunk{}, len(source)
	}
	e.chunks[key] = c
	return c, nil
}

// An invocation is one call of a module.
type invocation struct {
	*Engine
	m       *lua.Machine
	env     *lua.Table
	mw      *lua.Table
	loaded  map[string]lua.Value // results of require
	loading map[string]bool
	frame   *Frame // of the call
	missing string // message of the last error about a missing module
	frames  map[*Frame]*lua.Table
}

// Invoke calls a function of a module. The error is a [*lua.Failure]. What a call has used
// counts against the limits of the page even if it fails.
func (e *Engine) Invoke(host Host, module, function string, f *Frame) (text string, err error) {
	if e.nested >= maxNested {
		return "", &lua.Failure{Reason: lua.FailDepth, Detail: "too many nested calls"}
	}
	outer := e.host
	e.host = host
	e.nested++
	limits := lua.Limits{Steps: min(callSteps, e.left.Steps), Bytes: min(callBytes, e.left.Bytes)}
	m := lua.NewMachine(limits)
	v := &invocation{Engine: e, m: m, frame: f, loaded: map[string]lua.Value{}, loading: map[string]bool{}, frames: map[*Frame]*lua.Table{}}
	err = m.Guard(func() { text = v.run(module, function) })
	left := m.Left()
	e.left.Steps = max(e.left.Steps-(limits.Steps-left.Steps), 0)
	e.left.Bytes = max(e.left.Bytes-(limits.Bytes-left.Bytes), 0)
	e.nested--
	e.host = outer
	if failure, ok := err.(*lua.Failure); ok && failure.Reason == lua.FailError && v.missing != "" && strings.HasSuffix(failure.Detail, v.missing) {
		failure.Reason = FailNoModule
	}
	if err == nil && showsError(text) {
		err = &lua.Failure{Reason: failShown, Detail: text}
	}
	return text, err
}

// showsError reports whether the text that a module returns is an error message.
func showsError(text string) bool {
	return strings.Contains(text, `class="error"`) || strings.Contains(text, `class="scribunto-error"`)
}

// run calls the function and returns its result as text.
func (v *invocation) run(module, function string) string {
	name := "Module:" + module
	chunk := v.chunk(name) // before the environment: a dump without modules calls many
	seed := fnv.New64a()
	seed.Write([]byte(v.page.Title))
	v.env = lua.NewEnv(v.m, seed.Sum64())
	v.setUp()
	exports := v.load(name, chunk)
	t, ok := exports.(*lua.Table)
	if !ok {
		v.m.Fail(lua.FailError, "module "+module+" does not return a table")
	}
	fn := v.m.Index(t, function)
	if fn == nil {
		v.m.Fail(failNoFunction, "module "+module+" has no function "+function)
	}
	results := v.m.Call(fn, v.frameTable(v.frame))
	var b strings.Builder
	for _, r := range results {
		if r != nil {
			b.WriteString(v.m.ToString(r))
		}
	}
	return b.String()
}

// require is Lua's require.
func (v *invocation) require(name string) lua.Value {
	if value, ok := v.loaded[name]; ok {
		return value
	}
	if v.loading[name] {
		v.m.Throw("loop or previous error loading module '%s'", name)
	}
	return v.load(name, v.chunk(name))
}

// load runs the program of a module or library, and returns what require does.
func (v *invocation) load(name string, chunk *lua.Chunk) lua.Value {
	v.loading[name] = true
	var host lua.Value
	if libraries(name) != "" {
		host = v.hostTable()
	}
	results := v.m.Call(v.m.Load(chunk, v.env), name, host)
	delete(v.loading, name)
	var value lua.Value = true
	if len(results) > 0 && results[0] != nil {
		value = results[0]
	}
	v.m.Charge(64)
	v.loaded[name] = value
	return value
}

// chunk returns the program of a module or library.
func (v *invocation) chunk(name string) *lua.Chunk {
	source, title := libraries(name), name
	if source == "" {
		if title = v.moduleTitle(name); title != "" {
			source = v.host.Module(title)
			title = "Module:" + title
		}
	}
	if source == "" {
		v.missing = "module '" + name + "' not found"
		v.m.Throw("%s", v.missing)
	}
	c, err := v.compile(title, source)
	if failure, ok := err.(*lua.Failure); ok {
		v.m.Fail(failure.Reason, failure.Detail)
	}
	return c
}

// moduleTitle returns the title of a module without its namespace; "" if the name is not
// that of a module.
func (v *invocation) moduleTitle(name string) string {
	namespace, title, ok := strings.Cut(name, ":")
	if !ok {
		return ""
	}
	namespace = strings.ToLower(strings.TrimSpace(strings.ReplaceAll(namespace, "_", " ")))
	if namespace != "module" && namespace != strings.ToLower(v.page.Namespaces[828]) {
		return ""
	}
	return strings.TrimSpace(strings.ReplaceAll(title, "_", " "))
}

// register puts functions into a table.
func register(t *lua.Table, functions map[string]lua.Native) {
	lua.Register(t, functions)
}
