package sim

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// Of every thread: %r0 its number, %r1 four times it, %rd0 p0, %rd1 p0 + 4·thread;
// shared memory s of 256 bytes, at %r2 and %r3 = %r2 + 4·thread.
const places = `.shared .align 16 .b8 s[256];
mov.u32 %r0, %tid.x;
shl.b32 %r1, %r0, 2;
ld.param.u64 %rd0, [p0];
mul.wide.u32 %rd9, %r0, 4;
add.s64 %rd1, %rd0, %rd9;
mov.u32 %r2, s;
add.s32 %r3, %r2, %r1;
mov.u32 %r9, %ctaid.x;
`

// faulty are kernels on a buffer of 256 bytes that was written by the host, and
// the fault they have; "" where they have none.
var faulty = []struct {
	name          string
	blocks, width int
	body          string
	want          Kind
}{
	{"a store in place", 1, 64, "st.global.u32 [%rd1], %r0;", ""},
	{"a store behind the end", 1, 65, "st.global.u32 [%rd1], %r0;", OutOfBounds},
	{"a store before the beginning", 1, 1, "st.global.u32 [%rd1+-4], %r0;", OutOfBounds},
	{"a wide load over the end", 1, 1, "ld.global.v4.u32 {%r10,%r11,%r12,%r13}, [%rd1+248];", OutOfBounds},
	{"a null pointer", 1, 1, "mov.u64 %rd2, 0;\nld.global.u32 %r10, [%rd2];", OutOfBounds},
	{"shared memory behind the end", 1, 65, "st.shared.u32 [%r3], %r0;", OutOfBounds},
	{"shared memory before the beginning", 1, 1, "st.shared.u32 [%r3+-4], %r0;", OutOfBounds},
	{"a misaligned load", 1, 1, "ld.global.u32 %r10, [%rd1+2];", Misaligned},
	{"misaligned loads in a row", 1, 32, "ld.global.u32 %r10, [%rd1+2];", Misaligned},
	{"misaligned shared memory in a row", 1, 32, "st.shared.u32 [%r3+2], %r0;", Misaligned},
	{"a misaligned vector", 1, 1, "ld.global.v2.u32 {%r10,%r11}, [%rd1+4];", Misaligned},
	{"misaligned shared memory", 1, 1, "st.shared.u32 [%r3+1], %r0;", Misaligned},
	{"bytes of one word by two threads", 1, 64, "add.s64 %rd2, %rd0, %rd9;\nsub.s64 %rd2, %rd1, %rd9;\ncvt.u64.u32 %rd3, %r0;\nadd.s64 %rd2, %rd2, %rd3;\nst.global.u8 [%rd2], %r0;", ""},
	{"halves of one word by two blocks", 2, 1, "mul.wide.u32 %rd2, %r9, 2;\nadd.s64 %rd2, %rd0, %rd2;\nst.global.u16 [%rd2], %r0;", ""},
	{"shared memory never written", 1, 32, "ld.shared.u32 %r10, [%r3];", Unwritten},
	{"shared memory that another block wrote", 2, 32, "setp.eq.s32 %p1, %r9, 0;\n@%p1 st.shared.u32 [%r3], %r0;\n@!%p1 ld.shared.u32 %r10, [%r3];", Unwritten},
	{"an atomic on what another block wrote", 2, 1, "setp.eq.s32 %p1, %r9, 0;\n@%p1 st.shared.u32 [%r3], %r0;\n@!%p1 atom.shared.add.u32 %r10, [%r3], 1;", Unwritten},
	{"shared memory of every block", 3, 32, "st.shared.u32 [%r3], %r0;\nld.shared.u32 %r10, [%r3];\nst.shared.u32 [%r3], %r10;", ""},
	{"shared memory into which another block copied", 2, 1, "setp.eq.s32 %p1, %r9, 0;\n@%p1 cp.async.cg.shared.global [%r2], [%rd0], 16;\n@!%p1 st.shared.u32 [%r2], %r0;", ""},
	{"all lanes read what one of them wrote", 1, 32, "setp.eq.s32 %p1, %r0, 5;\n@%p1 st.shared.u32 [%r2], %r0;\nld.shared.u32 %r10, [%r2];", RaceInWarp},
	{"all lanes read what the last wrote", 1, 32, "setp.eq.s32 %p1, %r0, 31;\n@%p1 st.shared.u32 [%r2], %r0;\nld.shared.u32 %r10, [%r2];", RaceInWarp},
	{"all lanes read what the first wrote", 1, 32, "setp.eq.s32 %p1, %r0, 0;\n@%p1 st.shared.u32 [%r2], %r0;\nld.shared.u32 %r10, [%r2];", RaceInWarp},
	{"all lanes write what another warp read in a row", 1, 64, "ld.global.u32 %r10, [%rd1];\nxor.b32 %r11, %r0, 32;\nmul.wide.u32 %rd2, %r11, 4;\nadd.s64 %rd2, %rd0, %rd2;\nst.global.u32 [%rd2], %r0;", RaceInBlock},
	{"half a word never written", 1, 1, "st.shared.u16 [%r3], %r0;\nld.shared.u32 %r10, [%r3];", Unwritten},
	{"a register never set", 1, 1, "add.s32 %r10, %r11, 1;", UnsetRegister},
	{"a register set in other lanes", 1, 32, "setp.lt.s32 %p1, %r0, 5;\n@%p1 mov.u32 %r10, 1;\nst.global.u32 [%rd1], %r10;", UnsetRegister},
	{"a register set in another block", 2, 1, "setp.eq.s32 %p1, %r9, 0;\n@%p1 mov.u32 %r10, 1;\n@!%p1 add.s32 %r11, %r10, 1;", UnsetRegister},
	{"a guard never set", 1, 1, "@%p3 mov.u32 %r10, 1;", UnsetRegister},
	{"a guarded use of what is set there", 1, 32, "setp.lt.s32 %p1, %r0, 5;\n@%p1 mov.u32 %r10, 1;\n@%p1 st.global.u32 [%rd1], %r10;", ""},
	{"one word by two blocks", 2, 1, "st.global.u32 [%rd0], %r9;", RaceInGrid},
	{"what another block wrote", 2, 1, "setp.eq.s32 %p1, %r9, 0;\n@%p1 st.global.u32 [%rd0], %r9;\n@!%p1 ld.global.u32 %r10, [%rd0];", RaceInGrid},
	{"what three blocks read and one writes", 4, 1, "setp.eq.s32 %p1, %r9, 2;\nld.global.u32 %r10, [%rd0];\n@%p1 st.global.u32 [%rd0], %r9;", RaceInGrid},
	{"one word by two warps", 1, 64, "setp.eq.s32 %p1, %r0, 0;\nsetp.eq.s32 %p2, %r0, 40;\n@%p1 st.global.u32 [%rd0], %r0;\n@%p2 st.global.u32 [%rd0], %r0;", RaceInBlock},
	{"a barrier between two warps", 1, 64, "setp.eq.s32 %p1, %r0, 0;\nsetp.eq.s32 %p2, %r0, 40;\n@%p1 st.global.u32 [%rd0], %r0;\nbar.sync 0;\n@%p2 st.global.u32 [%rd0], %r0;", ""},
	{"shared memory of another warp", 1, 64, "st.shared.u32 [%r3], %r1;\nbar.sync 0;\nst.shared.u32 [%r3], %r0;\nxor.b32 %r10, %r1, 128;\nadd.s32 %r10, %r10, %r2;\nld.shared.u32 %r11, [%r10];", RaceInBlock},
	{"shared memory of another warp behind a barrier", 1, 64, "st.shared.u32 [%r3], %r0;\nbar.sync 0;\nxor.b32 %r10, %r1, 128;\nadd.s32 %r10, %r10, %r2;\nld.shared.u32 %r11, [%r10];", ""},
	{"a write over what other warps read", 1, 64, "st.shared.u32 [%r3], %r0;\nbar.sync 0;\nsetp.lt.s32 %p2, %r0, 32;\n@%p2 ld.shared.u32 %r11, [%r2];\nsetp.eq.s32 %p1, %r0, 40;\n@%p1 st.shared.u32 [%r2], %r0;", RaceInBlock},
	{"a write over what it and another warp read", 1, 64, "st.shared.u32 [%r3], %r0;\nbar.sync 0;\nld.shared.u32 %r11, [%r2];\nsetp.eq.s32 %p1, %r0, 63;\n@%p1 st.shared.u32 [%r2], %r0;", RaceInBlock},
	{"shared memory of another lane", 1, 32, "st.shared.u32 [%r3], %r0;\nxor.b32 %r10, %r1, 4;\nadd.s32 %r10, %r10, %r2;\nld.shared.u32 %r11, [%r10];", RaceInWarp},
	{"shared memory of another lane behind a __syncwarp", 1, 32, "st.shared.u32 [%r3], %r0;\nbar.warp.sync -1;\nxor.b32 %r10, %r1, 4;\nadd.s32 %r10, %r10, %r2;\nld.shared.u32 %r11, [%r10];", ""},
	{"all lanes write one word", 1, 32, "st.shared.u32 [%r2], %r0;", RaceInWarp},
	{"a lane writes what another read", 1, 32, "setp.eq.s32 %p1, %r0, 3;\nsetp.eq.s32 %p2, %r0, 4;\n@%p1 ld.global.u32 %r10, [%rd0];\n@%p2 st.global.u32 [%rd0], %r0;", RaceInWarp},
	{"atomics on one word", 3, 64, "atom.global.add.f32 %r10, [%rd0], 0f3F800000;", ""},
	{"atomics without a result", 3, 64, "red.global.add.u32 [%rd0], 1;", ""},
	{"an atomic and a load of another block", 2, 1, "setp.eq.s32 %p1, %r9, 0;\n@%p1 atom.global.add.u32 %r10, [%rd0], 1;\n@!%p1 ld.global.u32 %r10, [%rd0];", RaceInGrid},
	{"an atomic on what was never written", 1, 1, "atom.shared.add.u32 %r10, [%r3], 1;", Unwritten},
	{"a copy that was waited for", 1, 8, "shl.b32 %r10, %r0, 4;\nadd.s32 %r10, %r10, %r2;\nmul.wide.u32 %rd2, %r0, 16;\nadd.s64 %rd2, %rd2, %rd0;\ncp.async.cg.shared.global [%r10], [%rd2], 16;\ncp.async.commit_group;\ncp.async.wait_group 0;\nld.shared.v4.u32 {%r20,%r21,%r22,%r23}, [%r10];", ""},
	{"a copy that was not waited for", 1, 8, "shl.b32 %r10, %r0, 4;\nadd.s32 %r10, %r10, %r2;\nmul.wide.u32 %rd2, %r0, 16;\nadd.s64 %rd2, %rd2, %rd0;\ncp.async.cg.shared.global [%r10], [%rd2], 16;\ncp.async.commit_group;\nld.shared.v4.u32 {%r20,%r21,%r22,%r23}, [%r10];", AsyncPending},
	{"a copy of the newest group", 1, 1, "cp.async.cg.shared.global [%r2], [%rd0], 16;\ncp.async.commit_group;\ncp.async.wait_group 1;\nld.shared.u32 %r20, [%r2];", AsyncPending},
	{"a copy of the group before", 1, 1, "cp.async.cg.shared.global [%r2], [%rd0], 16;\ncp.async.commit_group;\nadd.s32 %r11, %r2, 16;\ncp.async.ca.shared.global [%r11], [%rd0], 8;\ncp.async.commit_group;\ncp.async.wait_group 1;\nld.shared.u32 %r20, [%r2];", ""},
	{"a copy by another lane", 1, 32, "setp.eq.s32 %p1, %r0, 0;\n@%p1 cp.async.cg.shared.global [%r2], [%rd0], 16;\ncp.async.wait_all;\nsetp.eq.s32 %p2, %r0, 5;\n@%p2 ld.shared.u32 %r20, [%r2];", RaceInWarp},
	{"a copy by another warp", 1, 64, "st.shared.u32 [%r3], %r0;\nbar.sync 0;\nsetp.eq.s32 %p1, %r0, 0;\n@%p1 cp.async.cg.shared.global [%r2], [%rd0], 16;\ncp.async.wait_all;\nsetp.eq.s32 %p2, %r0, 50;\n@%p2 ld.shared.u32 %r20, [%r2];", RaceInBlock},
	{"a copy from outside", 1, 1, "cp.async.cg.shared.global [%r2], [%rd0+256], 16;", OutOfBounds},
	{"a shuffle of half a warp that names all", 1, 32, "setp.lt.s32 %p1, %r0, 16;\n@%p1 shfl.sync.bfly.b32 %r10, %r0, 1, 31, -1;", Divergent},
	{"a shuffle of half a warp that names it", 1, 32, "setp.lt.s32 %p1, %r0, 16;\n@%p1 shfl.sync.bfly.b32 %r10, %r0, 1, 31, 0xffff;", ""},
	{"a shuffle from a lane that takes no part", 1, 32, "setp.lt.s32 %p1, %r0, 16;\n@%p1 shfl.sync.bfly.b32 %r10, %r0, 16, 31, 0xffff;", Divergent},
	{"a shuffle after lanes have returned", 1, 32, "setp.ge.s32 %p1, %r0, 16;\n@%p1 ret;\nshfl.sync.bfly.b32 %r10, %r0, 1, 31, -1;", ""},
	{"lanes that name different masks", 1, 2, "setp.eq.s32 %p1, %r0, 0;\nselp.b32 %r10, 1, 3, %p1;\nbar.warp.sync %r10;", Divergent},
	{"an ldmatrix of half a warp", 1, 32, "setp.lt.s32 %p1, %r0, 16;\n@%p1 ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r10}, [%r2];", Divergent},
	{"a barrier in one branch", 1, 32, "setp.lt.s32 %p1, %r0, 16;\n@%p1 bra L;\nbar.sync 0;\nL:", Divergent},
	{"different barriers", 1, 64, "setp.lt.s32 %p1, %r0, 32;\n@%p1 bra L;\nbar.sync 0;\nbra E;\nL:\nbar.sync 0;\nE:", BarrierMismatch},
	{"a barrier after warps have returned", 1, 64, "setp.lt.s32 %p1, %r0, 32;\n@%p1 ret;\nbar.sync 0;", ""},
	{"a loop without an end", 1, 1, "L:\nbra L;", Hang},
}

