package scribunto

import (
	"cmp"
	"strconv"
	"strings"

	"pretext/extract/wiki/internal/lua"
)

// key returns the name of an argument as a program sees it: a number if it is one.
func key(name string) lua.Value {
	if n, err := strconv.Atoi(name); err == nil && strconv.Itoa(n) == name {
		return float64(n)
	}
	return name
}

// find returns the argument with a name; the last one counts.
func (f *Frame) find(name lua.Value) (value string, ok bool) {
	s, isText := lua.ToText(name)
	if !isText {
		return "", false
	}
	for _, a := range f.Args {
		if a.Name == s {
			value, ok = a.Value, true
		}
	}
	return value, ok
}

// arguments returns the table of a frame's arguments, which are expanded when they are
// used.
func (v *invocation) arguments(f *Frame) *lua.Table {
	known := v.m.NewTable()
	get := func(name lua.Value) lua.Value {
		if s, ok := name.(string); ok {
			name = key(s)
		}
		if value := known.Get(name); value != nil {
			return value
		}
		raw, ok := f.find(name)
		if !ok {
			return nil
		}
		value := v.m.String(v.expand(raw, f.Parent))
		v.m.Put(known, name, value)
		return value
	}
	meta := v.m.NewTable()
	register(meta, map[string]lua.Native{
		"__index": func(m *lua.Machine, args []lua.Value) []lua.Value {
			return []lua.Value{get(lua.NewArgs(m, args).Any(1))}
		},
		"__pairs": func(m *lua.Machine, args []lua.Value) []lua.Value {
			all := m.NewTable()
			for _, a := range f.Args {
				m.Put(all, key(a.Name), get(key(a.Name)))
			}
			return []lua.Value{m.Index(v.env, "next"), all, nil}
		},
		"__ipairs": func(m *lua.Machine, args []lua.Value) []lua.Value {
			return []lua.Value{lua.NewFunction("ipairs", func(m *lua.Machine, args []lua.Value) []lua.Value {
				k := lua.NewArgs(m, args).Number(1) + 1
				if value := get(k); value != nil {
					return []lua.Value{k, value}
				}
				return []lua.Value{nil}
			}), args[0], 0.0}
		},
	})
	t := v.m.NewTable()
	t.SetMeta(meta)
	return t
}

// expand expands the templates in a text, which counts at least as many steps.
func (v *invocation) expand(text string, f *Frame) string {
	if !strings.Contains(text, "{{") {
		return text
	}
	v.m.Step(1000 + len(text))
	return v.host.Expand(text, f)
}

// frameTable returns a frame as a program sees it, always the same table.
func (v *invocation) frameTable(f *Frame) *lua.Table {
	if t := v.frames[f]; t != nil {
		return t
	}
	v.m.Charge(2048)
	t := lua.NewTable()
	v.frames[f] = t
	t.Set("args", v.arguments(f))
	register(t, map[string]lua.Native{
		"getTitle": func(m *lua.Machine, _ []lua.Value) []lua.Value { return []lua.Value{m.String(f.Title)} },
		"getParent": func(*lua.Machine, []lua.Value) []lua.Value {
			if f.Parent == nil {
				return []lua.Value{nil}
			}
			return []lua.Value{v.frameTable(f.Parent)}
		},
		"newChild": func(m *lua.Machine, args []lua.Value) []lua.Value {
			a := lua.NewArgs(m, args)
			title, list := v.called(a)
			return []lua.Value{v.frameTable(&Frame{Title: title, Args: list, Parent: f})}
		},
		"preprocess": func(m *lua.Machine, args []lua.Value) []lua.Value {
			a := lua.NewArgs(m, args)
			text, isText := lua.ToText(a.Any(1))
			if !isText {
				text = a.Table(1).Text("text")
			}
			return []lua.Value{m.String(v.expand(text, f))}
		},
		"expandTemplate": func(m *lua.Machine, args []lua.Value) []lua.Value {
			title, list := v.called(lua.NewArgs(m, args))
			return []lua.Value{m.String(v.expand(callText(title, list), f))}
		},
		"callParserFunction": func(m *lua.Machine, args []lua.Value) []lua.Value {
			return []lua.Value{m.String(v.parserFunction(lua.NewArgs(m, args), args, f))}
		},
		"extensionTag": func(m *lua.Machine, args []lua.Value) []lua.Value {
			return []lua.Value{m.String(extensionTag(m, lua.NewArgs(m, args)))}
		},
		"argumentPairs": func(m *lua.Machine, args []lua.Value) []lua.Value {
			return m.Call(m.Index(v.env, "pairs"), t.Get("args"))
		},
		"getArgument": func(m *lua.Machine, args []lua.Value) []lua.Value {
			name := lua.NewArgs(m, args).Any(1)
			if o, ok := name.(*lua.Table); ok {
				name = o.Get("name")
			}
			value := m.Index(t.Get("args"), name)
			if value == nil {
				return []lua.Value{nil}
			}
			return []lua.Value{v.parserValue(func() lua.Value { return value })}
		},
		"newParserValue": func(m *lua.Machine, args []lua.Value) []lua.Value {
			text, ok := lua.ToText(lua.NewArgs(m, args).Any(1))
			if !ok {
				text = lua.NewArgs(m, args).Table(1).Text("text")
			}
			return []lua.Value{v.parserValue(func() lua.Value { return m.String(v.expand(text, f)) })}
		},
		"newTemplateParserValue": func(m *lua.Machine, args []lua.Value) []lua.Value {
			title, list := v.called(lua.NewArgs(m, args))
			return []lua.Value{v.parserValue(func() lua.Value { return m.String(v.expand(callText(title, list), f)) })}
		},
	})
	return t
}

