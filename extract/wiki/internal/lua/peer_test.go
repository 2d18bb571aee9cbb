package lua

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// peerPrograms returns programs that must have the same results as in Lua 5.1.
func peerPrograms(r *rand.Rand) (programs []string) {
	add := func(format string, args ...any) { programs = append(programs, fmt.Sprintf(format, args...)) }
	pick := func(list []string) string { return list[r.IntN(len(list))] }
	texts := []string{"", "a", "abc", "hello world", "  x  ", "a.b.c", "k=v, k2=v2", "[[x|y]]", "(a(b)c)", "%d", "aaa", "a-b-c", "THE (quick) fox", "été", "x=1;y=2", "0x10", "-5", "foo123bar", "--"}
	patterns := strings.Fields(`a %w+ (%w+)=(%w*) %s*$ ^%s*(.-)%s*$ [abc]+ [^%s]+ %b() %f[%a]%a+ . .- a* a-b (a)(b) () %d+ [%d%-]+ []a] [^]a] [a-c%d] %. ^a b$ $ %$ (.)%1 a?b? x* %p %u [%w_]+
		(%w)(%w*) %a-%d [% % (a a) %1 %b( [a %f ^ (()a()) .* .+b [a-] [-a] %x+ [%a-z] [+--]`)
	results := []string{"x", "", "%0", "%1", "%1%1", "<%0>", "%%", "%2", "%a"}
	for _, text := range texts {
		for _, p := range patterns {
			add("return (%q):find(%q), (%q):match(%q)", text, p, text, p)
			add("return (%q):find(%q, %d)", text, p, r.IntN(12)-5)
			add("return (%q):gsub(%q, %q)", text, p, pick(results))
			add("return (%q):gsub(%q, %q, %d)", text, p, pick(results), r.IntN(3))
			add("return (%q):gsub(%q, function(...) return select('#', ...) end)", text, p)
			add("return (%q):gsub(%q, {a = 'A', abc = 1, b = false})", text, p)
			add("local n, s = 0, '' for a, b in (%q):gmatch(%q) do s = s .. a .. '/' .. tostring(b) .. ' ' n = n + 1 if n > 50 then break end end return s", text, p)
		}
		for range 20 {
			add("return (%q):sub(%d, %d), (%[1]q):byte(%[2]d, %[3]d)", text, r.IntN(14)-6, r.IntN(14)-6)
		}
		add("return (%q):upper(), (%[1]q):lower(), (%[1]q):reverse(), #%[1]q, (%[1]q):rep(3), (%[1]q):rep(-1), (%[1]q):byte()", text)
		add("return %q < 'abc', %[1]q <= 'b', %[1]q == 'a', %[1]q .. 1", text)
		add("return pcall(function() return %q + 1 end)", text)
	}
	for _, flags := range []string{"", "-", "+", " ", "#", "0", "5", "-5", "05", "+5", ".0", ".2", ".10", "10.3", "-10.3", "+.1", " 5", "-05", "020", "1", "99", "+-5", "0-5"} {
		for _, n := range []string{"0", "1", "42", "3.7", "1e-5", "123456.789", "65", "'7'", "100000", "0.1", "1e15"} {
			for _, verb := range "uoxXdieEfgGs" {
				add("return ('%%%s%c|'):format(%s)", flags, verb, n)
			}
		}
		for _, n := range []string{"-1", "-3.7", "1e20", "1e100"} {
			for _, verb := range "eEfgGs" {
				add("return ('%%%s%c|'):format(%s)", flags, verb, n)
			}
		}
		add("return ('%%%sc|'):format(65), ('%%%[1]ss|'):format('abc'), ('%%q'):format('a\"b\\n\\\\c\\0d')", flags)
	}
	numbers := []string{"0", "1", "1.5", "1e15", "1e14", "123456789012345678", "0.1", "1/3", "2/3", "100", "1e100", "1e-5", "1e-4", "123456.7891234567", "2^53", "-2^31", "5e-324",
		"1.7976931348623157e308", "99999999999999", "999999999999999", "0.30000000000000004"}
	for _, a := range numbers {
		add("return %s, tostring(%[1]s), (%[1]s) .. ''", a)
		for _, b := range numbers {
			// The sign of what is no number depends on the processor.
			add("local a, b = %s, %s local q, m = a / b, a %% b return a + b, a - b, a * b, q == q and q, m == m and m, a < b, a == b, a <= b", a, b)
		}
		add("return math.floor(%s), math.ceil(%[1]s), math.abs(%[1]s), math.sin(%[1]s) > 2, math.modf(%[1]s)", a)
	}
	for _, s := range strings.Fields("0x 0x1F 0X1f 1e 1e5 . .5 5. -.5 +5 0x-1 1_0 inf -INF infinity 1e400 0x1p4 0x1.8 0x.8p1 1e+5 1e-5 --1 abc 08 1.5e2 1..2 ffff 1p4 z") {
		add("return tonumber(%q), tonumber(' ' .. %[1]q .. ' ')", s)
		if !strings.Contains(s, "-") { // a minus sign is read as a large number
			add("return tonumber(%q, 2), tonumber(%[1]q, 8), tonumber(%[1]q, 16), tonumber(%[1]q, 36)", s)
		}
	}
	add("return table.getn({1, 2, 3}), table.getn({}), (pcall(table.getn)), (pcall(table.setn, {}, 1))")
	add("local s = '' local r = table.foreachi({5, 6, 7, nil}, function(k, v) s = s .. k .. v if v == 6 then return v end end) return s, r, table.foreachi({}, function() end)")
	add("return table.foreach({x = 1}, function(k, v) return k .. v end), table.foreach({}, type), (pcall(table.foreach, {})), (pcall(table.foreachi, 1, type))")
	add("return string.gfind == string.gmatch, math.mod == math.fmod, math.mod(7, 4), (string.gfind('ab', 'b'))()")
	return programs
}

