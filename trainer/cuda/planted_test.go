package cuda

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"pretext/trainer/cuda/device"
	"pretext/trainer/cuda/sim"
)

// A call is something that the host queues: a launch, a product, a copy, a wait.
type call struct {
	site   string // source line that wants it: outside of queue.go and compute.go
	work   string // the kernel, or what it is
	fields []field
}

// A field is a number of a call. Its kind says how mutants change it: see
// fieldEdits.
type field struct {
	name, kind string
	value      uint64
}

func (f field) float() float32 { return math.Float32frombits(uint32(f.value)) }

// kernelArgs describes the arguments of a kernel, by offset.
type kernelArgs struct {
	name   string
	fields []argument
}

type argument struct {
	name, kind   string
	offset, size int
}

// A planted device is a simulator that shows each call, and makes that of a mutant another one.
type planted struct {
	*sim.GPU
	seen      func(call)
	mutant    *hostMutant
	texts     []string                        // of the modules, by handle - 1
	loaded    map[device.Module]device.Module // those of which a kernel was launched
	functions []*function                     // by handle - 1
	products  map[device.Product]planned
	plans     map[planned]device.Product // of mutants
}

// planned has the arguments of a Plan.
type planned struct {
	m         device.Matmul
	workspace int
	algorithm string
}

func newPlanted(seed uint64) *planted {
	o := sim.Options{Seed: seed, Memory: 1 << 30, MaxInstructions: 1 << 20, Network: sim.NewNetwork()}
	return &planted{GPU: sim.NewGPU(o), loaded: map[device.Module]device.Module{},
		products: map[device.Product]planned{}, plans: map[planned]device.Product{}}
}

// A function is a kernel of a module, which is loaded when one of them is launched: that
// saves a fifth of the time.
type function struct {
	kernelArgs
	module device.Module
	at     device.Function // 0: not loaded
	shared int
}

func (d *planted) Load(text string) (device.Module, error) {
	d.texts = append(d.texts, text)
	return device.Module(len(d.texts)), nil
}

func (d *planted) Function(m device.Module, name string) (device.Function, device.Limits, error) {
	d.functions = append(d.functions, &function{kernelArgs: kernelArgs{name: name}, module: m})
	return device.Function(len(d.functions)), device.Limits{}, nil
}

func (d *planted) AllowShared(f device.Function, bytes int) error {
	d.functions[f-1].shared = bytes
	return nil
}

// function returns a kernel that can be launched.
func (d *planted) function(handle device.Function) (*function, error) {
	f := d.functions[handle-1]
	if f.at != 0 {
		return f, nil
	}
	text, err := d.texts[f.module-1], error(nil)
	if d.loaded[f.module] == 0 {
		if d.loaded[f.module], err = d.GPU.Load(text); err != nil {
			return nil, err
		}
	}
	f.fields = arguments(text, f.name)
	if f.at, _, err = d.GPU.Function(d.loaded[f.module], f.name); err == nil && f.shared > 0 {
		err = d.GPU.AllowShared(f.at, f.shared)
	}
	return f, err
}

var param = regexp.MustCompile(`\.param (?:\.align (\d+) )?\.(\w+) \w+?_param_(\d+)(?:\[(\d+)\])?`)

// structs are the structs among the arguments, by their size and alignment: a letter for each
// field, a pointer, an integer or a float; - is padding, b a uint64 and k a chance.
var structs = map[[2]int]string{
	{24, 8}: "bikf-", {40, 8}: "ppppi-", {32, 8}: "pppii", {40, 4}: "ffffffffii",
}

var load = regexp.MustCompile(`ld\.param\.(?:v(\d)\.)?[a-z](\d+)\s.*\[\w+?_param_(\d+)(?:\+(\d+))?\]`)

// arguments returns the arguments in a PTX text that a kernel reads.
func arguments(text, kernel string) (all []argument) {
	_, after, _ := strings.Cut(text, ".entry "+kernel+"(")
	head, body, _ := strings.Cut(after, ")")
	body, _, _ = strings.Cut(body, ".entry ")
	read := map[[2]int]bool{} // by parameter and offset in it
	for _, m := range load.FindAllStringSubmatch(body, -1) {
		n, _ := strconv.Atoi(m[1])
		bits, _ := strconv.Atoi(m[2])
		parameter, _ := strconv.Atoi(m[3])
		offset, _ := strconv.Atoi(m[4])
		for i := range max(n, 1) * bits / 8 {
			read[[2]int{parameter, offset + i}] = true
		}
	}
	at, parameter, begin := 0, 0, 0
	add := func(name, kind string, size int) {
		at = roundUp(at, size)
		if kind != "" && read[[2]int{parameter, at - begin}] {
			all = append(all, argument{name, kind, at, size})
		}
		at += size
	}
	for _, m := range param.FindAllStringSubmatch(head, -1) {
		name := "argument " + m[3]
		parameter, _ = strconv.Atoi(m[3])
		switch m[2] {
		case "u64", "s64":
			begin = roundUp(at, 8)
			add(name, "pointer", 8) // or a number: see values
		case "u32", "s32":
			begin = roundUp(at, 4)
			add(name, "integer", 4)
		case "f32":
			begin = roundUp(at, 4)
			add(name, "float", 4)
		case "b8":
			align, _ := strconv.Atoi(m[1])
			size, _ := strconv.Atoi(m[4])
			layout, ok := structs[[2]int{size, align}]
			if !ok {
				panic(fmt.Sprintf("BUG: kernel %s has a struct of %d bytes", kernel, size))
			}
			at = roundUp(at, align)
			begin = at
			for i, c := range layout {
				what := map[rune]argument{'p': {kind: "pointer", size: 8}, 'b': {kind: "integer", size: 8}, 'i': {kind: "integer", size: 4}, 'k': {kind: "chance", size: 4}, 'f': {kind: "float", size: 4}, '-': {size: 4}}[c]
				if what.kind == "pointer" || what.kind == "integer" {
					what.kind += " of a struct"
				}
				add(fmt.Sprintf("%s.%d", name, i), what.kind, what.size)
			}
		default:
			panic("BUG: an argument of type " + m[2])
		}
	}
	return all
}

