package pretrain

import (
	"context"

	"pretext/internal/pyrandom"
	"pretext/records"
)

// Counts holds statistics of the result of [Builder.Build]. They depend only on the corpus,
// the options, the vocabulary and the seed.
type Counts struct {
	Examples      int64 `json:"examples"`
	RandomNext    int64 `json:"random_next"`             // examples whose next_sentence_labels is 1
	Tokens        int64 `json:"tokens"`                  // tokens of all examples, with [CLS] and [SEP], without padding
	Predictions   int64 `json:"predictions"`             // masked tokens
	NoPredictions int64 `json:"no_predictions"`          // examples without masked tokens, possible only with whole-word masking
	Pieces        int64 `json:"pieces,omitempty"`        // pieces in all rows; only by a [Packer]
	CutDocuments  int64 `json:"cut_documents,omitempty"` // longer than a record or row; only by a [Packer], [Splitter] or the recipe pieces
}

// Add returns the sum of c and d.
func (c Counts) Add(d Counts) Counts {
	return Counts{
		Examples:      c.Examples + d.Examples,
		RandomNext:    c.RandomNext + d.RandomNext,
		Tokens:        c.Tokens + d.Tokens,
		Predictions:   c.Predictions + d.Predictions,
		NoPredictions: c.NoPredictions + d.NoPredictions,
		Pieces:        c.Pieces + d.Pieces,
		CutDocuments:  c.CutDocuments + d.CutDocuments,
	}
}

// A Record is one example that [Builder.Build] passes to yield.
type Record struct {
	Payload     []byte // serialized [records.Example], valid during the call
	Tokens      int    // without padding
	Pieces      int    // number of pieces in a row of a [Packer]; 0 otherwise
	Bin         int    // length to which the example is padded; 0 without LengthBins
	Predictions int
	RandomNext  bool
}

// A Builder makes examples. Each [Builder.Build] reuses the memory of the last one. A
// Builder must not be used by several goroutines at once.
type Builder struct {
	opts  Options
	vocab Vocab

	rng      *pyrandom.Rand
	masker   *masker
	corpus   *Corpus                         // the argument of Build
	order    []uint32                        // shuffled numbers of the documents of corpus
	pass     func(ctx context.Context) error // makes the instances of one pass; calls keep for each
	store    *store
	places   []uint64 // address of each instance (example before padding) in the store
	current  instance // the instance under construction
	encoder  *records.Encoder
	binned   map[int]*records.Encoder // by length; nil without LengthBins
	longest  int                      // size in bytes of the longest instance in the store
	payload  []byte
	memory   func(bin, n int) []byte // see [Builder.MakeIn]
	counts   Counts
	followed []Followed
	touched  byte // result of store.touch, stored so that the compiler does not remove the reads
}

// newBuilder returns a Builder for a recipe with masks. The caller must set its field pass.
func newBuilder(r Recipe, o Options, v Vocab, s Scratch) (*Builder, error) {
	if err := r.validate(o, v); err != nil {
		return nil, err
	}
	rng := pyrandom.New(0)
	var binned map[int]*records.Encoder
	for _, bin := range o.LengthBins {
		if binned == nil {
			binned = map[int]*records.Encoder{}
		}
		binned[bin] = records.NewEncoder(bin, o.MaxPredictionsPerSeq, v.Pad).For(r.Form)
	}
	return &Builder{
		binned: binned,
		opts:   o, vocab: v, rng: rng,
		masker: newMasker(o, v, rng),
		store:  newStore(s),
		current: instance{
			tokens:    make([]int32, o.MaxSeqLength),
			positions: make([]int32, 0, o.MaxPredictionsPerSeq),
			labels:    make([]int32, 0, o.MaxPredictionsPerSeq),
		},
		encoder: records.NewEncoder(o.MaxSeqLength, o.MaxPredictionsPerSeq, v.Pad).For(r.Form),
		longest: maxCompactBytes(o, v),
	}, nil
}