// parserValue returns an object whose method expand gives a text.
func (v *invocation) parserValue(give func() lua.Value) lua.Value {
	t := v.m.NewTable()
	register(t, map[string]lua.Native{"expand": func(*lua.Machine, []lua.Value) []lua.Value { return []lua.Value{give()} }})
	return t
}

// called returns the fields title and args of argument 1.
func (v *invocation) called(a lua.Args) (title string, list []Arg) {
	o := a.Table(1)
	title, _ = lua.ToText(o.Get("title"))
	if t, ok := o.Get("title").(*lua.Table); ok {
		title = t.Text("prefixedText")
	}
	args, _ := o.Get("args").(*lua.Table)
	if args == nil {
		return title, nil
	}
	return title, v.list(args)
}

// list returns the fields of a table as arguments.
func (v *invocation) list(t *lua.Table) (list []Arg) {
	results := v.m.Call(v.m.Index(v.env, "pairs"), t)
	iterator, state := results[0], results[1]
	var control lua.Value
	for {
		next := v.m.Call(iterator, state, control)
		if len(next) == 0 || next[0] == nil {
			return list
		}
		control = next[0]
		name, ok := lua.ToText(control)
		if !ok || len(next) < 2 {
			continue
		}
		switch value := next[1].(type) {
		case bool:
			if value {
				list = append(list, Arg{name, "1"})
			} else {
				list = append(list, Arg{name, ""})
			}
		default:
			list = append(list, Arg{name, v.m.ToString(value)})
		}
		v.m.Charge(64)
	}
}

// callText returns the wikitext of a call whose arguments are values, not wikitext.
func callText(title string, list []Arg) string {
	var b strings.Builder
	b.WriteString("{{" + title)
	for _, a := range list {
		b.WriteString("|" + a.Name + "=" + quoted(a.Value))
	}
	b.WriteString("}}")
	return b.String()
}

// quoted replaces the bars of a value that would end an argument, outside of links.
func quoted(value string) string {
	if strings.IndexByte(value, '|') < 0 {
		return value
	}
	var b strings.Builder
	depth := 0
	for k := 0; k < len(value); k++ {
		switch {
		case strings.HasPrefix(value[k:], "[[") || strings.HasPrefix(value[k:], "{{"):
			depth++
		case depth > 0 && (strings.HasPrefix(value[k:], "]]") || strings.HasPrefix(value[k:], "}}")):
			depth--
		}
		if value[k] == '|' && depth == 0 {
			b.WriteString("{{!}}")
			continue
		}
		b.WriteByte(value[k])
	}
	return b.String()
}

// parserFunction is frame:callParserFunction.
func (v *invocation) parserFunction(a lua.Args, args []lua.Value, f *Frame) string {
	var name string
	var list []Arg
	if o, ok := a.Any(1).(*lua.Table); ok {
		name = o.Text("name")
		switch t := o.Get("args").(type) {
		case *lua.Table:
			list = v.list(t)
		case nil:
		default:
			list = []Arg{{"1", v.m.ToString(t)}}
		}
	} else {
		name = a.String(1)
		if t, ok := a.Any(2).(*lua.Table); ok {
			list = v.list(t)
		} else {
			for k := 2; k < len(args); k++ {
				list = append(list, Arg{strconv.Itoa(k - 1), v.m.ToString(args[k])})
			}
		}
	}
	if name == "#time" {
		return v.formatted(at(list, 0), strings.TrimSpace(at(list, 1)), cmp.Or(at(list, 2), v.page.Lang))
	}
	if name == "#tag" && len(list) > 0 {
		return tag(list[0].Value, nil, at(list, 1))
	}
	var b strings.Builder
	b.WriteString("{{" + name)
	for k, arg := range list {
		switch _, err := strconv.Atoi(arg.Name); {
		case k == 0 && strings.Contains(name, ":"):
			b.WriteString("|")
		case k == 0:
			b.WriteString(":")
		default:
			b.WriteString("|")
			if err != nil {
				b.WriteString(arg.Name + "=")
			}
		}
		b.WriteString(quoted(arg.Value))
	}
	b.WriteString("}}")
	return v.expand(b.String(), f)
}

func at(list []Arg, k int) string {
	if k < len(list) {
		return list[k].Value
	}
	return ""
}

// extensionTag is frame:extensionTag.
func extensionTag(m *lua.Machine, a lua.Args) string {
	o, isTable := a.Any(1).(*lua.Table)
	if !isTable {
		attributes, _ := a.Any(3).(*lua.Table)
		return tag(a.String(1), attributes, a.Opt(2, ""))
	}
	attributes, _ := o.Get("args").(*lua.Table)
	content, _ := lua.ToText(o.Get("content"))
	return tag(o.Text("name"), attributes, content)
}

// tag returns an element of wikitext.
func tag(name string, attributes *lua.Table, content string) string {
	var b strings.Builder
	b.WriteString("<" + name)
	if attributes != nil {
		for k, value := range attributes.All() {
			text, ok := lua.ToText(value)
			if name, isText := k.(string); isText && ok {
				b.WriteString(" " + name + `="` + strings.ReplaceAll(text, `"`, "&quot;") + `"`)
			}
		}
	}
	b.WriteString(">" + content + "</" + name + ">")
	return b.String()
}
