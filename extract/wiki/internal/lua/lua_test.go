package lua

import (
	"errors"
	"strings"
	"testing"
)

// evaluate runs a program and returns what it returns, as text joined by commas.
func evaluate(t *testing.T, l Limits, source string) (string, error) {
	t.Helper()
	c, err := Compile("Module:Test", source)
	if err != nil {
		return "", err
	}
	m := NewMachine(l)
	results, err := m.Run(c, NewEnv(m, 1))
	var out []string
	for _, v := range results {
		s := "?"
		if err := m.Guard(func() { s = m.ToString(v) }); err != nil {
			return "", err
		}
		out = append(out, s)
	}
	return strings.Join(out, ","), err
}

var usual = Limits{Steps: 1e6, Bytes: 16 << 20}

func TestPrograms(t *testing.T) {
	for _, c := range []struct{ source, want string }{
		{`return 1 + 2 * 3 ^ 2 ^ 0.5 .. "", 7 % 3, -7 % 3, 2^-1, 10 / 4`, "10.457608775675,1,2,0.5,2.5"},
		{`return 0x10, 1e3, .5, 3., 1e15, 123456789012345, -0.1, 1/0, -1/0, 100000000000000`, "16,1000,0.5,3,1e+15,1.2345678901234e+14,-0.1,inf,-inf,1e+14"},
		{`local a, b, c = (function(...) return ... end)(1, 2) return a, b, c`, "1,2,nil"},
		{`local t = {1, 2, x = 3, [10] = 4, (function() return 5, 6 end)()} return #t, t.x, t[10], t[3], t[4]`, "4,3,4,5,6"},
		{`local s = "" for i = 10, 1, -3 do s = s .. i .. " " end return s`, "10 7 4 1 "},
		{`local s = 0 for _, v in ipairs{1, 2, nil, 4} do s = s + v end return s`, "3"},
		{`local t, s = {b = 1, a = 2, 7, 8}, "" for k, v in pairs(t) do s = s .. k .. v .. ";" end return s`, "17;28;b1;a2;"},
		{`local t = {} for i = 1, 3 do t[i] = function() i = i + 1 return i end end return t[1](), t[1](), t[2](), t[3]()`, "2,3,3,4"},
		{`local i, s = 0, 0 repeat local j = i; i = i + 1; if j == 2 then break end s = s + j until j > 5 return i, s`, "3,1"},
		{`local o = setmetatable({}, {__index = function(t, k) return k .. "!" end, __call = function(self, a) return a * 2 end}) return o.x, o(4)`, "x!,8"},
		{`local A = {} A.__index = A function A.new(n) return setmetatable({n = n}, A) end function A:get() return self.n end
		  A.__add = function(a, b) return A.new(a.n + b.n) end A.__eq = function(a, b) return a.n == b.n end A.__lt = function(a, b) return a.n < b.n end
		  A.__concat = function(a, b) return "c" end A.__tostring = function(a) return "A" .. a.n end A.__unm = function(a) return A.new(-a.n) end
		  return (A.new(1) + A.new(2)):get(), A.new(1) == A.new(1), A.new(1) < A.new(2), A.new(1) >= A.new(2), A.new(1) .. "x", "x" .. A.new(1), tostring(A.new(5)), (-A.new(3)).n`,
			"3,true,true,false,c,c,A5,-3"},
		{`return pcall(error, {1}) and 1, select("#", pcall(error)), pcall(function() error("x", 0) end)`, "false,2,false,x"},
		{`return pcall(function() local x = nil; return x.y end)`, "false,Module:Test:1: attempt to index local 'x' (a nil value)"},
		{`return pcall(function() return 1 + {} end)`, "false,Module:Test:1: attempt to perform arithmetic on a table value"},
		{`return pcall(function() undefinedFunction() end)`, "false,Module:Test:1: attempt to call global 'undefinedFunction' (a nil value)"},
		{`return xpcall(function() error("m") end, function(e) return "H:" .. e end)`, "false,H:Module:Test:1: m"},
		{`return ("hello world"):find("o w"), ("hello"):find("l+"), ("hello"):match("(h)(.)"), ("k=v"):match("^(%w+)=(%w*)$")`, "5,3,h,k,v"},
		{`return ("abc"):gsub("%w", "%0%0"), ("hello world"):gsub("o", {o = "0"}), ("abc"):gsub("", "-"), ("x y"):gsub("(%w) (%w)", "%2 %1")`, "aabbcc,hell0 w0rld,-a-b-c-,y x,1"},
		{`local s = "" for k, v in ("a=1, b=2"):gmatch("(%w+)=(%w+)") do s = s .. k .. v end return s, ("THE (quick) fox"):find("%((%a+)%)"), ("[[x]]"):match("%b[]"), ("THE fox"):gsub("%f[%a]%a+", "w")`,
			"a1b2,5,[[x]],w w,2"},
		{`return ("%5.2f|%-5s|%05d|%x|%q|%s|%g|%c"):format(3.14159, "ab", 42, 255, 'a"b', true, 1e20, 65)`, ` 3.14|ab   |00042|ff|"a\"b"|true|1e+20|A`},
		{`return ("abc"):sub(2), ("abc"):sub(-2, -1), ("abc"):sub(0), ("abc"):sub(5), ("abc"):byte(1, -1)`, "bc,bc,abc,,97,98,99"},
		{`return table.concat({1, 2, 3}, ", "), table.concat({}, "x"), #"a\0b", "\65\066\n" == "AB\n", [[
x]], [==[a]]b]==]`, "1, 2, 3,,3,true,x,a]]b"},
		{`local t = {3, 1, 2} table.sort(t) local u = {3, 1, 2} table.sort(u, function(a, b) return a > b end)
		  table.insert(t, 4) table.insert(t, 1, 0) return table.concat(t), table.concat(u), table.remove(t), table.remove(t, 1), #t`, "01234,321,4,0,3"},
		{`return table.getn({5, 6}), table.foreachi({5, 6}, function(k, v) if v == 6 then return k end end), table.foreach({x = 1}, function(k) return k end),
		  pcall(table.foreach, {}, 1) or pcall(table.setn, {}, 1), string.gfind == string.gmatch, math.mod(7, 4)`, "2,2,x,false,true,3"},
		{`local t = {1, 2, 3} for k in pairs(t) do t[k] = nil end return next(t), #t`, "nil,0"},
		{`local t = {} t[3] = 3 t[2] = 2 t[1] = 1 return #t, unpack(t)`, "3,1,2,3"},
		{`return tonumber("0x1F"), tonumber(" 12 "), tonumber("1e2"), tonumber("z", 36), tonumber("abc"), tonumber(""), tonumber("inf"), tonumber("1_0")`, "31,12,100,35,nil,nil,inf,nil"},
		{`return ("abc"):find("", 9), ("^a"):gmatch("^a")(), ("x"):rep(2, ","), ("%+5u|%-3c|%#x"):format(7, 65, 0), pcall(string.char, 256)`,
			"4,^a,xx,    7|A  |0,false,Module:Test:1: bad argument #1 to 'char' (invalid value)"},
		{`return math.floor(-1.5), math.max(1, 3, 2), math.fmod(7, 3), math.huge, math.modf(3.7)`, "-2,3,1,inf,3,0.7"},
		{`local function f(...) local a, b = ... return select("#", ...), a, b, (...) end return f(nil, nil, 3)`, "3,nil,nil,nil"},
		{`setfenv(1, setmetatable({}, {__index = function(_, k) return k end})) return foo`, "foo"},
		{`local a <const> = 1`, "syntax"},
		{`goto x`, "syntax"},
		{`return not nil == true, 1 == "1", "a" < "b", 2 < 10, "2" + 3, 10 .. 20`, "true,false,true,true,5,1020"},
		{`local t = setmetatable({}, {__pairs = function(t) return function(_, k) if not k then return 1, "p" end end, t, nil end}) for k, v in pairs(t) do return k, v end`, "1,p"},
		{`local a = {} local i = 1 i, a[i] = i + 1, 20 return i, a[1], a[2]`, "2,20,nil"},
		{`do local x = 1 end return x`, "nil"},
		{"--[==[ x\n]] ]==] return 1 -- end", "1"},
		{`local t = {f = function(self, x) return x end} return t:f"a", t:f{1}[1], #t:f"abc"`, "a,1,3"},
		{`return rawequal("a", "a"), rawget(setmetatable({}, {__index = {x = 1}}), "x"), getmetatable("x"), type(next)`, "true,nil,nil,function"},
		{`return math.random() == math.random(), math.random(5) <= 5`, "false,true"},
		{`local x = 5; local function g() return x end; x = 6; return g()`, "6"},
		{`if false then return 1 elseif nil then return 2 else return 3 end`, "3"},
		{`local n = 0 while true do n = n + 1 if n > 5 then break end end return n`, "6"},
		{`return #{n = 1}, #{1, nil, 3}, #{nil}, #""`, "0,3,0,0"},
	} {
		got, err := evaluate(t, usual, c.source)
		if f := (*Failure)(nil); errors.As(err, &f) && f.Reason == c.want {
			continue
		}
		if err != nil || got != c.want {
			t.Errorf("%s\n got %q, %v\nwant %q", c.source, got, err, c.want)
		}
	}
}
