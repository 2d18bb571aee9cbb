package lua

import (
	"runtime"
	"strings"
	"testing"
	"time"
)

// hostile are programs that never end, or take all memory, in a machine without limits.
var hostile = map[string]string{
	"loop":               `while true do end`,
	"repeat":             `repeat until false`,
	"for":                `for i = 1, math.huge do end`,
	"for without step":   `for i = 2, 1, 0 do end`,
	"iterator":           `for x in function() return 1 end do end`,
	"caught loop":        `while true do pcall(function() while true do end end) end`,
	"caught errors":      `while true do pcall(error, {}) end`,
	"xpcall":             `local function h() return xpcall(error, h) end while true do xpcall(error, h) end`,
	"recursion":          `local function f() return 1 + f() end return f()`,
	"tail call":          `local function f() return f() end return f()`,
	"caught recursion":   `local function f() pcall(f) f() end f()`,
	"mutual":             `local g local function f() return pcall(g) end function g() return pcall(f) end return f()`,
	"doubling":           `local s = "x" while true do s = s .. s end`,
	"chained doubling":   `local s = "x" while true do s = s .. s .. s .. s .. s .. s end`,
	"rep":                `local s = ("x"):rep(1e9)`,
	"rep of rep":         `local s = ("x"):rep(1e6):rep(1e6)`,
	"rep of nothing":     `while true do local s = (""):rep(1e9) end`,
	"gsub":               `local s = ("x"):rep(1e5) while true do s = s:gsub("x", "xx") end`,
	"gsub function":      `local s = ("x"):rep(1e4) while true do s = s:gsub(".", function(c) return c .. c end) end`,
	"gsub captures":      `local s = ("x"):rep(1e4) s = s:gsub("(.*)", ("%1"):rep(1e5))`,
	"format":             `while true do local s = ("%99d"):format(1) end`,
	"format of long":     `local s = ("x"):rep(1e5) while true do local t = ("%s%s"):format(s, s) end`,
	"concat":             `local t = {} for i = 1, 1e5 do t[i] = ("x"):rep(1000) end while true do local s = table.concat(t) end`,
	"array":              `local t = {} for i = 1, math.huge do t[i] = i end`,
	"far keys":           `local t = {} for i = 1, math.huge do t[i * 1e6] = i end`,
	"one far key":        `local t = {} t[2 ^ 40] = 1 while true do t[#t + 2 ^ 30] = 1 end`,
	"tables":             `local t = {} while true do t = {t} end`,
	"tables with fields": `local t = {} while true do t = {a = t, b = 1, c = 2} end`,
	"temporary tables":   `while true do local t = {} end`,
	"functions":          `local f while true do local g = f f = function() return g end end`,
	"text keys":          `local t, s = {}, "" while true do s = s .. "x" t[s] = s end`,
	"long comparisons":   `local a, b = ("x"):rep(4e6), ("x"):rep(4e6 - 1) .. "y" while true do local c = a == b or a < b end`,
	"long keys":          `local s, t = ("x"):rep(4e6), {} while true do local c = t[s] end`,
	"long keys found":    `local s, t = ("x"):rep(4e6), {} t[s] = 1 while true do local c = t[s] end`,
	"upper":              `local s = ("x"):rep(4e6) while true do local c = s:upper() end`,
	"byte":               `local s = ("x"):rep(4e6) while true do local a = s:byte(1, -1) end`,
	"unpack":             `local t = {} for i = 1, 7000 do t[i] = i end local function f(...) return f(unpack(t)) end f()`,
	"arguments":          `local function f(...) return f(1, ...) end f()`,
	"select":             `local t = {} for i = 1, 7000 do t[i] = i end while true do local x = select(2, unpack(t)) end`,
	"index":              `local t = setmetatable({}, {}) getmetatable(t).__index = t return t.x`,
	"index function":     `local t t = setmetatable({}, {__index = function(_, k) return t[k .. "x"] end}) return t.x`,
	"newindex":           `local t t = setmetatable({}, {__newindex = function(_, k, v) t[k .. "x"] = v end}) t.x = 1`,
	"newindex chain":     `local t = setmetatable({}, {}) getmetatable(t).__newindex = t t.x = 1`,
	"call":               `local t = setmetatable({}, {}) getmetatable(t).__call = t t()`,
	"call function":      `local t t = setmetatable({}, {__call = function() return t() end}) t()`,
	"concat metamethod":  `local t t = setmetatable({}, {__concat = function(a, b) return t .. b end}) local x = t .. "a"`,
	"tostring":           `local t t = setmetatable({}, {__tostring = function() return tostring(t) end}) tostring(t)`,
	"equal":              `local m = {} m.__eq = function(a, b) return a == b end local x = setmetatable({}, m) == setmetatable({}, m)`,
	"less":               `local m = {} m.__lt = function(a, b) return a < b end local x = setmetatable({}, m) < setmetatable({}, m)`,
	"pairs metamethod":   `local t t = setmetatable({}, {__pairs = function() return pairs(t) end}) for k in pairs(t) do end`,
	"sort":               `local t = {} for i = 1, 1e5 do t[i] = i end table.sort(t, function() return true end) while true do table.sort(t) end`,
	"error object":       `error(setmetatable({}, {__tostring = function() while true do end end}))`,
	"error in error":     `local e = setmetatable({}, {__tostring = function(e) error(e) end}) while true do pcall(tostring, e) end`,
	"length":             `local t = {} for i = 1, 1e5 do t[i] = i end for i = 1, 1e5 - 1 do t[i] = nil end while true do local n = #t end`,
	"next":               `local t = {} for i = 1, 1e5 do t["k" .. i] = i end for i = 1, 1e5 do t["k" .. i] = nil end while true do next(t) end`,
	"insert in front":    `local t = {} while true do table.insert(t, 1, 0) end`,
	"remove in front":    `local t = {} for i = 1, 3e5 do t[i] = i end while true do table.remove(t, 1) table.insert(t, 1) end`,
	"pattern":            `return ("a"):rep(1e4):find((".-"):rep(20) .. "b")`,
	"pattern of stars":   `return ("a"):rep(1e4):match((".*"):rep(20) .. "b")`,
	"pattern of options": `return ("a"):rep(1e3):match(("a?"):rep(150) .. ("a"):rep(150) .. "b")`,
	"pattern balanced":   `local s = ("("):rep(1e5) return s:find("%b()")`,
	"pattern set":        `local p = "[" .. ("a"):rep(1e5) .. "]" return ("b"):rep(1e5):find(p)`,
	"pattern back":       `return ("a"):rep(1e5):find("(a*)%1b")`,
	"find plain":         `local s = ("a"):rep(1e6) while true do s:find(("a"):rep(1e5) .. "b", 1, true) end`,
	"gmatch":             `while true do for x in ("a"):rep(1e5):gmatch("a-") do end end`,
	"random":             `while true do math.random() end`,
	"tonumber":           `local s = (" "):rep(4e6) while true do tonumber(s) end`,
	"select negative":    `while true do select(-1, 1, 2, 3) end`,
	"setfenv":            `local e = setmetatable({}, {__index = function(t, k) return t[k] end}) setfenv(1, e) return x`,
}