// values returns the fields of a launch.
func (k kernelArgs) values(c device.Config, args []byte) []field {
	all := []field{{"grid x", "dim", uint64(c.Grid.X)}, {"grid y", "dim", uint64(c.Grid.Y)}, {"grid z", "dim", uint64(c.Grid.Z)}, {"block", "block", uint64(c.Block.X)}, {"shared memory", "bytes", uint64(c.Shared)}}
	for _, a := range k.fields {
		f := field{a.name, a.kind, uint64(binary.LittleEndian.Uint32(args[a.offset:]))}
		if a.size == 8 {
			f.value = binary.LittleEndian.Uint64(args[a.offset:])
		}
		if f.kind == "pointer" && f.value != 0 && f.value < 1<<40 {
			f.kind = "integer"
		}
		all = append(all, f)
	}
	return all
}

// launch is the inverse of values; what the kernel does not read is as in args.
func (k kernelArgs) launch(fields []field, args []byte) (device.Config, []byte) {
	v := func(i int) int { return int(fields[i].value) }
	c := device.Config{Grid: device.Dim{X: v(0), Y: v(1), Z: v(2)}, Block: device.Dim{X: v(3)}, Shared: v(4)}
	args = slices.Clone(args)
	for i, a := range k.fields {
		value := fields[5+i].value
		if a.size == 8 {
			binary.LittleEndian.PutUint64(args[a.offset:], value)
		} else {
			binary.LittleEndian.PutUint32(args[a.offset:], uint32(value))
		}
	}
	return c, args
}

