package hf

import (
	"fmt"

	"pretext/internal/failure"
	"pretext/tokenize/internal/onig"
)

// ErrBudget is the error of [Encoder.Err] if a tokenizer.json needs far more work or memory
// for a text than ordinary tokenizers: see the package comment.
var ErrBudget = failure.Damaged("the tokenizer is damaged or hostile")

// Limits for one text. Ordinary tokenizers need less than a tenth of them.
const (
	maxSteps        = 1 << 26 // steps of matching and of reading bytes
	maxStepsPerByte = 256     // additional steps for each byte of the text
	maxGrowth       = 1 << 18 // bytes that normalizers and pre-tokenizers add, and ids
	growthPerByte   = 16      // additional ones for each byte of the text
)

// A budget limits the work and memory that a tokenizer may use for one text.
type budget struct {
	steps  onig.Budget
	growth int    // bytes and ids that may still be added
	text   string // beginning of the text, for the error
	size   int    // bytes of the text
}

func newBudget(text string) *budget {
	b := &budget{}
	b.reset(text)
	return b
}

// reset sets b to the full budget of a text.
func (b *budget) reset(text string) {
	b.steps = *onig.NewBudget(maxSteps + maxStepsPerByte*len(text))
	b.growth = maxGrowth + growthPerByte*len(text)
	b.text, b.size = text[:min(len(text), 40)], len(text)
}

// take uses up steps and reports whether enough were left.
func (b *budget) take(steps int) bool { return b.steps.Take(steps) }

// grow subtracts bytes or ids that are added to a text and reports whether they are
// allowed.
func (b *budget) grow(bytes int) bool {
	b.growth -= max(bytes, 0)
	return b.growth >= 0
}

// spent reports whether any limit was exceeded. All results for the text are then
// incomplete.
func (b *budget) spent() bool { return b.growth < 0 || b.steps.Spent() }

// err returns an error that is [ErrBudget] if b is spent, else nil.
func (b *budget) err() error {
	if !b.spent() {
		return nil
	}
	what := "takes too many steps for"
	if b.growth < 0 {
		what = "makes too much of"
	}
	return fmt.Errorf("%w: it %s the text %q (%d bytes): use another tokenizer.json, or take what repeats or nests out of its expressions", ErrBudget, what, b.text, b.size)
}
