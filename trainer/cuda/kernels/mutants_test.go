package kernels_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"pretext/trainer/cuda/kernels"
	"pretext/trainer/cuda/ptx"
	"pretext/trainer/cuda/sim"
)

// A mutant is a fault planted into a kernel's PTX: what an edit does to the
// instructions of a source line.
type mutant struct {
	name   string
	module string
	typ    kernels.Type
	kernel string
	line   string // a part of it, in the source or in dev.cuh
	edit   edit
	check  func(f *fixture)
}

// An edit returns what replaces an instruction, and whether that is something else.
type edit func(in ptx.Instruction) ([]ptx.Instruction, bool)

// without drops instructions.
func without(op string) edit {
	return func(in ptx.Instruction) ([]ptx.Instruction, bool) { return nil, strings.HasPrefix(in.Op, op) }
}

// exchanged replaces a part of the mnemonic.
func exchanged(old, now string) edit {
	return func(in ptx.Instruction) ([]ptx.Instruction, bool) {
		if !strings.HasPrefix(in.Op, old) {
			return nil, false
		}
		in.Op = now + strings.TrimPrefix(in.Op, old)
		return []ptx.Instruction{in}, true
	}
}

// limitMoved makes comparisons take the limit too, or leave it out.
func limitMoved(in ptx.Instruction) ([]ptx.Instruction, bool) {
	for old, now := range map[string]string{"setp.ge.": "setp.gt.", "setp.gt.": "setp.ge.", "setp.lt.": "setp.le.", "setp.le.": "setp.lt."} {
		if list, ok := exchanged(old, now)(in); ok {
			return list, true
		}
	}
	return nil, false
}

// limitMovedUnsigned is limitMoved for comparisons without a sign.
func limitMovedUnsigned(in ptx.Instruction) ([]ptx.Instruction, bool) {
	for old, now := range map[string]string{"setp.gt.u32": "setp.ge.u32", "setp.le.u32": "setp.lt.u32"} {
		if list, ok := exchanged(old, now)(in); ok {
			return list, true
		}
	}
	return nil, false
}

// constant replaces an integer among the operands.
func constant(op string, old, now int64) edit {
	return func(in ptx.Instruction) ([]ptx.Instruction, bool) {
		i := slices.IndexFunc(in.Args, func(o ptx.Operand) bool { return o.Kind == ptx.Immediate && o.Float == 0 && int64(o.Value) == old })
		if !strings.HasPrefix(in.Op, op) || i < 0 {
			return nil, false
		}
		in.Args = slices.Clone(in.Args)
		in.Args[i].Value = uint64(now)
		return []ptx.Instruction{in}, true
	}
}

// first makes an instruction return its first operand.
func first(op string) edit {
	return func(in ptx.Instruction) ([]ptx.Instruction, bool) {
		if !strings.HasPrefix(in.Op, op) {
			return nil, false
		}
		in.Op, in.Args = "mov."+in.Op[strings.LastIndexByte(in.Op, '.')+1:], in.Args[:2]
		return []ptx.Instruction{in}, true
	}
}

// notAtomic replaces an atomic addition by a load, an addition and a store.
func notAtomic(in ptx.Instruction) ([]ptx.Instruction, bool) {
	if in.Op != "atom.global.add.f32" {
		return nil, false
	}
	d, at, v := in.Args[0], in.Args[1], in.Args[2]
	load, sum, store := in, in, in
	load.Op, load.Args = "ld.global.f32", []ptx.Operand{d, at}
	sum.Op, sum.Args = "add.f32", []ptx.Operand{d, d, v}
	store.Op, store.Args = "st.global.f32", []ptx.Operand{at, d}
	return []ptx.Instruction{load, sum, store}, true
}

