package sim

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestLanesThatPartAreThreadsOfTheirOwn runs a loop whose turns and branches
// differ in every thread, with an early return, a barrier behind it, and a sum
// by atomics.
func TestLanesThatPartAreThreadsOfTheirOwn(t *testing.T) {
	const blocks, width = 3, 75
	body := `mov.u32 %r0, %tid.x;
mov.u32 %r1, %ctaid.x;
mov.u32 %r2, %ntid.x;
mad.lo.s32 %r3, %r1, %r2, %r0;
ld.param.u64 %rd0, [p0];
ld.param.u64 %rd1, [p1];
mul.wide.u32 %rd2, %r3, 4;
add.s64 %rd3, %rd0, %rd2;
mov.u32 %r4, 0;
add.s32 %r5, %r3, 1;
LOOP:
setp.eq.s32 %p1, %r5, 1;
@%p1 bra DONE;
add.s32 %r4, %r4, 1;
setp.eq.s32 %p2, %r4, 50;
@%p2 ret;
and.b32 %r6, %r5, 1;
setp.eq.s32 %p3, %r6, 0;
@%p3 bra EVEN;
mad.lo.s32 %r5, %r5, 3, 1;
bra LOOP;
EVEN:
shr.u32 %r5, %r5, 1;
bra LOOP;
DONE:
bar.sync 0;
st.global.u32 [%rd3], %r4;
setp.lt.s32 %p4, %r4, 9;
@!%p4 bra END;
atom.global.add.u32 %r7, [%rd1], %r4;
END:`
	want, sum := make([]uint32, blocks*width), uint32(0)
	for i := range want {
		n := i + 1
		for n != 1 && want[i] < 50 {
			if n%2 == 0 {
				n /= 2
			} else {
				n = 3*n + 1
			}
			want[i]++
		}
		if want[i] < 9 {
			sum += want[i]
		}
		if want[i] == 50 {
			want[i] = 777 // returned early
		}
	}
	initial := make([]uint32, len(want))
	for i := range initial {
		initial[i] = 777
	}
	for seed := range uint64(50) {
		d := New(Options{Seed: seed})
		out, total := put(t, d, "out", initial), put(t, d, "total", []uint32{0})
		if err := launch(d, module(2, body), Config{Grid: Dim{X: blocks}, Block: Dim{X: width}}, out, total); err != nil {
			// Lanes that returned early are fewer than the warp: the barrier takes the others.
			t.Fatal(err)
		}
		got := get[uint32](t, d, out, len(want))
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("seed %d: thread %d took %d turns, want %d", seed, i, got[i], want[i])
			}
		}
		if s := get[uint32](t, d, total, 1)[0]; s != sum {
			t.Fatalf("seed %d: sum %d, want %d", seed, s, sum)
		}
	}
}

// TestRandomProgramsWithBranches runs programs of nested branches and loops,
// made by chance, against the same program in Go, thread by thread.
func TestRandomProgramsWithBranches(t *testing.T) {
	for seed := range uint64(60) {
		p := randomProgram{r: rand.New(rand.NewPCG(seed, 9))}
		f := p.block(4)
		d := New(Options{Seed: seed})
		out := put(t, d, "out", make([]uint32, 96))
		body := "mov.u32 %r0, %tid.x;\nadd.s32 %r1, %r0, 1;\nmov.u32 %r2, 7;\n" + p.text.String() +
			"xor.b32 %r3, %r1, %r2;\nld.param.u64 %rd0, [p0];\nmul.wide.u32 %rd1, %r0, 4;\nadd.s64 %rd2, %rd0, %rd1;\nst.global.u32 [%rd2], %r3;"
		if err := launch(d, module(1, body), Config{Block: Dim{X: 96}}, out); err != nil {
			t.Fatal(err)
		}
		for i, got := range get[uint32](t, d, out, 96) {
			s := state{uint32(i), uint32(i + 1), 7}
			f(&s)
			if got != s[1]^s[2] {
				t.Fatalf("seed %d: thread %d: got %d, want %d of\n%s", seed, i, got, s[1]^s[2], body)
			}
		}
	}
}

// state is %r0, %r1 and %r2 of a thread.
type state [3]uint32

type randomProgram struct {
	r      *rand.Rand
	text   strings.Builder
	labels int
}

func (p *randomProgram) label() string {
	p.labels++
	return fmt.Sprintf("L%d", p.labels)
}

// block writes some statements and returns what they do.
func (p *randomProgram) block(depth int) func(s *state) {
	var list []func(s *state)
	for range 1 + p.r.IntN(3) {
		list = append(list, p.statement(depth))
	}
	return func(s *state) {
		for _, f := range list {
			f(s)
		}
	}
}

