package scribunto

import (
	"html"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"pretext/extract/wiki/internal/locale"
	"pretext/extract/wiki/internal/lua"
)

// textLibrary returns mw.text.
func (v *invocation) textLibrary() *lua.Table {
	same := func(m *lua.Machine, args []lua.Value) []lua.Value {
		return []lua.Value{m.String(lua.NewArgs(m, args).String(0))}
	}
	t := lua.NewTable()
	register(t, map[string]lua.Native{
		"trim": func(m *lua.Machine, args []lua.Value) []lua.Value {
			a := lua.NewArgs(m, args)
			return []lua.Value{m.String(trim(m, a.String(0), a.Opt(1, "")))}
		},
		"split": func(m *lua.Machine, args []lua.Value) []lua.Value {
			a := lua.NewArgs(m, args)
			t := m.NewTable()
			for k, part := range lua.Split(m, a.String(0), a.String(1), a.Any(2) == true) {
				m.Put(t, float64(k+1), part)
			}
			return []lua.Value{t}
		},
		"gsplit": func(m *lua.Machine, args []lua.Value) []lua.Value {
			a := lua.NewArgs(m, args)
			parts := lua.Split(m, a.String(0), a.String(1), a.Any(2) == true)
			return []lua.Value{lua.NewFunction("gsplit", func(*lua.Machine, []lua.Value) []lua.Value {
				if len(parts) == 0 {
					return []lua.Value{nil}
				}
				part := parts[0]
				parts = parts[1:]
				return []lua.Value{part}
			})}
		},
		"encode": func(m *lua.Machine, args []lua.Value) []lua.Value {
			a := lua.NewArgs(m, args)
			return []lua.Value{m.String(encode(m, a.String(0), a.Opt(1, "")))}
		},
		"decode": func(m *lua.Machine, args []lua.Value) []lua.Value {
			a := lua.NewArgs(m, args)
			return []lua.Value{m.String(decode(m, a.String(0), a.Any(1) == true))}
		},
		"nowiki":     nowiki,
		"listToText": v.listToText,
		"truncate":   v.truncate,
		"tag":        tagText,
		"unstrip":    same, "unstripNoWiki": same, "killMarkers": same,
		"jsonEncode": func(m *lua.Machine, args []lua.Value) []lua.Value {
			a := lua.NewArgs(m, args)
			e := jsonEncoder{m: m, flags: a.Int(1, 0)}
			e.value(a.Any(0), 0)
			return []lua.Value{m.String(e.String())}
		},
		"jsonDecode": func(m *lua.Machine, args []lua.Value) []lua.Value {
			a := lua.NewArgs(m, args)
			return []lua.Value{decodeJSON(m, a.String(0), a.Int(1, 0))}
		},
	})
	t.Set("JSON_PRESERVE_KEYS", float64(jsonPreserveKeys))
	t.Set("JSON_TRY_FIXING", float64(jsonTryFixing))
	t.Set("JSON_PRETTY", float64(jsonPretty))
	return t
}

// trim removes the characters of a set, by default white space, from both ends.
func trim(m *lua.Machine, s, set string) string {
	m.Step(len(s) / 64)
	if set == "" {
		return strings.Trim(s, " \t\r\n\f\v")
	}
	is := lua.Set(m, set)
	return strings.TrimFunc(s, is)
}

// named has the characters that mw.text.encode replaces by names, and mw.text.decode reads
// in any case.
var named = [...]struct {
	c      rune
	entity string
}{{'<', "&lt;"}, {'>', "&gt;"}, {'&', "&amp;"}, {'"', "&quot;"}, {'\'', "&#039;"}, {'\u00a0', "&nbsp;"}}

// nameOf returns the entity of a character in named, or "".
func nameOf(c rune) string {
	for _, n := range named {
		if n.c == c {
			return n.entity
		}
	}
	return ""
}

// encode is mw.text.encode: it replaces the characters of a set, by default those of named.
func encode(m *lua.Machine, s, set string) string {
	m.Charge(len(s))
	is := func(c rune) bool { return nameOf(c) != "" }
	if set != "" {
		is = lua.Set(m, set)
	}
	var b strings.Builder
	for _, c := range s {
		switch name := nameOf(c); {
		case !is(c):
			b.WriteRune(c)
		case name != "":
			b.WriteString(name)
		default:
			b.WriteString("&#" + strconv.Itoa(int(c)) + ";")
		}
	}
	return b.String()
}