// Lua 5.1 itself gives the same results. PRETEXT_LUA is the name of its program.
func TestLuaGivesTheSameResults(t *testing.T) {
	peer := os.Getenv("PRETEXT_LUA")
	if peer == "" {
		t.Skip("PRETEXT_LUA is not set: no program of Lua 5.1 to compare with")
	}
	programs := peerPrograms(rand.New(rand.NewPCG(5, 1)))
	var script bytes.Buffer
	script.WriteString(`local function case(source)
	local f = loadstring(source)
	if not f then io.write("syntax\2") return end
	local function shown(ok, ...)
		if not ok then return "error" end
		local out = {}
		for i = 1, select("#", ...) do out[i] = tostring((select(i, ...))) end
		return table.concat(out, "\3")
	end
	io.write(shown(pcall(f)), "\2")
end
`)
	for _, p := range programs {
		fmt.Fprintf(&script, "case [=====[%s]=====]\n", p)
	}
	cmd := exec.CommandContext(t.Context(), peer, "-")
	cmd.Stdin = &script
	out, err := cmd.Output()
	want := strings.Split(string(out), "\x02")
	if err != nil || len(want) != len(programs)+1 {
		t.Fatalf("%s: %v, %d results of %d programs", peer, err, len(want)-1, len(programs))
	}
	for k, p := range programs {
		if got := peerResult(p); got != want[k] && !strings.HasPrefix(want[k], "false\x03") {
			t.Errorf("%s\n got %q\nwant %q", p, got, want[k])
		}
	}
	t.Logf("%d programs", len(programs))
}

// peerResult returns the results of a program as the script shows them.
func peerResult(source string) string {
	c, err := Compile("x", source)
	if err != nil {
		return "syntax"
	}
	m := NewMachine(usual)
	results, err := m.Run(c, NewEnv(m, 1))
	if err != nil {
		return "error"
	}
	var out []string
	for _, v := range results {
		out = append(out, m.ToString(v))
	}
	return strings.Join(out, "\x03")
}
