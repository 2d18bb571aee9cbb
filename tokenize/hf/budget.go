package hf

import (
	"fmt"

	"pretext/internal/failure"
	"pretext/tokenize/internal/onig"
)

// ErrBudget is the error of [Encoder.Err] for a text for which a tokenizer.json asks
// for more work or memory than any ordinary one: see the package comment.
var ErrBudget = failure.Damaged("the tokenizer is damaged or hostile")

// Limits of the work for a text. Those of ordinary tokenizers are below a tenth.
const (
	maxSteps        = 1 << 26 // of matching and of looking at bytes
	maxStepsPerByte = 256     // further ones
	maxGrowth       = 1 << 18 // bytes that normalizers and pre-tokenizers add, and ids
	growthPerByte   = 16      // further ones
)

// A budget is what a tokenizer may spend on a text.
type budget struct {
	steps  onig.Budget
	growth int    // bytes and ids that may still be added
	text   string // for the error
	size   int    // bytes of the text
}

func newBudget(text string) *budget {
	b := &budget{}
	b.reset(text)
	return b
}

// reset makes b the budget of a text.
func (b *budget) reset(text string) {
	b.steps = *onig.NewBudget(maxSteps + maxStepsPerByte*len(text))
	b.growth = maxGrowth + growthPerByte*len(text)
	b.text, b.size = text[:min(len(text), 40)], len(text)
}

// take spends steps and reports whether there were enough.
func (b *budget) take(steps int) bool { return b.steps.Take(steps) }

// grow counts what is added to the text and reports whether that is allowed.
func (b *budget) grow(bytes int) bool {
	b.growth -= max(bytes, 0)
	return b.growth >= 0
}

// spent reports whether there was not enough of anything. All that is made of the
// text is then incomplete.
func (b *budget) spent() bool { return b.growth < 0 || b.steps.Spent() }

// err returns nil if b is not spent.
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