func (p *randomProgram) statement(depth int) func(s *state) {
	k := uint32(p.r.IntN(1000))
	if depth == 0 || p.r.IntN(3) == 0 {
		d := 1 + p.r.IntN(2)
		fmt.Fprintf(&p.text, "mad.lo.s32 %%r%d, %%r1, %d, %%r2;\nshr.u32 %%r%d, %%r%d, 1;\n", d, k, d, d)
		return func(s *state) { s[d] = (s[1]*k + s[2]) >> 1 }
	}
	bit := uint32(1) << p.r.IntN(6)
	test := func(pred string) {
		fmt.Fprintf(&p.text, "and.b32 %%r10, %%r1, %d;\nsetp.ne.s32 %s, %%r10, 0;\n", bit, pred)
	}
	if p.r.IntN(2) == 0 {
		yes, end := p.label(), p.label()
		test("%p1")
		p.text.WriteString("@%p1 bra " + yes + ";\n")
		no := p.block(depth - 1)
		p.text.WriteString("bra " + end + ";\n" + yes + ":\n")
		then := p.block(depth - 1)
		p.text.WriteString(end + ":\n")
		return func(s *state) {
			if s[1]&bit != 0 {
				then(s)
			} else {
				no(s)
			}
		}
	}
	// A loop of as many turns as the low bits of %r2 say, in a register of its own.
	begin, counter := p.label(), 20+depth
	fmt.Fprintf(&p.text, "and.b32 %%r%d, %%r2, 3;\n%s:\n", counter, begin)
	body := p.block(depth - 1)
	fmt.Fprintf(&p.text, "sub.s32 %%r%d, %%r%d, 1;\nsetp.ge.s32 %%p1, %%r%d, 0;\n@%%p1 bra %s;\n", counter, counter, counter, begin)
	return func(s *state) {
		for n := int32(s[2] & 3); ; {
			body(s)
			if n--; n < 0 {
				return
			}
		}
	}
}

func TestShufflesAndVotes(t *testing.T) {
	for _, c := range []struct {
		op   string
		want func(lane uint32) uint32
	}{
		{"shfl.sync.bfly.b32 %r3|%p1, %r1, 5, 31, -1", func(l uint32) uint32 { return 10 * (l ^ 5) }},
		{"shfl.sync.up.b32 %r3|%p1, %r1, 3, 0, -1", func(l uint32) uint32 {
			if l < 3 {
				return 10*l + 1000
			}
			return 10 * (l - 3)
		}},
		{"shfl.sync.down.b32 %r3|%p1, %r1, 3, 31, -1", func(l uint32) uint32 {
			if l > 28 {
				return 10*l + 1000
			}
			return 10 * (l + 3)
		}},
		{"shfl.sync.idx.b32 %r3|%p1, %r1, 2, 31, -1", func(uint32) uint32 { return 20 }},
		{"shfl.sync.idx.b32 %r3|%p1, %r1, 2, 0x181f, -1", func(l uint32) uint32 { return 10 * (l/8*8 + 2) }}, // segments of 8 lanes
		{"shfl.sync.bfly.b32 %r3|%p1, %r1, 8, 0x1807, -1", func(l uint32) uint32 { // not beyond the segment
			if l%16 < 8 {
				return 10*l + 1000
			}
			return 10 * (l - 8)
		}},
		{"redux.sync.add.s32 %r3, %r0, -1;\nsetp.eq.s32 %p1, %r0, %r0", func(uint32) uint32 { return 31 * 16 }},
		{"redux.sync.max.u32 %r3, %r0, -1;\nsetp.eq.s32 %p1, %r0, %r0", func(uint32) uint32 { return 31 }},
		{"redux.sync.min.u32 %r3, %r1, -1;\nsetp.eq.s32 %p1, %r0, %r0", func(uint32) uint32 { return 0 }},
		{"redux.sync.add.u32 %r3, %r0, -1;\nsetp.eq.s32 %p1, %r0, %r0", func(uint32) uint32 { return 31 * 16 }},
		{"setp.lt.s32 %p2, %r0, 3;\nvote.sync.ballot.b32 %r3, %p2, -1;\nsetp.eq.s32 %p1, %r0, %r0", func(uint32) uint32 { return 7 }},
		{"setp.lt.s32 %p2, %r0, 3;\nvote.sync.any.pred %p1, %p2, -1;\nmov.u32 %r3, 5", func(uint32) uint32 { return 5 }},
		{"setp.lt.s32 %p2, %r0, 3;\nvote.sync.all.pred %p1, %p2, -1;\nmov.u32 %r3, 5", func(uint32) uint32 { return 1005 }},
		{"setp.lt.s32 %p2, %r0, 3;\nmov.u32 %r3, 9;\nsetp.eq.s32 %p1, %r0, %r0;\n@%p2 activemask.b32 %r3", func(l uint32) uint32 {
			if l < 3 {
				return 7
			}
			return 9
		}},
		{"mov.b64 %rd5, {%r0, %r1};\nmov.b64 {%r4, %r3}, %rd5;\nsetp.eq.s32 %p1, %r4, %r0", func(l uint32) uint32 { return 10 * l }},
		{"mov.b32 %r5, {%r0, %r1};\nmov.b32 {%r4, %r3}, %r5;\nsetp.eq.s32 %p1, %r4, %r0", func(l uint32) uint32 { return 10 * l }},
	} {
		d := New(Options{})
		out := put(t, d, "out", make([]uint32, 32))
		body := "mov.u32 %r0, %tid.x;\nmul.lo.s32 %r1, %r0, 10;\n" + c.op + ";\n@!%p1 add.s32 %r3, %r3, 1000;\n" +
			"ld.param.u64 %rd0, [p0];\nmul.wide.u32 %rd1, %r0, 4;\nadd.s64 %rd2, %rd0, %rd1;\nst.global.u32 [%rd2], %r3;"
		if err := launch(d, module(1, body), Config{Block: Dim{X: 32}}, out); err != nil {
			t.Fatal(err)
		}
		for l, got := range get[uint32](t, d, out, 32) {
			if want := c.want(uint32(l)); got != want {
				t.Errorf("%s: lane %d: got %d, want %d", c.op, l, got, want)
			}
		}
	}
}

