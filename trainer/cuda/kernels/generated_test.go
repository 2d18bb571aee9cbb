package kernels_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pretext/internal/dev/torture"
	"pretext/internal/usage"
	"pretext/trainer/cuda/kernels"
	"pretext/trainer/cuda/ptx"
	"pretext/trainer/cuda/sim"
)

// A generated mutant is a rule applied to the instructions of one mnemonic of a source line.
type generated struct {
	subject *subject
	kernel  *ptx.Kernel
	source  ptx.Source
	rule    rule
	op      string
}

// A subject is a kernel with the checks that launch it, the cheapest first.
type subject struct {
	module string
	typ    kernels.Type
	parsed *ptx.Module
	kernel *ptx.Kernel
	checks []func(f *fixture)
	runs   []bool // which instructions the checks execute
	counts []bool // which of them have an effect: a store, a branch, or a value that such ones read
}

// measure runs the checks on the kernel as it is.
func (s *subject) measure() error {
	n := len(s.kernel.Code)
	s.runs, s.counts = make([]bool, n), make([]bool, n)
	for _, check := range s.checks {
		f := newFixtureOf(s.typ, sim.Options{})
		if err := f.run(check); err != nil {
			return fmt.Errorf("%s: %w", s.kernel.Name, err)
		}
		k := f.kernel(s.module, s.kernel.Name)
		for i := range n {
			s.runs[i] = s.runs[i] || k.Executed(i)
		}
	}
	read := map[string]bool{}
	for again := true; again; {
		again = false
		for i, in := range s.kernel.Code {
			if !s.runs[i] || s.counts[i] || !effect.MatchString(in.Op) && !slices.ContainsFunc(names(in.Args[:1]), func(r string) bool { return read[r] }) {
				continue
			}
			again, s.counts[i], read[in.Guard] = true, true, true
			for _, r := range names(in.Args) {
				read[r] = true
			}
		}
	}
	return nil
}

// effect matches instructions that do something besides setting a register.
var effect = regexp.MustCompile(`^(st|bra|bar|atom|red|cp|ret|exit|membar|fence)\b`)

// names returns the registers in operands.
func names(list []ptx.Operand) (all []string) {
	for _, o := range list {
		all = append(append(all, o.Name), names(o.Elements)...)
	}
	return all
}

func (g generated) String() string {
	return fmt.Sprintf("%s.%s %s: %s (%s): %s", g.subject.module, g.subject.typ, g.kernel.Name, g.rule.name, g.op, sourceLine(g.source))
}

var sources = map[string][]string{}

// sourceLine returns the text of a line of a source file.
func sourceLine(s ptx.Source) string {
	if sources[s.File] == nil {
		b, err := os.ReadFile(filepath.Base(s.File))
		if err != nil {
			panic(err)
		}
		sources[s.File] = strings.Split(string(b), "\n")
	}
	return strings.TrimSpace(sources[s.File][s.Line-1])
}

// generate returns all mutants of the kernel.
func (s *subject) generate() []generated {
	k := s.kernel
	type place struct {
		source ptx.Source
		op     string
		rule   int
	}
	known := map[place]bool{}
	var all []generated
	for at, in := range k.Code {
		if in.Source.Line == 0 || ofCompiler(in) || !s.counts[at] {
			continue
		}
		for i, r := range rules {
			p := place{in.Source, in.Op, i}
			if known[p] || !strings.HasPrefix(in.Op, r.op) {
				continue
			}
			if _, ok := r.edit(in); ok {
				known[p] = true
				all = append(all, generated{s, k, in.Source, r, in.Op})
			}
		}
	}
	return all
}

// functions are calls whose code is NVRTC's: its branches choose between formulas that both
// hold at the limit.
var functions = regexp.MustCompile(`tanhf|erff|expf|logf|sqrt|at [/%] width`)

