package scribunto

import (
	"embed"
	"path"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
	"golang.org/x/text/unicode/norm"

	"pretext/extract/wiki/internal/lua"
)

// programs are the parts of the library that are written in Lua.
//
//go:embed lualib
var programs embed.FS

// libraryFile returns the file of a library that require loads by name, or that is a field of
// mw; "" if there is none.
func libraryFile(name string) string {
	switch name {
	case "strict", "bit32":
		return name
	case "libraryUtil":
		return "libraryutil"
	case "mw.html", "mw.title", "mw.language", "mw.message", "mw.uri", "mw.site":
		return name[len("mw."):]
	}
	return ""
}

// libraries returns the source of a library, or "".
func libraries(name string) string {
	file := libraryFile(name)
	if file == "" {
		return ""
	}
	source, err := programs.ReadFile(path.Join("lualib", file+".lua"))
	if err != nil {
		panic("BUG: library " + name + ": " + err.Error())
	}
	return string(source)
}

// setUp fills the environment of a call.
func (v *invocation) setUp() {
	v.env.Set("require", lua.NewFunction("require", func(m *lua.Machine, args []lua.Value) []lua.Value {
		name := lua.NewArgs(m, args).String(0)
		switch {
		case name == "ustring" || strings.HasPrefix(name, "ustring:"):
			return []lua.Value{v.mw.Get("ustring")}
		case name == "mw" || name == "mw.ustring" || name == "mw.text":
			return []lua.Value{v.mw}
		}
		return []lua.Value{v.require(name)}
	}))
	v.mw = lua.NewTable()
	v.env.Set("mw", v.mw)
	v.env.Set("os", v.osLibrary())
	v.env.Set("debug", v.debugLibrary())
	loaded, pack := lua.NewTable(), lua.NewTable()
	pack.Set("loaded", loaded)
	v.env.Set("package", pack)
	for _, name := range []string{"_G", "debug", "math", "mw", "os", "package", "string", "table"} {
		loaded.Set(name, v.env.Get(name))
	}
	register(v.mw, map[string]lua.Native{
		"loadData":     v.loadData,
		"loadJsonData": v.loadJSON,
		"getCurrentFrame": func(*lua.Machine, []lua.Value) []lua.Value {
			return []lua.Value{v.frameTable(v.frame)}
		},
		"clone":      func(m *lua.Machine, args []lua.Value) []lua.Value { return []lua.Value{clone(m, args[0], nil)} },
		"isSubsting": func(*lua.Machine, []lua.Value) []lua.Value { return []lua.Value{false} },
		"log":        nothing,
		"logObject":  nothing,
		"addWarning": func(m *lua.Machine, args []lua.Value) []lua.Value {
			lua.NewArgs(m, args).String(0)
			return nil
		},
		"allToString":                     allToString,
		"incrementExpensiveFunctionCount": v.countExpensive,
		"dumpObject":                      func(m *lua.Machine, args []lua.Value) []lua.Value { return []lua.Value{"table"} },
		"getContentLanguage": func(m *lua.Machine, _ []lua.Value) []lua.Value {
			return m.Call(m.Index(m.Index(v.mw, "language"), "getContentLanguage"))
		},
		"getLanguage": func(m *lua.Machine, args []lua.Value) []lua.Value {
			return m.Call(m.Index(m.Index(v.mw, "language"), "new"), args...)
		},
	})
	v.mw.Set("ustring", v.ustringLibrary())
	v.mw.Set("text", v.textLibrary())
	v.mw.Set("hash", hashLibrary())
	v.mw.Set("wikibase", v.absent(failWikidata))
	v.mw.Set("ext", lua.NewTable())
	meta := lua.NewTable()
	register(meta, map[string]lua.Native{"__index": func(m *lua.Machine, args []lua.Value) []lua.Value {
		name, _ := lua.NewArgs(m, args).Any(1).(string)
		if libraryFile("mw."+name) == "" {
			return []lua.Value{nil}
		}
		value := v.require("mw." + name)
		v.mw.Set(name, value)
		return []lua.Value{value}
	}})
	v.mw.SetMeta(meta)
}