// TestMatrixInstructions multiplies matrices of small whole numbers, which are
// exact in any order: A (16×16) from shared memory by ldmatrix, B by its transpose.
func TestMatrixInstructions(t *testing.T) {
	for _, kind := range []string{"bf16", "f16"} {
		for _, trans := range []bool{false, true} {
			r := rand.New(rand.NewPCG(3, 4))
			var a, b [16][16]int // b is k × n, of which 8 columns count
			for i := range a {
				for j := range a[i] {
					a[i][j], b[i][j] = r.IntN(17)-8, r.IntN(17)-8
				}
			}
			round := toBF16
			if kind == "f16" {
				round = toF16
			}
			// Shared memory: A by rows, then B by rows (trans) or by columns.
			bits := make([]uint16, 512)
			for i := range 16 {
				for j := range 16 {
					bits[i*16+j] = uint16(round(float32(a[i][j])))
					if trans {
						bits[256+i*16+j] = uint16(round(float32(b[i][j])))
					} else {
						bits[256+i*16+j] = uint16(round(float32(b[j][i])))
					}
				}
			}
			how, address := "", "and.b32 %r4, %r0, 7;\nshr.u32 %r5, %r0, 3;\nand.b32 %r5, %r5, 1;\n" // 8 columns of n, k in two halves
			if trans {
				how, address = ".trans", "and.b32 %r4, %r0, 15;\nmov.u32 %r5, 0;\n"
			}
			body := `.shared .align 16 .b8 s[1024];
mov.u32 %r0, %tid.x;
ld.param.u64 %rd0, [p0];
mov.u32 %r1, s;
mul.wide.u32 %rd1, %r0, 32;
add.s64 %rd2, %rd0, %rd1;
shl.b32 %r2, %r0, 5;
add.s32 %r2, %r2, %r1;
cp.async.cg.shared.global [%r2], [%rd2], 16;
add.s32 %r3, %r2, 16;
cp.async.cg.shared.global [%r3], [%rd2+16], 16;
cp.async.wait_all;
bar.sync 0;
and.b32 %r4, %r0, 15;
shr.u32 %r5, %r0, 4;
shl.b32 %r6, %r4, 5;
shl.b32 %r7, %r5, 4;
add.s32 %r6, %r6, %r7;
add.s32 %r6, %r6, %r1;
ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r10,%r11,%r12,%r13}, [%r6];
` + address + `shl.b32 %r6, %r4, 5;
shl.b32 %r7, %r5, 4;
add.s32 %r6, %r6, %r7;
add.s32 %r6, %r6, %r1;
ldmatrix.sync.aligned.m8n8.x2` + how + `.shared.b16 {%r14,%r15}, [%r6+512];
mov.b32 %r16, 0f3F800000;
mma.sync.aligned.m16n8k16.row.col.f32.` + kind + "." + kind + `.f32 {%r20,%r21,%r22,%r23}, {%r10,%r11,%r12,%r13}, {%r14,%r15}, {%r16,%r16,%r16,%r16};
ld.param.u64 %rd3, [p1];
mul.wide.u32 %rd4, %r0, 16;
add.s64 %rd5, %rd3, %rd4;
st.global.v4.f32 [%rd5], {%r20,%r21,%r22,%r23};`
			d := New(Options{})
			in, out := put(t, d, "in", bits), alloc(t, d, "out", 512)
			if err := launch(d, module(2, body), Config{Block: Dim{X: 32}}, in, out); err != nil {
				t.Fatal(err)
			}
			for i, got := range get[float32](t, d, out, 128) {
				lane, e := i/4, i%4
				row, column, want := lane/4+e/2*8, lane%4*2+e%2, 1
				for k := range 16 {
					want += a[row][k] * b[k][column]
				}
				if got != float32(want) {
					t.Fatalf("%s trans %v: element %d, %d: got %v, want %d", kind, trans, row, column, got, want)
				}
			}
		}
	}
}