func flag(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func bits(f float32) uint64 { return uint64(math.Float32bits(f)) }

// productFields returns the fields of a product.
func productFields(p planned, x device.Operands) []field {
	m := p.m
	return []field{
		{"M", "size", uint64(m.M)}, {"N", "size", uint64(m.N)}, {"K", "size", uint64(m.K)},
		{"transposition of A", "flag", flag(m.TransA)}, {"transposition of B", "flag", flag(m.TransB)},
		{"LDA", "size", uint64(m.LDA)}, {"LDB", "size", uint64(m.LDB)}, {"LDD", "size", uint64(m.LDD)}, {"AuxLD", "size", uint64(m.AuxLD)},
		{"epilogue", "epilogue", uint64(m.Epilogue)}, {"planned workspace", "planned", uint64(p.workspace)},
		{"A", "operand", uint64(x.A)}, {"B", "operand", uint64(x.B)}, {"D", "operand", uint64(x.D)},
		{"bias", "operand", uint64(x.Bias)}, {"aux", "operand", uint64(x.Aux)},
		{"scale of A", "operand", uint64(x.ScaleA)}, {"scale of B", "operand", uint64(x.ScaleB)}, {"workspace", "workspace", uint64(x.Workspace)},
		{"alpha", "float", bits(x.Alpha)}, {"beta", "factor", bits(x.Beta)},
	}
}

// product is the inverse of productFields.
func product(f []field, p planned, x device.Operands) (planned, device.Operands) {
	v, at := func(i int) int { return int(f[i].value) }, func(i int) device.Pointer { return device.Pointer(f[i].value) }
	p.m.M, p.m.N, p.m.K, p.m.TransA, p.m.TransB = v(0), v(1), v(2), v(3) != 0, v(4) != 0
	p.m.LDA, p.m.LDB, p.m.LDD, p.m.AuxLD, p.m.Epilogue, p.workspace = v(5), v(6), v(7), v(8), device.Epilogue(v(9)), v(10)
	x.A, x.B, x.D, x.Bias, x.Aux, x.ScaleA, x.ScaleB, x.Workspace = at(11), at(12), at(13), at(14), at(15), at(16), at(17), at(18)
	x.Alpha, x.Beta = f[19].float(), f[20].float()
	return p, x
}

// queued shows a call and queues it; a mutant's call as often as the mutant says, changed.
func (d *planted) queued(work string, fields []field, do func([]field) error) error {
	if d.seen == nil && d.mutant == nil {
		return do(fields)
	}
	c := call{callSite(), work, fields}
	if d.seen != nil {
		d.seen(c)
	}
	if d.mutant == nil || d.mutant.site != c.site && d.mutant.site != everySite || d.mutant.work != work {
		return do(fields)
	}
	for range d.mutant.edit.times() {
		if err := do(d.mutant.edit.apply(fields)); err != nil {
			return err
		}
	}
	return nil
}

func (d *planted) Launch(s device.Stream, f device.Function, c device.Config, args []byte) error {
	k, err := d.function(f)
	if err != nil {
		return err
	}
	return d.queued(k.name, k.values(c, args), func(fields []field) error {
		c, args := k.launch(fields, args)
		return d.GPU.Launch(s, k.at, c, args)
	})
}

func (d *planted) Plan(m device.Matmul, workspace int, algorithm string) (device.Product, error) {
	p, err := d.GPU.Plan(m, workspace, algorithm)
	d.products[p] = planned{m, workspace, algorithm}
	return p, err
}

func (d *planted) Matmul(s device.Stream, p device.Product, x device.Operands) error {
	was := d.products[p]
	return d.queued("product", productFields(was, x), func(fields []field) (err error) {
		now, x := product(fields, was, x)
		if now == was {
			return d.GPU.Matmul(s, p, x)
		}
		q, ok := d.plans[now]
		if !ok {
			if q, err = d.GPU.Plan(now.m, now.workspace, now.algorithm); err != nil {
				return err
			}
			d.plans[now] = q
		}
		return d.GPU.Matmul(s, q, x)
	})
}

func (d *planted) Clear(s device.Stream, p device.Pointer, n int) error {
	return d.queued("clear", []field{{"memory", "pointer", uint64(p)}, {"size", "bytes", uint64(n)}}, func(f []field) error {
		return d.GPU.Clear(s, device.Pointer(f[0].value), int(f[1].value))
	})
}

func (d *planted) ToDevice(s device.Stream, to device.Pointer, b []byte) error {
	return d.queued("copy to the device", []field{{"memory", "pointer", uint64(to)}, {"size", "bytes", uint64(len(b))}}, func(f []field) error {
		return d.GPU.ToDevice(s, device.Pointer(f[0].value), b[:f[1].value])
	})
}

func (d *planted) ToHost(s device.Stream, b []byte, from device.Pointer) error {
	return d.queued("copy to the host", []field{{"memory", "pointer", uint64(from)}, {"size", "bytes", uint64(len(b))}}, func(f []field) error {
		return d.GPU.ToHost(s, b[:f[1].value], device.Pointer(f[0].value))
	})
}

func (d *planted) Collect(s device.Stream, c device.Communicator, group ...device.Collective) error {
	var fields []field
	for _, g := range group {
		fields = append(fields, field{"sent", "pointer", uint64(g.Send)}, field{"received", "pointer", uint64(g.Receive)}, field{"size", "bytes", uint64(g.N)})
	}
	return d.queued("collective", fields, func(f []field) error {
		for i := range group {
			group[i].Send, group[i].Receive, group[i].N = device.Pointer(f[3*i].value), device.Pointer(f[3*i+1].value), int(f[3*i+2].value)
		}
		return d.GPU.Collect(s, c, group...)
	})
}

func (d *planted) Wait(s device.Stream, e device.Event) error {
	return d.queued("wait", nil, func([]field) error { return d.GPU.Wait(s, e) })
}

func (d *planted) Record(s device.Stream, e device.Event) error {
	return d.queued("record", nil, func([]field) error { return d.GPU.Record(s, e) })
}

func (d *planted) SyncEvent(e device.Event) error {
	return d.queued("wait of the host", nil, func([]field) error { return d.GPU.SyncEvent(e) })
}

func (d *planted) SyncStream(s device.Stream) error {
	return d.queued("wait of the host", nil, func([]field) error { return d.GPU.SyncStream(s) })
}

func (d *planted) Sync() error {
	return d.queued("wait of the host", nil, func([]field) error { return d.GPU.Sync() })
}

// callSite returns the innermost source line of the backend that is not in queue.go or
// compute.go, whose functions queue what others want: "update.go:99".
func callSite() string {
	var pcs [24]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])])
	for {
		f, more := frames.Next()
		name := filepath.Base(f.File)
		if filepath.Base(filepath.Dir(f.File)) == "cuda" && name != "queue.go" && name != "compute.go" && !strings.HasSuffix(name, "_test.go") {
			return fmt.Sprintf("%s:%d", name, f.Line)
		}
		if !more {
			return "a test"
		}
	}
}

var hostSources = map[string][]string{}

// siteText returns the source line of a site.
func siteText(site string) string {
	name, line, ok := strings.Cut(site, ":")
	n, err := strconv.Atoi(line)
	if !ok || err != nil {
		return site
	}
	if hostSources[name] == nil {
		b, err := os.ReadFile(name)
		if err != nil {
			panic(err)
		}
		hostSources[name] = strings.Split(string(b), "\n")
	}
	return strings.TrimSpace(hostSources[name][n-1])
}
