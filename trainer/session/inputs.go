package session

import (
	"cmp"
	"context"
	"io"

	"pretext/sharding"
	"pretext/trainer/loader"
)

// inputs holds the data that a run reads: the corpora of both splits and, once the
// model is known, their examples in order.
type inputs struct {
	data     *Corpus
	evalData *Corpus         // nil: no evaluation
	masking  *loader.Masking // nil: use the masks in the records
	source   *loader.Source
	damage   *quarantine // list of corrupt examples of the source; nil: a corrupt example ends the run
	eval     *evaluator
}

// open opens the data of both splits.
func (in *inputs) open(ctx context.Context, o *DataOptions, step *StepOptions) (err error) {
	if in.data, err = OpenCorpus(ctx, o.Data, sharding.Train, o.Vocab); err != nil {
		return err
	}
	if in.masking, err = o.Masking.masking(step.Seed, in.data, step.TrainBatchSize); err != nil {
		return err
	}
	if o.MaxSeqLength > 0 && !in.data.shards.Form().Documents() {
		return usagef("--max-seq-length applies only to records of documents (recipe tokens): the examples of %s have their length", in.data.path)
	}
	if err := in.data.suits(cmp.Or(o.MaxSeqLength, minTokens), o.AttendAcross); err != nil {
		return err
	}
	if in.evalData, err = openEval(ctx, o); err != nil || in.evalData == nil {
		return err
	}
	if in.evalData.vocab.SHA256() != in.data.vocab.SHA256() {
		return usagef("--eval-data %s has another vocabulary than --data %s", in.evalData.path, in.data.path)
	}
	return nil
}

// openSources opens the examples of both splits. options configure the training data;
// the fields that depend on the data need not be set. If skip is set, corrupt records
// are skipped.
func (in *inputs) openSources(ctx context.Context, options loader.SourceOptions, skip bool, log io.Writer) (err error) {
	options.Rules, options.Masking = in.data.rules(), in.masking
	var evalDamage *quarantine
	if skip {
		in.damage, evalDamage = newQuarantine(log, ""), newQuarantine(log, sharding.Eval)
		options.Quarantine = in.damage.skip
	}
	if in.source, err = loader.NewSource(ctx, in.data.shards, options); err != nil || in.evalData == nil {
		return err
	}
	options.Seed, options.Readers, options.MicroBatchMultiple = 0, 0, options.Ranks // evaluations use the same examples in every run
	if options.Masking, err = evalMasking(in.evalData); err != nil {
		return err
	}
	options.Rules, options.AttendAcross = in.evalData.rules(), options.AttendAcross && in.evalData.shards.Form().Rows()
	if evalDamage != nil {
		options.Quarantine = evalDamage.skip
	}
	source, err := loader.NewSource(ctx, in.evalData.shards, options)
	in.eval = &evaluator{source: source, mask: in.data.vocab.MASK(), vocab: in.data.vocab.Len(), damage: evalDamage}
	return err
}

// longest returns the length of the longest example in tokens; 0 if it is unknown. cut
// is the length to which documents are cut.
func (in *inputs) longest(cut int) int {
	longest := in.data.Longest(cut)
	if in.evalData != nil {
		longest = max(longest, in.evalData.Longest(cut))
	}
	return longest
}

// predictions returns the maximum number of masked tokens of an example; 0 if
// it is unknown.
func (in *inputs) predictions() int {
	n := in.data.shards.MaxPredictionsPerSeq()
	if n == 0 {
		return 0
	}
	if in.masking != nil {
		n = max(n, in.masking.MaxPredictions)
	}
	if in.evalData == nil {
		return n
	}
	if in.evalData.shards.MaxPredictionsPerSeq() == 0 {
		return 0
	}
	return max(n, in.evalData.shards.MaxPredictionsPerSeq())
}

// tails returns the unreadable ends of the files of both splits.
func (in *inputs) tails() (all []Damage) {
	if in.damage != nil {
		all = append(all, in.damage.tails...)
	}
	if in.eval != nil && in.eval.damage != nil {
		all = append(all, in.eval.damage.tails...)
	}
	return all
}