// TestCountsOfMemory holds the cost model: sectors of global memory and bank
// conflicts of shared memory.
func TestCountsOfMemory(t *testing.T) {
	for _, c := range []struct {
		name, body string
		want       Counts
	}{
		{"neighbours", "ld.global.u32 %r10, [%rd1];", Counts{Sectors: 4, IdealSectors: 4, Read: 128}},
		{"one word", "ld.global.u32 %r10, [%rd0];", Counts{Sectors: 1, IdealSectors: 1, Read: 4}},
		{"shifted by a word", "ld.global.u32 %r10, [%rd1+4];", Counts{Sectors: 5, IdealSectors: 4, Read: 128}},
		{"far apart", "mul.wide.u32 %rd2, %r0, 128;\nadd.s64 %rd2, %rd2, %rd0;\nld.global.u32 %r10, [%rd2];", Counts{Sectors: 32, IdealSectors: 4, Read: 128}},
		{"vectors", "mul.wide.u32 %rd2, %r0, 16;\nadd.s64 %rd2, %rd2, %rd0;\nld.global.v4.u32 {%r10,%r11,%r12,%r13}, [%rd2];", Counts{Sectors: 16, IdealSectors: 16, Read: 512}},
		{"read and written twice", "ld.global.u32 %r10, [%rd1];\nld.global.u32 %r10, [%rd1];\nst.global.u32 [%rd1], %r0;\nst.global.u32 [%rd1], %r0;", Counts{Sectors: 16, IdealSectors: 16, Read: 128, Written: 128}},
		{"written, then read", "st.global.u32 [%rd1], %r0;\nld.global.u32 %r10, [%rd1];", Counts{Sectors: 8, IdealSectors: 8, Written: 128}},
		{"an atomic", "red.global.add.u32 [%rd1], %r0;", Counts{Sectors: 4, IdealSectors: 4, Read: 128, Written: 128}},
		{"shared neighbours", "st.shared.u32 [%r3], %r0;", Counts{}},
		{"every second word", "add.s32 %r4, %r3, %r1;\nst.shared.u32 [%r4], %r0;", Counts{Conflicts: 1}},
		{"one bank", "shl.b32 %r4, %r0, 7;\nadd.s32 %r4, %r4, %r2;\nst.shared.u32 [%r4], %r0;", Counts{Conflicts: 31}},
		{"shared vectors", "shl.b32 %r4, %r0, 4;\nadd.s32 %r4, %r4, %r2;\nst.shared.v4.u32 [%r4], {%r0,%r0,%r0,%r0};", Counts{}},
	} {
		d := New(Options{})
		p := put(t, d, "buffer", make([]uint32, 1024))
		text := module(1, strings.Replace(places, "s[256]", "s[4096]", 1)+".loc 1 7 1\n"+c.body) + ".file 1 \"a.cu\"\n"
		m, err := d.Load(text)
		if err != nil {
			t.Fatal(err)
		}
		k, err := m.Kernel("k")
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Launch(k, Config{Block: Dim{X: 32}}, flat([]uint64{p})); err != nil {
			t.Fatal(err)
		}
		got := k.CountsByLine()["a.cu:7"]
		if all := k.Counts(); all.Instructions < got.Instructions || all.Sectors != got.Sectors || all.Conflicts != got.Conflicts {
			t.Errorf("%s: counts of the kernel %+v, of the line %+v", c.name, all, got)
		}
		got.Instructions = 0
		if got != c.want {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.want)
		}
	}
}