// Faults in barriers, waits, bounds and atomics: the simulator must name them,
// whatever the numbers are.
var unsafe = []mutant{
	{"tiles are read before they are whole", "flash", kernels.BF16, "flash_forward", "tiles are whole, and nobody reads those before them", without("bar.sync"), checkFlash},
	{"copies are not waited for", "flash", kernels.F16, "flash_forward", "cp.async.wait_group", without("cp.async.wait_group"), checkFlash},
	{"the newest copies are not waited for", "flash", kernels.F16, "flash_forward", "cp.async.wait_group", constant("cp.async.wait_group", 0, 1), checkFlash},
	{"the double buffer is not switched", "flash", kernels.BF16, "flash_forward", "keys = ends - keys;", first("sub.s32"), checkFlash},
	{"tiles are replaced while they are read", "flash", kernels.BF16, "flash_backward_keys", "nobody reads the tiles of the queries before", without("bar.sync"), checkFlash},
	{"copies into the next tiles are not waited for", "flash", kernels.BF16, "flash_backward_keys", "cp.async.wait_group", without("cp.async.wait_group"), checkFlash},
	{"P is read before it is whole", "flash", kernels.BF16, "flash_backward_keys", "P and dS are whole", without("bar.sync"), checkFlash},
	{"tiles of keys are replaced while they are read", "flash", kernels.F16, "flash_backward_queries", "nobody reads the tiles of the keys before", without("bar.sync"), checkFlash},
	{"copies of keys are not waited for", "flash", kernels.F16, "flash_backward_queries", "cp.async.wait_group", without("cp.async.wait_group"), checkFlash},
	{"dq is added without atomics", "flash", kernels.BF16, "flash_backward", "atomicAdd(to + j * 8, s", notAtomic, checkFlash},
	{"half of dq is added without atomics", "flash", kernels.F16, "flash_backward", "atomicAdd(to + j * 8 + 1", notAtomic, checkFlash},
	{"rows past the end are not clamped", "flash", kernels.BF16, "flash_forward", "copy_async(tile + ((r + i) * LD + c) * 2", first("min.s32"), checkFlash},
	{"half a warp shuffles", "flash", kernels.BF16, "flash_forward", "the four lanes of a row", constant("mov.u32", -1, 0xffff), checkFlash},

	{"sums of warps are read before they are written", "optim", kernels.F32, "sum_squares", "sums of the warps are written", without("bar.sync"), checkUpdates},
	{"sums of warps are overwritten", "optim", kernels.F32, "lamb_direction", "scratch may be used again", without("bar.sync"), checkUpdates},
	{"parts of the norm are read before they are written", "optim", kernels.BF16, "begin_update", "parts are written", without("bar.sync"), checkUpdates},
	{"a part is longer by four", "optim", kernels.F16, "adamw", "i < p.n; i += THREADS * 4", limitMoved, checkUpdates},
	{"the largest logits are read before they are written", "loss", kernels.F32, "cross_entropy", "tops are written", without("bar.sync"), checkCrossEntropy},
	{"the label's logit is overwritten", "loss", kernels.F32, "cross_entropy", "the label's logit was read", without("bar.sync"), checkCrossEntropy},
	{"parts of the losses are read before they are written", "loss", kernels.BF16, "sum_losses", "parts are written", without("bar.sync"), checkCrossEntropy},
	{"the query is read before it is written", "attention", kernels.F32, "attention_forward", "the query is written", without("bar.warp.sync"), checkAttention},
	{"key and value are read before they are written", "attention", kernels.BF16, "attention_backward_queries", "both are written", without("bar.warp.sync"), checkAttention},
	{"a query behind the last", "attention", kernels.F32, "attention_delta", "if (i >= tokens * heads) return;", limitMoved, checkAttention},
	{"a row behind the last", "norm", kernels.F16, "norm_forward", "if (row >= rows.n) return;", limitMoved, checkNorm},
	{"a run behind the last", "norm", kernels.F32, "norm_forward", "if (run * 16 >= h) continue;", limitMoved, checkNorm},
	{"a column behind the last", "elementwise", kernels.F32, "column_sums", "if (column >= width) return;", limitMoved, checkColumnSums},
	{"sums of columns are read before they are written", "elementwise", kernels.BF16, "column_sums", "sums of the warps' columns are written", without("bar.sync"), checkColumnSums},
	{"sums of parts are read before they are written", "elementwise", kernels.F16, "add_parts", "sums of the warps are there", without("bar.sync"), checkColumnSums},
	{"rows of the warps are read before they are written", "norm", kernels.BF16, "norm_backward", "rows of the warps are written", without("bar.sync"), checkNorm},
	{"rows of the warps are overwritten", "norm", kernels.F32, "norm_backward", "rows may be overwritten", without("bar.sync"), checkNorm},
	{"elements behind the last", "elementwise", kernels.BF16, "gelu_forward", "if (at >= n) return;", limitMoved, checkActivations},
	{"a row more is added", "elementwise", kernels.F32, "add_rows_f32", "for (int i = bounds[s]; i < bounds[s + 1]; i++)", limitMoved, checkRowsMoved},
}