// maxEntity is the maximum length of an entity that decode looks at, in bytes. The longest
// name of HTML has 32 letters.
const maxEntity = 40

// decode is mw.text.decode: it replaces numeric entities, those of named and, if all is
// set, all that HTML knows. An entity ends with a semicolon.
func decode(m *lua.Machine, s string, all bool) string {
	m.Charge(len(s))
	var b strings.Builder
	for {
		k := strings.IndexByte(s, '&')
		if k < 0 {
			return b.String() + s
		}
		b.WriteString(s[:k])
		s = s[k:]
		n := 1
		for n < min(len(s), maxEntity) && (s[n] == '#' || s[n]|0x20 >= 'a' && s[n]|0x20 <= 'z' || s[n] >= '0' && s[n] <= '9') {
			n++
		}
		if n == len(s) || s[n] != ';' {
			b.WriteByte('&')
			s = s[1:]
			continue
		}
		b.WriteString(decodeEntity(s[:n+1], all))
		s = s[n+1:]
	}
}

// decodeEntity returns the text of an entity, or the entity itself.
func decodeEntity(entity string, all bool) string {
	if digits, ok := strings.CutPrefix(entity[:len(entity)-1], "&#"); ok {
		base := 10
		if hex, ok := strings.CutPrefix(digits, "x"); ok {
			digits, base = hex, 16
		}
		if c, err := strconv.ParseInt(digits, base, 32); err == nil && utf8.ValidRune(rune(c)) {
			return string(rune(c))
		}
		return entity
	}
	for _, n := range named {
		if n.entity == entity {
			return string(n.c)
		}
	}
	if text := html.UnescapeString(entity); all && !strings.HasSuffix(text, ";") {
		return text
	}
	return entity
}

// Replacers of mw.text.nowiki, made when they are needed: of characters anywhere, of what
// has a meaning at the start of a line, and of sequences.
var (
	nowikiAnywhere = sync.OnceValue(func() *strings.Replacer {
		return strings.NewReplacer(`"`, "&#34;", "&", "&#38;", "'", "&#39;", "<", "&#60;", "=", "&#61;", ">", "&#62;", "[", "&#91;",
			"]", "&#93;", "{", "&#123;", "|", "&#124;", "}", "&#125;", ";", "&#59;")
	})
	nowikiLines = sync.OnceValue(func() *strings.Replacer {
		var pairs []string
		for _, c := range []string{"!", "#", "*", ":", " ", "\n", "\r", "\t"} {
			code := "&#" + strconv.Itoa(int(c[0])) + ";"
			pairs = append(pairs, "\n"+c, "\n"+code, "\r"+c, "\r"+code)
		}
		pairs = append([]string{"\r\n", "&#13;\n"}, pairs...)
		return strings.NewReplacer(append(pairs, "\n----", "\n&#45;---", "\r----", "\r&#45;---")...)
	})
	nowikiSequences = sync.OnceValue(func() *strings.Replacer {
		return strings.NewReplacer("!!", "&#33;!", "__", "_&#95;", "://", "&#58;//", "~~~", "~~&#126;", "\uff3f", "&#xFF3F;",
			"ISBN ", "ISBN&#32;", "RFC ", "RFC&#32;", "PMID ", "PMID&#32;")
	})
)

// nowiki is mw.text.nowiki.
func nowiki(m *lua.Machine, args []lua.Value) []lua.Value {
	s := nowikiAnywhere().Replace(lua.NewArgs(m, args).String(0))
	m.Charge(2 * len(s))
	s = nowikiSequences().Replace(nowikiLines().Replace("\n" + s)[1:])
	coded := func(c byte) string { return "&#" + strconv.Itoa(int(c)) + ";" }
	if s != "" && strings.IndexByte("-+_~", s[0]) >= 0 {
		s = coded(s[0]) + s[1:]
	}
	if s != "" && strings.IndexByte("_~\r\n\t", s[len(s)-1]) >= 0 {
		s = s[:len(s)-1] + coded(s[len(s)-1])
	}
	return []lua.Value{m.String(s)}
}