// Build makes all examples of a corpus and calls yield for each, in their final order. seed
// seeds the draws like Python's random.Random(seed). Build stops at the first error of
// yield, of the scratch file or of ctx and returns it. The corpus must have been made for a
// vocabulary of the same size as that of the Builder.
func (b *Builder) Build(ctx context.Context, corpus *Corpus, seed int64, yield func(Record) error) (Counts, error) {
	if err := corpus.fits(b.vocab); err != nil {
		return Counts{}, err
	}
	b.counts = Counts{}
	b.beginFollowing(corpus)
	b.places = b.places[:0]
	b.rng.Seed(seed)
	b.corpus = corpus
	defer func() { b.corpus = nil }()
	// Store the instances (examples before padding) in the order of the original script.
	b.order = corpus.shuffled(b.rng, b.order)
	var err error
	for i := 0; i < b.opts.DupeFactor && err == nil; i++ {
		err = b.pass(ctx)
	}
	if err == nil {
		err = b.store.flush()
	}
	if err == nil {
		pyrandom.Shuffle(b.rng, b.places)
		err = b.emit(ctx, yield)
	}
	if closeErr := b.store.reset(); err == nil {
		err = closeErr
	}
	return b.counts, err
}

// keep masks b.current, appends it to the store and updates the counts.
func (b *Builder) keep() error {
	in := &b.current
	in.positions, in.labels = b.masker.apply(in.tokens, in.positions[:0], in.labels[:0])
	place, address, err := b.store.reserve(b.longest)
	if err != nil {
		return err
	}
	b.store.commit(in.putCompact(place))
	b.places = append(b.places, address)

	b.counts.Examples++
	b.counts.Tokens += int64(len(in.tokens))
	b.counts.Predictions += int64(len(in.positions))
	if in.randomNext {
		b.counts.RandomNext++
	}
	if len(in.positions) == 0 {
		b.counts.NoPredictions++
	}
	return nil
}

// MakeIn sets a function that provides the memory for payloads, so that a writer can have
// payloads encoded directly into its buffer. memory returns memory for a payload of up to n
// bytes of a record with the given length bin, or nil.
func (b *Builder) MakeIn(memory func(bin, n int) []byte) { b.memory = memory }

// encode returns the payload of an example, in memory from b.memory if possible.
func (b *Builder) encode(e *records.Encoder, bin int, p records.Parts) []byte {
	if b.memory != nil {
		if memory := b.memory(bin, e.Longest()); memory != nil {
			return e.Append(memory, p)
		}
	}
	b.payload = e.Append(b.payload[:0], p)
	return b.payload
}

// touchAhead is the number of instances that emit prefetches into the processor's cache.
// Their addresses are random, so without prefetching, each read would wait for memory.
const touchAhead = 16

// ahead prefetches instances that emit needs after the one at index i.
func (b *Builder) ahead(i int) {
	switch {
	case !canFetch:
		if i%touchAhead == 0 {
			b.touched ^= b.store.touch(b.places[i:min(i+touchAhead, len(b.places))])
		}
	case i == 0:
		for _, address := range b.places[:min(touchAhead, len(b.places))] {
			b.store.fetch(address)
		}
	case i+touchAhead-1 < len(b.places):
		b.store.fetch(b.places[i+touchAhead-1])
	}
}

// emit calls yield for every instance as a Record, in the order of b.places.
func (b *Builder) emit(ctx context.Context, yield func(Record) error) error {
	for i, address := range b.places {
		if i%checkEvery == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		b.ahead(i)
		compact, err := b.store.read(address, b.longest)
		if err != nil {
			return err
		}
		parts, err := readCompact(compact, b.opts)
		if err != nil {
			return err
		}
		encoder, bin := b.encoder, 0
		if b.binned != nil {
			bin = b.opts.PaddedLength(parts.Tokens)
			encoder = b.binned[bin]
		}
		r := Record{Payload: b.encode(encoder, bin, parts), Bin: bin, Tokens: parts.Tokens, Predictions: parts.Predictions, RandomNext: parts.RandomNext}
		if err := yield(r); err != nil {
			return err
		}
	}
	return nil
}