// ofCompiler reports whether an instruction is the compiler's own: what chooses between four
// rounds of a loop at once and the last rounds, the branches inside of a function of its
// library, and those of a 64-bit division, which is one of 32 bits where that is enough.
func ofCompiler(in ptx.Instruction) bool {
	line := sourceLine(in.Source)
	constant := slices.ContainsFunc(in.Args, func(o ptx.Operand) bool { return o.Kind == ptx.Immediate && o.Float == 0 })
	loop := strings.HasPrefix(line, "for (") && (strings.HasPrefix(in.Op, "and.") || strings.HasPrefix(in.Op, "sub.") || strings.HasPrefix(in.Op, "shr.") || strings.HasPrefix(in.Op, "not."))
	switch {
	case strings.HasPrefix(in.Op, "setp.") && strings.HasSuffix(in.Op, ".u32") && constant,
		strings.HasPrefix(line, "for (") && constant && (strings.HasPrefix(in.Op, "setp.eq") || strings.HasPrefix(in.Op, "setp.ne")),
		loop:
		return true
	}
	return functions.MatchString(line) && !strings.HasPrefix(in.Op, "ld.") && !strings.HasPrefix(in.Op, "st.") &&
		!strings.HasPrefix(in.Op, "add.f") && !strings.HasPrefix(in.Op, "sub.f") && !strings.HasPrefix(in.Op, "mul.f")
}

// text returns the kernel with the mutant.
func (g generated) text() string {
	k := *g.kernel
	k.Code, k.Labels = nil, map[string]int{}
	moved := make([]int, len(g.kernel.Code)+1)
	for i, in := range g.kernel.Code {
		moved[i] = len(k.Code)
		if in.Source == g.source && in.Op == g.op && !ofCompiler(in) && g.subject.counts[i] {
			if now, ok := g.rule.edit(in); ok {
				k.Code = append(k.Code, now...)
				continue
			}
		}
		k.Code = append(k.Code, in)
	}
	moved[len(g.kernel.Code)] = len(k.Code)
	for name, at := range g.kernel.Labels {
		k.Labels[name] = moved[at]
	}
	return only(g.subject.parsed, k)
}

// changes returns up to three of the instructions and what they became.
func (g generated) changes() string {
	var list []string
	for i, in := range g.kernel.Code {
		if in.Source == g.source && in.Op == g.op && !ofCompiler(in) && g.subject.counts[i] {
			if now, ok := g.rule.edit(in); ok && len(list) < 3 {
				list = append(list, fmt.Sprintf("\tline %d: %v became %v", in.Line, in, now))
			}
		}
	}
	return strings.Join(list, "\n")
}

// run returns what the checks find, in a few orders of warps and blocks; nil if nothing.
func (g generated) run() error {
	text := g.text()
	for seed := range uint64(2) {
		for _, check := range g.subject.checks {
			f := newFixtureOf(g.subject.typ, sim.Options{Seed: seed, MaxInstructions: 1 << 20})
			f.replace = map[string]string{g.subject.module + "." + g.kernel.Name: text}
			if err := f.run(check); err != nil {
				return err
			}
		}
	}
	return nil
}

// subjects returns the kernels of modules with the checks that launch them.
func subjects(t *testing.T, modules func(string) bool) []*subject {
	var all []*subject
	add := func(module, kernel string, typ kernels.Type, list ...func(f *fixture)) {
		i := slices.IndexFunc(all, func(s *subject) bool { return s.module == module && s.kernel.Name == kernel })
		if i < 0 {
			m, err := parse(module, typ)
			if err != nil {
				t.Fatal(err)
			}
			i = len(all)
			all = append(all, &subject{module: module, typ: typ, parsed: m, kernel: m.Kernel(kernel)})
		}
		all[i].checks = append(all[i].checks, list...)
	}
	for i, p := range passes {
		if modules(p.module) {
			typ := kernels.F32
			if p.module == "flash" {
				typ = []kernels.Type{kernels.BF16, kernels.F16}[i%2]
			}
			for _, local := range []bool{false, true} {
				if p.module != "flash" || p.name != "queries_done" {
					add(p.module, p.kernel(local), typ, p.checksOf(local)...)
				}
			}
		}
	}
	for _, c := range checks {
		if !modules(c.module) || c.module == "flash" || c.module == "attention" {
			continue
		}
		f := newFixture(c.typ, 0)
		if err := f.run(c.check); err != nil {
			t.Fatal(err)
		}
		m, err := parse(c.module, c.typ)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range m.Kernels {
			if f.kernel(c.module, k.Name).Counts().Instructions > 0 {
				add(c.module, k.Name, c.typ, c.check)
			}
		}
	}
	if modules("attention") {
		add("attention", "attention_delta", kernels.F32, checkDelta)
	}
	if modules("flash") {
		add("flash", "flash_queries_done", kernels.F16, checkQueriesDone)
	}
	return all
}

