package lua

import (
	"math"

	"pretext/internal/portable"
)

func mathLibrary() *Table {
	functions := map[string]Native{}
	for name, f := range map[string]func(float64) float64{"abs": math.Abs, "acos": portable.Acos, "asin": portable.Asin, "atan": portable.Atan,
		"ceil": math.Ceil, "cos": portable.Cos, "cosh": portable.Cosh, "exp": portable.Exp, "floor": math.Floor, "log": portable.Log, "log10": portable.Log10,
		"sin": portable.Sin, "sinh": portable.Sinh, "sqrt": math.Sqrt, "tan": portable.Tan, "tanh": portable.Tanh,
		"deg": func(x float64) float64 { return x / (math.Pi / 180) }, "rad": func(x float64) float64 { return x * (math.Pi / 180) }} {
		functions[name] = func(m *Machine, args []Value) []Value { return []Value{f(Args{m, args}.Number(0))} }
	}
	for name, f := range map[string]func(a, b float64) float64{"atan2": portable.Atan2, "fmod": math.Mod, "pow": power,
		"ldexp": func(a, b float64) float64 { return math.Ldexp(a, int(b)) }} {
		functions[name] = func(m *Machine, args []Value) []Value {
			return []Value{f(Args{m, args}.Number(0), Args{m, args}.Number(1))}
		}
	}
	for name, better := range map[string]func(a, b float64) bool{"max": func(a, b float64) bool { return a > b }, "min": func(a, b float64) bool { return a < b }} {
		functions[name] = func(m *Machine, args []Value) []Value {
			best := Args{m, args}.Number(0)
			for k := range args {
				if n := (Args{m, args}).Number(k); better(n, best) {
					best = n
				}
			}
			return []Value{best}
		}
	}
	functions["modf"] = func(m *Machine, args []Value) []Value {
		whole, rest := math.Modf(Args{m, args}.Number(0))
		return []Value{whole, rest}
	}
	functions["frexp"] = func(m *Machine, args []Value) []Value {
		f, e := math.Frexp(Args{m, args}.Number(0))
		return []Value{f, float64(e)}
	}
	functions["random"] = random
	functions["randomseed"] = func(m *Machine, args []Value) []Value {
		m.random = uint64(int64(Args{m, args}.Number(0)))
		return nil
	}
	t := library(functions)
	t.Set("pi", math.Pi)
	t.Set("huge", math.Inf(1))
	t.Set("mod", t.Get("fmod")) // the name of Lua 5.0, which 5.1 keeps
	return t
}

// random is math.random, with the generator SplitMix64 (Steele, Lea, Flood 2014).
func random(m *Machine, args []Value) []Value {
	a := Args{m, args}
	m.random += 0x9e3779b97f4a7c15
	z := m.random
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	z ^= z >> 31
	x := float64(z>>11) / (1 << 53)
	if len(args) == 0 {
		return []Value{x}
	}
	low, high := 1, a.Int(0, 1)
	if len(args) > 1 {
		low, high = high, a.Int(1, 1)
	}
	if low > high {
		m.Throw("bad argument #%d to 'random' (interval is empty)", len(args))
	}
	return []Value{float64(low) + math.Floor(x*float64(high-low+1))}
}