// programs that are too large for the compiler's stack.
var deepSources = map[string]string{
	"parentheses": "return " + strings.Repeat("(", 1e5) + "1" + strings.Repeat(")", 1e5),
	"tables":      "return " + strings.Repeat("{", 1e5),
	"functions":   strings.Repeat("return function() ", 1e5),
	"blocks":      strings.Repeat("do ", 1e5),
	"negations":   "return " + strings.Repeat("not ", 1e5) + "1",
	"joins":       "return " + strings.Repeat("'' .. ", 1e5) + "1",
	"powers":      "return " + strings.Repeat("2 ^ ", 1e5) + "1",
	"sums":        "return 1" + strings.Repeat(" + 1", 1e5),
	"accesses":    "return x" + strings.Repeat(".x", 1e5),
	"calls":       "return x" + strings.Repeat("()", 1e5),
	"locals":      strings.Repeat("local x ", 1e5),
	"parameters":  "return function(" + strings.Repeat("a, ", 1e5) + "a) end",
	"elseif":      "if a then " + strings.Repeat("elseif b then ", 1e5),
	"long":        "return [==[" + strings.Repeat("]", 1e5),
	"too long":    strings.Repeat(" ", 3<<20),
}

func TestHostileProgramsEnd(t *testing.T) {
	for name, source := range hostile {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			start := time.Now()
			limits := Limits{Steps: 500_000, Bytes: 16 << 20}
			_, err := evaluate(t, limits, source)
			f, ok := err.(*Failure)
			if !ok {
				if name != "pattern balanced" { // it ends, at once
					t.Fatalf("ended with %v, want a failure", err)
				}
			} else {
				t.Log(f)
			}
			runtime.ReadMemStats(&after)
			if got := after.TotalAlloc - before.TotalAlloc; got > 512<<20 {
				t.Errorf("%d MB allocated", got>>20)
			}
			if got := time.Since(start); got > 10*time.Second {
				t.Errorf("%v", got)
			}
			if _, again := evaluate(t, limits, source); again.Error() != err.Error() {
				t.Errorf("the second time: %v, not %v", again, err)
			}
		})
	}
	for name, source := range deepSources {
		if _, err := Compile("x", source); err == nil {
			t.Errorf("%s: compiled", name)
		}
	}
}

// Everything that takes memory is counted: programs that keep making it run out of bytes
// long before they run out of steps.
func TestMemoryIsCounted(t *testing.T) {
	for _, name := range []string{"array", "far keys", "tables", "tables with fields", "temporary tables", "functions", "text keys", "doubling", "chained doubling",
		"rep", "rep of rep", "gsub", "gsub function", "gsub captures", "format", "format of long", "concat", "byte", "upper"} {
		_, err := evaluate(t, Limits{Steps: 5_000_000, Bytes: 1 << 20}, hostile[name])
		if f, ok := err.(*Failure); !ok || f.Reason != failMemory {
			t.Errorf("%s: ended with %v, want a failure of memory", name, err)
		}
	}
}