// generateAll returns the mutants of all kernels of modules, each in one type.
func generateAll(t *testing.T, modules func(string) bool) []generated {
	var all []generated
	for _, s := range subjects(t, modules) {
		if err := s.measure(); err != nil {
			t.Fatal(err)
		}
		all = append(all, s.generate()...)
	}
	slices.SortFunc(all, func(a, b generated) int { return strings.Compare(a.String(), b.String()) })
	return all
}

// open reports whether a mutant is among the unjudged ones.
func (g generated) open() bool {
	return slices.ContainsFunc(unjudged, func(e equivalent) bool { return e.is(g) })
}

// is reports whether a mutant is one of the group.
func (e equivalent) is(g generated) bool {
	name, whole := strings.CutSuffix(e.kernel, "$")
	return strings.HasPrefix(g.kernel.Name, name) && (!whole || g.kernel.Name == name) && (e.rule == "" || e.rule == g.rule.name) && (e.op == "" || e.op == g.op) && strings.Contains(sourceLine(g.source), e.line)
}

// proof returns why a mutant computes the same; "" if the table does not have it.
func (g generated) proof() string {
	for _, e := range equivalents {
		if e.is(g) {
			return e.why
		}
	}
	return ""
}

// covered are the modules whose mutants are all dead or explained.
var covered = []string{"attention", "elementwise", "flash", "fp8", "loss", "modern", "norm", "optim"}

// TestGeneratedMutantsAreCaught plants mutants of every line of the kernels, one at a time:
// ten of a module in a plain go test, as many as the minutes of $PRETEXT_MUTANT_MINUTES allow in a full
// one, and all with $PRETEXT_TORTURE. With $PRETEXT_MUTANTS, a list of modules, all of theirs
// run.
func TestGeneratedMutantsAreCaught(t *testing.T) {
	only := os.Getenv("PRETEXT_MUTANTS")
	quick := !torture.Full() && only == ""
	random := torture.Random(t)
	among := covered
	if quick { // of one module
		among = covered[random.IntN(len(covered)):][:1]
	}
	all := generateAll(t, func(m string) bool {
		return only == "" && slices.Contains(among, m) || strings.Contains(only, m)
	})
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	limit := 2 * time.Minute
	if s := os.Getenv("PRETEXT_MUTANT_MINUTES"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		limit = time.Duration(n) * time.Minute
	}
	tried, proved, missed, begin := 0, 0, 0, usage.CPU()
	for _, g := range all {
		if quick && tried == 10 || !torture.Long() && only == "" && usage.CPU()-begin > limit {
			break
		}
		if g.proof() != "" {
			proved++ // see TestExplainedMutantsComputeTheSame
			continue
		}
		tried++
		if err := g.run(); err == nil && g.open() {
			t.Logf("not caught, as known: %v", g)
		} else if err == nil {
			missed++
			t.Errorf("not caught: %v\n%s", g, g.changes())
		} else if testing.Verbose() {
			t.Logf("caught: %v: %v", g, err)
		}
	}
	t.Logf("%d of %d mutants caught, %d equivalent, %d not caught, in %v", tried-missed, len(all), proved, missed, usage.CPU()-begin)
	for _, e := range equivalents {
		if stale := !slices.ContainsFunc(all, e.is); stale && !quick && only == "" {
			t.Errorf("no mutant is %+v any more", e)
		}
	}
}

// TestExplainedMutantsComputeTheSame runs the mutants that the table explains: it names those
// that a check notices, so that a group which explains too much can be made smaller. A full
// test runs all of them (three minutes of CPU), and $PRETEXT_EXPLAINED names modules.
func TestExplainedMutantsComputeTheSame(t *testing.T) {
	only := os.Getenv("PRETEXT_EXPLAINED")
	if only == "" && !torture.Full() {
		t.Skip("set PRETEXT_EXPLAINED to modules, such as norm, or PRETEXT_FULL")
	}
	tried, begin := 0, usage.CPU()
	for _, g := range generateAll(t, func(m string) bool { return only == "" || strings.Contains(only, m) }) {
		if g.proof() == "" {
			continue
		}
		tried++
		if err := g.run(); err != nil {
			t.Errorf("%v: %s: caught: %v\n%s", g, g.proof(), err, g.changes())
		}
	}
	t.Logf("%d explained mutants, in %v", tried, usage.CPU()-begin)
}