func TestFaultsAreFoundInEveryOrder(t *testing.T) {
	for _, c := range faulty {
		t.Run(c.name, func(t *testing.T) {
			for seed := range uint64(20) {
				d := New(Options{Seed: seed, MaxInstructions: 10000})
				p := put(t, d, "buffer", make([]uint32, 64))
				err := launch(d, module(1, places+c.body), Config{Grid: Dim{X: c.blocks}, Block: Dim{X: c.width}}, p)
				if c.want == "" && err != nil || c.want != "" && !IsFault(err, c.want) {
					t.Fatalf("seed %d: got %v, want %q", seed, err, c.want)
				}
			}
		})
	}
}

// TestBytesAcrossChunksOfTheShadow writes, reads and clears a range that begins and
// ends inside of chunks, and bytes beside it.
func TestBytesAcrossChunksOfTheShadow(t *testing.T) {
	const first, n = chunkSize - 3, 2*chunkSize + 5
	d := New(Options{})
	p, s := Pointer(alloc(t, d, "x", 4*chunkSize)), d.NewStream()
	b := bytes.Repeat([]byte{7}, n)
	if err := d.Write(p+first, b); err != nil {
		t.Fatal(err)
	}
	for _, at := range []Pointer{first - 1, first + 1} {
		if err := d.Read(make([]byte, n), p+at); !IsFault(err, Unwritten) {
			t.Errorf("read at %d: %v", at, err)
		}
	}
	s.Copy(p+1, p+first, chunkSize-5)
	s.Clear(p+first, n/2)
	got := make([]byte, n)
	s.Read(got, p+first)
	if err := s.Synchronize(); err != nil {
		t.Fatal(err)
	}
	if clear(b[:n/2]); !bytes.Equal(got, b) {
		t.Error("other bytes")
	}
	if s.Read(make([]byte, chunkSize-3), p+1); !IsFault(s.Synchronize(), Unwritten) {
		t.Error("the byte behind the copy can be read")
	}
}

