package scribunto

import (
	"embed"
	"path"
	"strings"
	"unicode/utf8"

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
	loaded := lua.NewTable()
	v.env.Set("package", lua.NewTable())
	v.env.Get("package").(*lua.Table).Set("loaded", loaded)
	register(v.mw, map[string]lua.Native{
		"loadData":     v.loadData,
		"loadJsonData": v.loadJSON,
		"getCurrentFrame": func(*lua.Machine, []lua.Value) []lua.Value {
			return []lua.Value{v.frameTable(v.frame)}
		},
		"clone":                           func(m *lua.Machine, args []lua.Value) []lua.Value { return []lua.Value{clone(m, args[0], nil)} },
		"isSubsting":                      func(*lua.Machine, []lua.Value) []lua.Value { return []lua.Value{false} },
		"log":                             nothing,
		"logObject":                       nothing,
		"addWarning":                      nothing,
		"allToString":                     allToString,
		"incrementExpensiveFunctionCount": nothing,
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
	c.SetMeta(t.Meta())
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
		m.Throw("module '%s' returned a %s for mw.loadData, want a table", name, lua.TypeOf(value))
	}
	return []lua.Value{v.keep(m, name, t)}
}

// keep makes a table of data one that cannot be changed, for the rest of the page.
func (v *invocation) keep(m *lua.Machine, name string, t *lua.Table) *lua.Table {
	meta := lua.NewTable()
	meta.Set("mw_loadData", true)
	register(meta, map[string]lua.Native{"__newindex": func(m *lua.Machine, _ []lua.Value) []lua.Value {
		m.Throw("table from mw.loadData is read-only")
		return nil
	}})
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
	for _, value := range t.All() {
		m.Step(1)
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
		"lower": text(strings.ToLower), "upper": text(strings.ToUpper),
		"toNFC": normalized(norm.NFC), "toNFD": normalized(norm.NFD), "toNFKC": normalized(norm.NFKC), "toNFKD": normalized(norm.NFKD),
		"isutf8": func(m *lua.Machine, args []lua.Value) []lua.Value {
			return []lua.Value{utf8.ValidString(lua.NewArgs(m, args).String(0))}
		},
		"byteoffset": func(m *lua.Machine, args []lua.Value) []lua.Value {
			a := lua.NewArgs(m, args)
			s, n := a.String(0), a.Int(1, 1)
			count := 0
			for k := range s {
				if count++; count == n {
					return []lua.Value{float64(k + 1)}
				}
			}
			return []lua.Value{nil}
		},
	})
	t.Set("maxPatternLength", 10_000.0)
	t.Set("maxStringLength", float64(2<<20))
	return t
}