// Faults in what is computed: numbers must show them.
var wrong = []mutant{
	{"a key behind the last is seen", "flash", kernels.BF16, "flash_forward", ">= keys) s[j][i] = HIDDEN", limitMoved, checkFlash},
	{"the maximum of other lanes", "flash", kernels.F16, "flash_forward", "the four lanes of a row", constant("mov.u32", 1, 4), checkFlash},
	{"queries past the end count", "flash", kernels.BF16, "flash_backward_keys", "bool in = r < h.n;", limitMoved, checkFlash},
	{"delta is added", "flash", kernels.F16, "flash_backward_queries", "dp[j][i] = s[j][i] *", exchanged("sub.f32", "add.f32"), checkFlash},
	{"a byte at the limit is kept", "flash", kernels.BF16, "flash_forward", "u32 carry =", constant("mov.u32", 128, 127), checkFlash},
	{"P is not dropped out for dv", "flash", kernels.BF16, "flash_backward_keys", "*(u32*)(p + at) = d.keep", first("and.b32"), checkFlash},
	{"lanes are added wrongly", "norm", kernels.F32, "norm_forward", "v += __shfl_xor_sync", constant("mov.u32", 16, 8), checkNorm},
	{"the mean is added", "norm", kernels.F32, "norm_backward", "- sum - x[i] * dot) * scale", exchanged("sub.f32", "add.f32"), checkNorm},
	{"Philox has another constant", "norm", kernels.BF16, "dropout_rows", "k0 += 0x9E3779B9u", constant("add.s32", -1640531527, -1640531526), checkDropout},
	{"the first of equal logits does not count", "loss", kernels.F32, "cross_entropy", "DEV Best better", limitMoved, checkCrossEntropy},
	{"a label is taken for the next", "loss", kernels.F32, "cross_entropy", "i == label ? p - 1.f : p", exchanged("setp.eq", "setp.le"), checkCrossEntropy},
	{"the loss scale never doubles", "optim", kernels.F32, "begin_update", "if (++c->good == rule.growth)", exchanged("setp.ne", "setp.lt"), checkUpdates},
	{"gradients are not clipped", "optim", kernels.F32, "begin_update", "c->factor = (rule.clip > 0", exchanged("setp.geu.f32", "setp.ltu.f32"), checkUpdates},
	{"a key just outside of the window is seen", "flash", kernels.BF16, "flash_local_forward", "(u32)(place + i / 2", limitMovedUnsigned, checkLocalFlash},
	{"dq has a key just outside of the window", "flash", kernels.F16, "flash_local_backward_queries", "(u32)(place + i / 2", limitMovedUnsigned, checkLocalFlash},
	{"dk has a query just outside of the window", "flash", kernels.BF16, "flash_local_backward_keys", "(u32)(place + i / 2", limitMovedUnsigned, checkLocalFlash},
	{"atomics add a key outside of the window", "flash", kernels.F16, "flash_local_backward", "(u32)(place + i / 2", limitMovedUnsigned, checkLocalFlash},
	{"a tile with the window's end is not masked", "flash", kernels.BF16, "flash_local_forward", "no edge of the band is here", exchanged("and.pred", "or.pred"), checkLocalFlash},
	{"a window's tiles begin behind it", "flash", kernels.BF16, "flash_local_forward", "return Reached{max(0, r0 - reach)", exchanged("sub.s32", "add.s32"), checkLocalFlash},
	{"the last tile of a window is left out", "flash", kernels.F16, "flash_local_backward_keys", "return Reached{max(0, r0 - reach)", constant("add.s32", 64, 0), checkLocalFlash},
	{"all tiles before the window are read", "flash", kernels.BF16, "flash_local_forward", "return Reached{max(0, r0 - reach)", constant("and.b32", 0x7fffffc0, 0), checkBand},
	{"all tiles before the window are read for dq", "flash", kernels.BF16, "flash_local_backward_queries", "return Reached{max(0, r0 - reach)", constant("and.b32", 0x7fffffc0, 0), checkBand},
	{"a tile more is read", "flash", kernels.BF16, "flash_local_backward", "return Reached{max(0, r0 - reach)", constant("add.s32", 64, 65), checkBand},
	{"a key at the window's end is left out", "attention", kernels.F32, "attention_local_forward", "!LOCAL || abs(r - k) <= reach", limitMoved, checkLocal},
	{"a query at the window's end is left out", "attention", kernels.F32, "attention_local_backward_keys", "!LOCAL || abs(r - k) <= reach", limitMoved, checkLocal},
	{"the window ends with the block's first query", "attention", kernels.F32, "attention_local_backward_queries", "return Reached{max(0, first", constant("add.s32", 4, 1), checkLocal},
	{"positions do not restart at a sequence", "modern", kernels.F16, "rotate", "int place = row - rows.cu", first("sub.s32"), checkRotate},
	{"the second of a pair is turned the other way", "modern", kernels.F32, "rotate", "b[j] = b[j] * c + first * s;", exchanged("sub.f32", "add.f32"), checkRotate},
	{"dropout of the activation keeps a byte at the limit", "modern", kernels.F32, "geglu_backward", "byte_of(r, at % 16 + i) < d.keep", limitMoved, checkGated},
	{"the gate's gradient lacks the activation", "modern", kernels.F32, "geglu_backward", "gate[i] = by * y;", first("mul.f32"), checkGated},
	{"the residual is subtracted", "modern", kernels.BF16, "stream_forward", "v[k][i] += s[i];", exchanged("add.f32", "sub.f32"), checkStream},
	{"rows of the stream are those of the batch", "modern", kernels.F32, "stream_forward", "index[row] : row", exchanged("setp.eq.s64", "setp.ne.s64"), checkStream},
	{"the mean is added to the gradient of the stream", "modern", kernels.F32, "stream_backward", "g[k][i] - sum - x[k][i] * dot", exchanged("sub.f32", "add.f32"), checkStream},
	{"the words' gradient lacks that of the stream", "modern", kernels.F16, "words_backward", "g[k][i] += x[i];", first("add.f32"), checkWords},
	{"a mean is a sum", "modern", kernels.F32, "mean_rows", "rounded(sum / (cu[s + 1] - cu[s]))", first("div.rn.f32"), checkMeans},
	{"rows of padding have a gradient", "modern", kernels.F32, "mean_rows_backward", "rows.sequence[row] >= sequences", limitMoved, checkMeans},
	{"a skipped step moves weights", "optim", kernels.F32, "adamw", "if (skip) continue;", without("bra"), checkUpdates},
}