// words returns the words of the wiki's language. A call ends where they are unknown.
func (v *invocation) words(m *lua.Machine) locale.ListWords {
	w, ok := locale.ListWordsOf(v.page.Lang)
	if !ok {
		m.Fail(failWiki, "words of lists in "+v.page.Lang)
	}
	return w
}

// listToText is mw.text.listToText.
func (v *invocation) listToText(m *lua.Machine, args []lua.Value) []lua.Value {
	a := lua.NewArgs(m, args)
	t := a.Table(0)
	var w locale.ListWords
	if n := t.Len(); a.Any(1) == nil && n > 2 || a.Any(2) == nil && n > 1 {
		w = v.words(m)
	}
	sep, last := a.Opt(1, w.Comma), a.Opt(2, w.And)
	var b strings.Builder
	n := t.Len()
	for k := 1; k <= n; k++ {
		switch {
		case k == n && n > 1:
			b.WriteString(last)
		case k > 1:
			b.WriteString(sep)
		}
		s := m.ToString(t.Get(float64(k)))
		m.Charge(len(s) + len(sep))
		b.WriteString(s)
	}
	return []lua.Value{m.String(b.String())}
}

// truncate is mw.text.truncate. A text that would not become shorter stays.
func (v *invocation) truncate(m *lua.Machine, args []lua.Value) []lua.Value {
	a := lua.NewArgs(m, args)
	s, limit := a.String(0), a.Int(1, 0)
	n := limit
	if n < 0 {
		n = -n
	}
	length := utf8.RuneCountInString(s)
	if length <= n {
		return []lua.Value{s}
	}
	mark, adjust := "", 0
	if mark = a.Opt(2, ""); a.Any(2) == nil {
		mark = v.words(m).Ellipsis
	}
	if a.Any(3) == true {
		adjust = utf8.RuneCountInString(mark)
		n = max(n-adjust, 0)
	}
	if length <= n+utf8.RuneCountInString(mark) && adjust == 0 {
		return []lua.Value{s}
	}
	m.Charge(4 * len(s))
	r := []rune(s)
	if limit < 0 {
		return []lua.Value{m.String(mark + string(r[len(r)-n:]))}
	}
	return []lua.Value{m.String(string(r[:n]) + mark)}
}

// tagText is mw.text.tag: a tag, or an element if there is content. Without content, false
// closes the tag.
func tagText(m *lua.Machine, args []lua.Value) []lua.Value {
	a := lua.NewArgs(m, args)
	name, list, content := a.Any(0), a.Any(1), a.Any(2)
	if o, ok := name.(*lua.Table); ok {
		name, list, content = o.Get("name"), o.Get("attrs"), o.Get("content")
	}
	attributes, isTable := list.(*lua.Table)
	title, isText := name.(string)
	if !isText || list != nil && !isTable {
		m.Throw("bad argument to 'tag' (a name and a table of attributes expected)")
	}
	var b strings.Builder
	b.WriteString("<" + title)
	if attributes != nil {
		writeAttributes(m, &b, attributes)
	}
	text, ok := lua.ToText(content)
	switch {
	case ok:
		b.WriteString(">" + text + "</" + title + ">")
	case content == nil:
		b.WriteString(">")
	case content == false:
		b.WriteString(" />")
	default:
		m.Throw("bad argument #3 to 'tag' (string, number, nil, or false expected, got %s)", lua.TypeOf(content))
	}
	return []lua.Value{m.String(b.String())}
}

// writeAttributes writes the attributes of a tag: true stands for a name without a value,
// and false for no attribute.
func writeAttributes(m *lua.Machine, b *strings.Builder, attributes *lua.Table) {
	for k, value := range attributes.All() {
		m.Step(1)
		name, isText := k.(string)
		text, ok := lua.ToText(value)
		switch {
		case !isText:
			m.Throw("bad named argument attrs to 'tag' (keys must be strings, found %s)", lua.TypeOf(k))
		case value == true:
			b.WriteString(" " + name)
		case ok:
			b.WriteString(" " + name + `="` + encode(m, text, "") + `"`)
		case value != false:
			m.Throw("bad named argument attrs to 'tag' (value for key '%s' may not be %s)", name, lua.TypeOf(value))
		}
	}
}