func TestAFaultSaysWhereItIs(t *testing.T) {
	d := New(Options{})
	p := put(t, d, "weights", make([]uint32, 64))
	text := module(1, ".loc 1 12 3\n"+places+"setp.eq.s32 %p1, %r0, 37;\n@%p1 st.global.u32 [%rd0+300], %r0;") + ".file 1 \"norm.cu\"\n"
	err := launch(d, text, Config{Grid: Dim{X: 1}, Block: Dim{X: 64}}, p)
	want := fmt.Sprintf("k: norm.cu:12: st.global.u32: out of bounds: block 0, thread 37: address %#x, 4 bytes: byte 300 of weights, which has 256", p+300)
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestLaunchesThatADriverRefusesAreFaults(t *testing.T) {
	static := func(n int) string { return fmt.Sprintf(".shared .align 16 .b8 s[%d];", n) }
	for _, c := range []struct {
		name, text string
		config     Config
		args, opt  int
		ok         bool
	}{
		{"as it should be", module(1, static(48<<10)), Config{Block: Dim{X: 1024}}, 1, 0, true},
		{"too many threads", module(1, ""), Config{Block: Dim{X: 32, Y: 33}}, 1, 0, false},
		{"more than the launch bounds", strings.Replace(module(1, ""), "\n{", "\n.maxntid 64, 1, 1\n{", 1), Config{Block: Dim{X: 96}}, 1, 0, false},
		{"a grid that is too high", module(1, ""), Config{Grid: Dim{Y: 1 << 16}}, 1, 0, false},
		{"too few arguments", module(2, ""), Config{}, 1, 0, false},
		{"too many arguments", module(1, ""), Config{}, 2, 0, false},
		{"too much static shared memory", module(1, static(48<<10+1)), Config{}, 1, 0, false},
		{"too much static shared memory with an opt-in", module(1, static(48<<10+1)), Config{}, 1, 100 << 10, false},
		{"too much dynamic shared memory", module(1, ""), Config{Shared: 48<<10 + 1}, 1, 0, false},
		{"dynamic shared memory with an opt-in", module(1, ""), Config{Shared: 100 << 10}, 1, 100 << 10, true},
	} {
		d := New(Options{})
		m, err := d.Load(c.text)
		if err != nil {
			t.Fatal(err)
		}
		k, err := m.Kernel("k")
		if err != nil {
			t.Fatal(err)
		}
		if err := k.AllowShared(c.opt); err != nil {
			t.Fatal(err)
		}
		if err := d.Launch(k, c.config, flat(make([]uint64, c.args))); (err == nil) != c.ok || err != nil && !IsFault(err, BadLaunch) {
			t.Errorf("%s: got %v", c.name, err)
		}
		if err := k.AllowShared(200 << 10); err == nil {
			t.Error("an opt-in beyond the hardware is allowed")
		}
		if _, err := m.Kernel("other"); err == nil {
			t.Error("a kernel that is not there is found")
		}
	}
}

func TestMemoryOfTheHostsSide(t *testing.T) {
	d := New(Options{Memory: 1000})
	if _, err := d.Alloc("large", 1001); err == nil {
		t.Error("more than the memory is allocated")
	}
	p := Pointer(alloc(t, d, "a", 600))
	if _, err := d.Alloc("b", 600); err == nil {
		t.Error("more than the rest is allocated")
	}
	if err := d.Write(p.Add(590), make([]byte, 11)); err == nil {
		t.Error("a copy runs over the end")
	}
	if err := d.Read(make([]byte, 11), p.Add(590)); err == nil {
		t.Error("a copy reads over the end")
	}
	if err := d.Read(make([]byte, 4), p); !IsFault(err, Unwritten) {
		t.Errorf("what was never written is read: %v", err)
	}
	if err := d.Write(p.Add(3), []byte{1, 2, 3}); err != nil {
		t.Error(err)
	}
	b := make([]byte, 3)
	if err := d.Read(b, p.Add(3)); err != nil || string(b) != "\x01\x02\x03" {
		t.Errorf("got %v, %v", b, err)
	}
	if err := d.Read(make([]byte, 4), p.Add(3)); !IsFault(err, Unwritten) {
		t.Errorf("a byte that was never written is read: %v", err)
	}
	if err := d.Free(p); err != nil {
		t.Error(err)
	}
	if err := d.Free(p); err == nil {
		t.Error("memory is given back twice")
	}
	if err := d.Read(b, p.Add(3)); err == nil {
		t.Error("memory is read after it was given back")
	}
	if alloc(t, d, "b", 1000); d.used != 1000 {
		t.Errorf("%d bytes in use", d.used)
	}
}