// maxExpensive is how often a page may call functions that Scribunto names expensive.
const maxExpensive = 500 // MediaWiki's default of $wgExpensiveParserFunctionLimit is 100; Wikimedia's wikis have 500

func (v *invocation) countExpensive(m *lua.Machine, _ []lua.Value) []lua.Value {
	if v.Engine.expensive++; v.Engine.expensive > maxExpensive {
		m.Throw("too many expensive function calls")
	}
	return nil
}

func nothing(*lua.Machine, []lua.Value) []lua.Value { return nil }

// absent returns a table whose functions end the call with a failure.
func (v *invocation) absent(reason string) *lua.Table {
	t, meta := lua.NewTable(), lua.NewTable()
	register(meta, map[string]lua.Native{"__index": func(m *lua.Machine, args []lua.Value) []lua.Value {
		name, _ := lua.ToText(lua.NewArgs(m, args).Any(1))
		return []lua.Value{lua.NewFunction(name, func(m *lua.Machine, _ []lua.Value) []lua.Value {
			m.Fail(reason, name)
			return nil
		})}
	}})
	t.SetMeta(meta)
	return t
}

func allToString(m *lua.Machine, args []lua.Value) []lua.Value {
	var parts []string
	for _, a := range args {
		parts = append(parts, m.ToString(a))
	}
	return []lua.Value{m.String(strings.Join(parts, "\t"))}
}

// clone returns a deep copy of a value.
func clone(m *lua.Machine, value lua.Value, seen map[*lua.Table]*lua.Table) lua.Value {
	t, ok := value.(*lua.Table)
	if !ok {
		return value
	}
	if c := seen[t]; c != nil {
		return c
	}
	if seen == nil {
		seen = map[*lua.Table]*lua.Table{}
	}
	if len(seen) > 10_000 { // also bounds the nesting
		m.Throw("table too large to clone")
	}
	c := m.NewTable()
	seen[t] = c
	for k, value := range t.All() {
		m.Step(2)
		m.Put(c, clone(m, k, seen), clone(m, value, seen))
	}
	if meta := t.Meta(); meta != nil {
		c.SetMeta(clone(m, meta, seen).(*lua.Table))
	}
	return c
}

// loadData is mw.loadData: the table is made once for a page, and cannot be changed.
func (v *invocation) loadData(m *lua.Machine, args []lua.Value) []lua.Value {
	name := lua.NewArgs(m, args).String(0)
	if t := v.data[name]; t != nil {
		return []lua.Value{t}
	}
	value := v.require(name)
	delete(v.loaded, name)
	t, ok := value.(*lua.Table)
	if !ok {
		m.Throw("%s returned %s, table expected", name, lua.TypeOf(value))
	}
	return []lua.Value{v.keep(m, name, t)}
}

// keep makes a table of data one that cannot be changed, for the rest of the page.
func (v *invocation) keep(m *lua.Machine, name string, t *lua.Table) *lua.Table {
	meta := lua.NewTable()
	meta.Set("mw_loadData", true)
	meta.Set("__metatable", false)
	freeze(m, t, meta, 0)
	if v.Engine.data == nil {
		v.Engine.data = map[string]*lua.Table{}
	}
	v.Engine.data[name] = t
	return t
}

// maxData is the maximum nesting of data for mw.loadData.
const maxData = 200

// freeze checks that a table holds data alone, and sets the metatable of all tables in it.
func freeze(m *lua.Machine, t, meta *lua.Table, depth int) {
	if t.Meta() == meta {
		return
	}
	if depth > maxData {
		m.Throw("data for mw.loadData is nested too deeply")
	}
	if t.Meta() != nil {
		m.Throw("data for mw.loadData contains a table with a metatable")
	}
	t.SetMeta(meta)
	t.Freeze()
	for k, value := range t.All() {
		m.Step(1)
		switch k.(type) {
		case *lua.Table:
			m.Throw("data for mw.loadData contains a table as a key")
		case *lua.Function:
			m.Throw("data for mw.loadData contains unsupported data type 'function'")
		}
		switch value := value.(type) {
		case *lua.Table:
			freeze(m, value, meta, depth+1)
		case *lua.Function:
			m.Throw("data for mw.loadData contains unsupported data type 'function'")
		}
	}
}

