package cuda

import (
	"regexp"
	"slices"
	"testing"

	"pretext/trainer/cuda/kernels"
	"pretext/trainer/cuda/ptx"
)

// A hostEquivalent is a group of mutants that compute the same: of kernels or other work, of
// fields, by an edit, at sites whose line matches. All are regular expressions; "" is any. An
// argument has the number that the kernel gives it, and the number of a field in a struct.
type hostEquivalent struct{ work, field, edit, line, why string }

var hostEquivalents = []hostEquivalent{
	{"", "grid x", "one more", "", "threads behind the last element, row or tile return at once"},
	{"norm_backward", `argument (9\.[0-3]|10\..)`, "", "keepAll", "nothing is dropped: the places of rows do not count"},
	{"norm_forward", `argument (8\.[0-3]|9\..)`, "", "keepAll", "nothing is dropped: the places of rows do not count"},
	{"gelu_forward", "argument 3", "one less", "", "a thread has four elements, and their number is a multiple of four"},
	{"gelu_again|gelu_backward|tanh_forward|tanh_backward|add|round_down", "argument 2", "one less", "", "a thread has four elements, and their number is a multiple of four"},
	{"gather_rows", "argument 3", "one more", `int\((s\.)?rows.N\)|d.pooled.first, n`, "a row more than the heads read, in a buffer for all rows"},
	{"add_parts", "argument 3", "one more", "s.p.", "the width is that of whole blocks: no thread has the column"},
	{"add_parts", "argument 3", "one less", "s.decoder", "the last columns are words that the vocabulary does not have"},
	{"embed_forward|words_.*|stream_.*|dropout_rows|norm_forward", `argument \d+\.4`, "one more", "", "a block has four rows, and their number is a multiple of four"},
	{"span_entropy", "argument 8", "one more", "", "in evaluation the logits are copied before their gradient takes their place"},
	{"squared_error", "argument 7", "one more", "", "in evaluation the logits are copied before their gradient takes their place"},
	{"dropout_rows", "", "twice", "e.d.o, dy|b.dropped, b.y|input, a.norm.y", "it does not read what it writes"},
	{"copy to the host", "size", "halved", `u.toHost\(u.heads.sumsHost`, "the sums of a step are in the first half; the others are those of evaluation"},
	{"fp8_e4m3|fp8_e5m2", "grid y", "one more", "", "a block behind the last rows has none"},
	{"fp8_e5m2", "argument 9", "one more", "", "the gradients of padding are 0: the largest size and the count stay"},
	{"clear", "(size)?", "halved|left out", "u.squares", "one rank has all slices, and writes them"},
	{"clear", "(size)?", "halved|left out", "u.moved", "one rank has all slices, and writes them"},
	{"clear", "(size)?", "halved|left out", "the kernels have cleared only this rank's slices", "one rank has all slices"},
	{"product", "beta", "turned", `s.inputGrad\(b.dy, s.dlogits, n, head, 1\)`, "adds to zeros"},
	{"add_parts", "grid x", "one less", "s.decoder", "the last columns are words that the vocabulary does not have"},
	{"span_entropy", "argument 1", "16 bytes on", "", "the bias of an end is that of all its tokens, and cancels in the softmax"},
	{"fp8_amax", "", "twice", "", "the largest size does not grow"},
	{"product", "scale of A", "exchanged", "", "both factors multiply every element"},
	{"product", "beta", "turned", `s.inputGrad\((p.dy|dinput), s.dlogits, t, head, 1\)`, "adds to zeros"},
	{"wait of the host", "", "left out", `return q.sync\(\)`, "Open need not wait: what follows is in the same stream, and finds the error of a failed clear"},
	{"norm_backward", "argument 8", "", "e.embedded, e.p.EmbedNorm", "nothing is computed from the output, which is dropped: xhat is stored"},
	{"squared_error", "block", "halved", "", "TestThreadsAreThoseOfTheKernels; there are fewer sequences"},
	{"lamb_ratios|stable_ratios|fp8_roll", "block", "halved", "", "TestThreadsAreThoseOfTheKernels; there are fewer tensors"},
	{"fp8_amax", "block", "halved", "", "TestThreadsAreThoseOfTheKernels; the largest values are in the first halves"},
	{"fp8_amax", "argument 2", "one less", "", "a thread has 16 elements, and their number is a multiple of 16"},
	{"fp8_roll", "", "twice", "", "the sizes of the step are the same, and so is the place in the history"},
	{"lamb_move", "", "twice", "", "the first leaves zeros in the gradient, which move nothing"},
	{"words_backward", "", "twice", "", "it does not read what it writes"},
	{"attention_delta", "argument 1", "exchanged", "", "a product of both"},
	{"column_sums", "argument 1", "exchanged", "dy, y.xhat", "a product of both"},
	{"cross_entropy", "argument 11", "one more", "", "in evaluation the logits are copied before their gradient takes their place"},
	{"add_parts", "argument 3", "one more", "e.p|p.Up|s.decoder", "of one part, whose stride does not count; a column more has no thread, or lies behind the tensor, before the next multiple of 64"},
	{"mean_rows_backward", `argument 2.4`, "one more", "", "eight tokens are whole blocks: no thread has another one"},
	{"add", "argument 2", "one more", "p.dy, a.dx", "eight tokens are whole blocks: no thread has another element"},
	{"flash_queries_done", "argument 2", "one more", "", "eight tokens of a head are whole blocks: no thread has another one"},
	{"rotate", `argument 2.4`, "one more", "", "eight tokens of a head are whole blocks: no thread has another one"},
	{"wait of the host", "", "left out", `return r, t.sync\(\)`, "what follows is in the same stream, and each copy has waited for the memory of the host"},
	{"wait of the host", "", "left out", "also on other ranks", "one rank waits before it reads"},
}

// hostUnjudged are mutants that no model finds and that are not proved to compute the same. A
// new one is an error; PRETEXT_TORTURE tries all.
var hostUnjudged = []hostEquivalent{}

func (e hostEquivalent) is(m *hostMutant) bool {
	whole := func(pattern, text string) bool {
		return pattern == "" || regexp.MustCompile("^(?:"+pattern+")$").MatchString(text)
	}
	return whole(e.edit, m.edit.name) && whole(e.field, m.field) && whole(e.work, m.work) && regexp.MustCompile(e.line).MatchString(siteText(m.site))
}

// proof returns why a mutant computes the same; "" if the table does not have it.
func (m *hostMutant) proof() string {
	for _, e := range hostEquivalents {
		if e.is(m) {
			return e.why
		}
	}
	return ""
}

// open reports whether a mutant is among the unjudged ones.
func (m *hostMutant) open() bool {
	return slices.ContainsFunc(hostUnjudged, func(e hostEquivalent) bool { return e.is(m) })
}

// TestThreadsAreThoseOfTheKernels compares the threads of the table of modules with those that
// the kernels are compiled for.
func TestThreadsAreThoseOfTheKernels(t *testing.T) {
	for _, m := range modules {
		text, err := kernels.PTX(m.name, kernels.BF16)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := ptx.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range m.kernels {
			if k := parsed.Kernel(name); k == nil || k.MaxThreads != m.threads {
				t.Errorf("%s: %d threads are launched, not those of %+v", name, m.threads, k)
			}
		}
	}
}
