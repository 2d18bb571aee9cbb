// Package predict answers single requests with a model: the word hidden by
// [MASK], the class of a sentence, the answer to a question. A request becomes
// a [Job]. Sequences of several jobs may be computed in one batch:
//
//	p, err := predict.New(predict.Settings{Tokenizer: tok, Config: cfg, Heads: heads})
//	job, err := p.FillMask("The cat [MASK] on the mat.", 5)
//	…
//	_, err = finetune.Forward{Model: model, Heads: heads, Tokens: tokens}.Each(ctx, job, job.Take)
//	answer := job.Result() // a FilledMask
//
// A request that cannot be computed gives an [*InputError].
//
// # Concurrency
//
// A Predictor may be shared. A Job must not be used by several goroutines at
// once.
package predict