// loadJSON is mw.loadJsonData.
func (v *invocation) loadJSON(m *lua.Machine, args []lua.Value) []lua.Value {
	name := lua.NewArgs(m, args).String(0)
	if t := v.data[name]; t != nil {
		return []lua.Value{t}
	}
	source := ""
	if title := v.moduleTitle(name); title != "" {
		source = v.host.Module(title)
	}
	if source == "" {
		m.Fail(failWiki, "the page "+name)
	}
	m.Step(len(source) / 4)
	t, ok := decodeJSON(m, source, 0).(*lua.Table)
	if !ok {
		m.Throw("'%s' is not a JSON object", name)
	}
	return []lua.Value{v.keep(m, name, t)}
}

// ustringLibrary returns mw.ustring.
func (v *invocation) ustringLibrary() *lua.Table {
	text := func(f func(string) string) lua.Native {
		return func(m *lua.Machine, args []lua.Value) []lua.Value {
			s := lua.NewArgs(m, args).String(0)
			m.Step(len(s) / 8)
			return []lua.Value{m.String(f(s))}
		}
	}
	normalized := func(f norm.Form) lua.Native {
		return func(m *lua.Machine, args []lua.Value) []lua.Value {
			s := lua.NewArgs(m, args).String(0)
			m.Step(len(s) / 4)
			if !utf8.ValidString(s) {
				return []lua.Value{nil}
			}
			m.Charge(4 * len(s))
			return []lua.Value{m.String(f.String(s))}
		}
	}
	t := lua.NewTable()
	for _, name := range []string{"byte"} {
		t.Set(name, v.env.Get("string").(*lua.Table).Get(name))
	}
	register(t, lua.Ustring())
	register(t, map[string]lua.Native{
		// A Caser must not be shared by goroutines. PHP has no final sigma before 8.3.
		"lower": text(func(s string) string { return cases.Lower(language.Und, cases.HandleFinalSigma(false)).String(s) }),
		"upper": text(func(s string) string { return cases.Upper(language.Und).String(s) }),
		"toNFC": normalized(norm.NFC), "toNFD": normalized(norm.NFD), "toNFKC": normalized(norm.NFKC), "toNFKD": normalized(norm.NFKD),
		"isutf8": func(m *lua.Machine, args []lua.Value) []lua.Value {
			return []lua.Value{utf8.ValidString(lua.NewArgs(m, args).String(0))}
		},
		"byteoffset": byteOffset,
	})
	t.Set("maxPatternLength", 10_000.0)
	t.Set("maxStringLength", float64(2<<20))
	return t
}

// byteOffset is mw.ustring.byteoffset: the byte at which the character begins that is l
// characters after the one that begins at byte i or later, where l = 1 is that one. With
// l = 0 it is the one that byte i belongs to.
func byteOffset(m *lua.Machine, args []lua.Value) []lua.Value {
	a := lua.NewArgs(m, args)
	s, l, i := a.String(0), a.Int(1, 1), a.Int(2, 1)
	if !utf8.ValidString(s) {
		return []lua.Value{nil}
	}
	m.Step(len(s) / 16)
	if i < 0 {
		i += len(s) + 1
	}
	if i--; i < 0 || i >= len(s) {
		return []lua.Value{nil}
	}
	if l > 0 {
		for l--; i < len(s) && !utf8.RuneStart(s[i]); {
			i++
		}
	} else {
		for !utf8.RuneStart(s[i]) {
			i--
		}
	}
	for ; l > 0 && i < len(s); l-- {
		_, size := utf8.DecodeRuneInString(s[i:])
		i += size
	}
	for ; l < 0 && i > 0; l++ {
		_, size := utf8.DecodeLastRuneInString(s[:i])
		i -= size
	}
	if l != 0 || i >= len(s) {
		return []lua.Value{nil}
	}
	return []lua.Value{float64(i + 1)}
}