// TestMutantsAreCaught plants all faults, one at a time; in a plain go test every
// tenth.
func TestMutantsAreCaught(t *testing.T) {
	tried, caught, named := 0, 0, 0
	for i, m := range append(slices.Clone(unsafe), wrong...) {
		if i%10 != 0 && !all() {
			continue
		}
		tried++
		err := m.run(t)
		var fault *sim.Fault
		isFault := errors.As(err, &fault)
		t.Logf("%-55s %v", m.name, err)
		switch {
		case err == nil:
			t.Errorf("%s: not caught", m.name)
		case i < len(unsafe) && !isFault:
			t.Errorf("%s: caught by numbers alone: %v", m.name, err)
		default:
			caught++
		}
		if isFault {
			named++
		}
	}
	t.Logf("%d of %d caught, %d of them by name", caught, tried, named)
}

// run returns what the check of a mutant finds, in the first of a few orders.
func (m mutant) run(t *testing.T) error {
	text, err := m.text()
	if err != nil {
		t.Errorf("%s: %v", m.name, err)
		return nil
	}
	for seed := range uint64(3) {
		f := newFixture(m.typ, seed)
		f.replace = map[string]string{m.module: text}
		if err := f.run(m.check); err != nil {
			return err
		}
	}
	return nil
}

// text returns the mutant's PTX.
func (m mutant) text() (string, error) {
	places, err := m.places()
	if err != nil {
		return "", err
	}
	text, err := kernels.PTX(m.module, m.typ)
	if err != nil {
		return "", err
	}
	module, err := ptx.Parse(text)
	if err != nil {
		return "", err
	}
	k, changes := module.Kernel(m.kernel), 0
	if k == nil {
		return "", fmt.Errorf("no kernel %s", m.kernel)
	}
	var code []ptx.Instruction
	moved := make([]int, len(k.Code)+1) // where the instructions went
	for i, in := range k.Code {
		moved[i] = len(code)
		if places[in.Source] {
			if now, ok := m.edit(in); ok {
				changes++
				code = append(code, now...)
				continue
			}
		}
		code = append(code, in)
	}
	moved[len(k.Code)] = len(code)
	for name, at := range k.Labels {
		k.Labels[name] = moved[at]
	}
	k.Code = code
	if changes == 0 {
		return "", fmt.Errorf("no instruction of %v in %s is changed", places, m.kernel)
	}
	return module.String(), nil
}

// places returns the source lines of the mutant.
func (m mutant) places() (map[ptx.Source]bool, error) {
	places := map[ptx.Source]bool{}
	for _, name := range []string{m.module + ".cu", "dev.cuh"} {
		b, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		for i, l := range strings.Split(string(b), "\n") {
			if strings.Contains(l, m.line) {
				places[ptx.Source{File: name, Line: i + 1}] = true
			}
		}
	}
	if len(places) == 0 {
		return nil, fmt.Errorf("no line has %q", m.line)
	}
	return places, nil
}
