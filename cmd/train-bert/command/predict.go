package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pretext/cmd/train-bert/internal/serve"
	"pretext/internal/failure"
	"pretext/trainer"
	"pretext/trainer/finetune/predict"
	"pretext/trainer/finetune/squad"
	"pretext/trainer/session"
)

// predictOptions are those of predict.
type predictOptions struct {
	model, vocab      string
	lower, negatives  *bool
	length            int
	stride, query     int
	answers           squad.PredictOptions
	tokens            tokenCount
	device            session.Device
	text, pair        string
	question, context string
	jsonl             bool
	defaults          predict.Defaults

	address string
	server  serve.Options
	limits  serve.Limits
}

func newPredict() *cobra.Command {
	o := predictOptions{answers: squad.DefaultPredictOptions(), defaults: predict.Defaults{TopK: 5}, server: serve.DefaultOptions(),
		limits: serve.Limits{Queue: 256, MaxWait: 2 * time.Millisecond}}
	cmd := &cobra.Command{
		Use:   "predict MODEL",
		Short: "Ask a model: words behind [MASK], classes, answers; also over HTTP",
		Long: `Answers requests with a model, by the head it has: a pre-trained one fills in [MASK],
one of finetune classify or squad classifies or answers. An answer is a line of JSON.

  train-bert predict MODEL --text "The cat [MASK] on the mat."
  train-bert predict MODEL --question "Who sat?" --context "The cat sat on the mat."
  train-bert predict MODEL < lines.txt                      a text a line
  train-bert predict MODEL --jsonl < requests.jsonl         {"text": …, "pair": …} and the like, a line each
  train-bert predict MODEL --serve 8080                     POST /v1/fill-mask, /v1/classify, /v1/answer

A line out for a line in; what cannot be computed gives {"error": …}. The server listens
on this machine alone unless ADDR names an interface, as 0.0.0.0:8080; SIGTERM stops it when
what is under way is answered.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.model = args[0]
			return runPredict(o, o.request(cmd.Flags()), cmd)
		},
	}
	o.add(cmd)
	return cmd
}

func (o *predictOptions) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&o.text, "text", "", "a text to classify or with [MASK] to fill in, instead of standard input")
	fs.StringVar(&o.pair, "pair", "", "with --text: the second text of a pair")
	fs.StringVar(&o.question, "question", "", "a question about --context")
	fs.StringVar(&o.context, "context", "", "the text that holds the answer")
	fs.BoolVar(&o.jsonl, "jsonl", false, "standard input holds an object a line")
	fs.IntVar(&o.defaults.TopK, "top-k", o.defaults.TopK, "tokens listed of a mask")
	fs.IntVar(&o.defaults.NBest, "n-best", 0, "answers listed of a question")
	fs.StringVar(&o.vocab, "vocab-file", "", "vocab.txt or tokenizer.json of a model that has none beside it")
	fs.Var(&autoBool{&o.lower}, "do-lower-case", "text is lower-cased: true, false, or auto: as the model's files say")
	fs.Var(&autoBool{&o.negatives}, "version-2-with-negative", "a question may have no answer: true, false, or auto: as the model was trained")
	fs.Float64Var(&o.answers.NullThreshold, "null-score-diff-threshold", 0, `how much better "no answer" must score to be given`)
	fs.IntVar(&o.answers.MaxAnswerLength, "max-answer-length", o.answers.MaxAnswerLength, "pieces of the longest answer")
	fs.IntVar(&o.length, "max-seq-length", 0, "tokens of the longest sequence; 0: as the model was trained, or its positions")
	fs.IntVar(&o.stride, "doc-stride", 0, "pieces between the starts of two windows on a context; 0: as the model was trained")
	fs.IntVar(&o.query, "max-query-length", 0, "pieces of the longest question; 0: as the model was trained")
	fs.Var(&o.tokens, "batch-tokens", "tokens computed at a time, or auto")
	addDevice(fs, &o.device)
	fs.StringVar(&o.address, "serve", "", "answer over HTTP at a port of this machine, or at HOST:PORT")
	fs.Int64Var(&o.server.MaxBody, "max-body", o.server.MaxBody, "of a server: bytes of the longest request")
	fs.IntVar(&o.server.MaxConns, "max-connections", o.server.MaxConns, "of a server: connections at a time")
	fs.DurationVar(&o.server.Timeout, "timeout", o.server.Timeout, "of a server: longest time from a request to its answer")
	fs.IntVar(&o.limits.Queue, "max-queue", o.limits.Queue, "server: maximum number of waiting requests; more are refused with 429")
	fs.DurationVar(&o.limits.MaxWait, "max-wait", o.limits.MaxWait, "server: how long a request waits to share a batch with others")
}

func (o *predictOptions) validate() error {
	var errs []error
	want := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	want(o.tokens <= trainer.MaxBatchTokens, "--batch-tokens %d: must be at most %d", int(o.tokens), trainer.MaxBatchTokens)
	want(o.length >= 0 && o.stride >= 0 && o.query >= 0, "--max-seq-length, --doc-stride, --max-query-length: must not be negative")
	want(o.server.MaxBody >= 1 && o.server.MaxBody <= 1<<30, "--max-body %d: must be from 1 to %d", o.server.MaxBody, 1<<30)
	want(o.server.MaxConns >= 1, "--max-connections %d: must be at least 1", o.server.MaxConns)
	want(o.server.Timeout > 0, "--timeout %v: must be above 0", o.server.Timeout)
	want(o.limits.Queue >= 1, "--max-queue %d: must be at least 1", o.limits.Queue)
	want(o.limits.MaxWait >= 0 && o.limits.MaxWait <= time.Minute, "--max-wait %v: must be from 0 to a minute", o.limits.MaxWait)
	errs = append(errs, o.device.Validate(), o.answers.Validate())
	if err := errors.Join(errs...); err != nil {
		return failure.Usage(err)
	}
	return nil
}

// request is what the flags ask for; nil where they do not.
func (o *predictOptions) request(flags *pflag.FlagSet) *predict.Request {
	var r predict.Request
	for name, field := range map[string]struct {
		to   **string
		from *string
	}{"text": {&r.Text, &o.text}, "pair": {&r.Pair, &o.pair}, "question": {&r.Question, &o.question}, "context": {&r.Context, &o.context}} {
		if flags.Changed(name) {
			*field.to = field.from
		}
	}
	if r.Text == nil && r.Pair == nil && r.Question == nil && r.Context == nil {
		return nil
	}
	return &r
}

// runPredict opens the model and answers what the flags ask for.
func runPredict(o predictOptions, asked *predict.Request, cmd *cobra.Command) (err error) {
	if err := o.validate(); err != nil {
		return err
	}
	if o.address != "" && (asked != nil || o.jsonl) {
		return failure.Usagef("--serve takes its requests over HTTP: leave out --text, --question and --jsonl")
	}
	device, err := o.device.Open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, device.Close()) }()
	q, err := openPredicting(o, device)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, q.model.Close()) }()
	switch {
	case o.address != "":
		return q.serve(cmd.Context(), cmd.ErrOrStderr())
	case asked != nil:
		return q.one(cmd.Context(), *asked, cmd.OutOrStdout())
	}
	return q.lines(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout())
}

// A predicting is a model open for requests.
type predicting struct {
	o         predictOptions
	device    *session.Opened
	predictor *predict.Predictor
	model     trainer.Model
	heads     trainer.Heads
	tokens    int // computed at a time
}

func openPredicting(o predictOptions, device *session.Opened) (q *predicting, err error) {
	m, err := session.OpenModel(o.model)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	tokenizer, err := session.TokenizerFor(m.Folder, o.vocab, o.lower)
	if err != nil {
		return nil, err
	}
	tok, err := session.NewTokenizer(tokenizer)
	if err != nil {
		return nil, err
	}
	q = &predicting{o: o, device: device}
	if q.heads, err = predictHeads(m); err != nil {
		return nil, err
	}
	settings := o.settings(m)
	settings.Tokenizer, settings.Heads, settings.Labels = tok, q.heads, m.Labels
	if q.predictor, err = predict.New(settings); err != nil {
		return nil, failure.Usagef("%s: %w", o.model, err)
	}
	return q, q.openModel(m, settings.MaxSeqLength)
}

// openModel opens the device and loads the weights.
func (q *predicting) openModel(m session.ModelFiles, longest int) (err error) {
	if longest == 0 {
		longest = m.Config.MaxPositions
	}
	q.tokens = max(int(q.o.tokens), longest)
	if q.o.tokens == 0 {
		if q.tokens, err = q.device.AutoTokens(m.Config, q.heads, longest); err != nil {
			return err
		}
	}
	limits := trainer.Options{Tokens: q.tokens, Sequences: q.tokens/2 + 1}
	if q.heads.MLM {
		limits.Masked = maxMasked + predict.MaxMasks
	}
	if q.model, err = q.device.Model(m.Config, q.heads, limits); err != nil {
		return err
	}
	if err := m.Load(q.model, q.o.model); err != nil {
		return errors.Join(err, q.model.Close())
	}
	return nil
}

// maxMasked is how many masks are computed together, a request more: each takes as
// many logits as the vocabulary has tokens.
const maxMasked = 4 * predict.MaxMasks

// predictHeads picks the head to predict with: one of fine-tuning where there is
// one.
func predictHeads(m session.ModelFiles) (trainer.Heads, error) {
	h, err := m.Heads()
	switch {
	case err != nil:
		return h, err
	case h.Span:
		return trainer.Heads{Span: true}, nil
	case h.ClassifierWidth() > 0:
		return trainer.Heads{Labels: h.Labels, Regression: h.Regression}, nil
	case h.MLM:
		return trainer.Heads{MLM: true}, nil
	}
	return h, failure.Usagef("%s has no head that predicts: neither masked LM nor one of fine-tuning", m.Folder)
}

// settings are those a model was trained with, where it is a checkpoint that says
// so, unless the options say otherwise.
func (o *predictOptions) settings(m session.ModelFiles) predict.Settings {
	trained := map[string]string{}
	if m.Phase != nil && m.Phase.State.Options != nil {
		trained = m.Phase.State.Options
	}
	number := func(given int, name string) int {
		if given == 0 {
			fmt.Sscan(trained[name], &given)
		}
		return given
	}
	most := 0 // the limit of a server
	if o.address == "" {
		most = math.MaxInt // one's own text may be as long as it is
	}
	negatives := trained["version_2_with_negative"] == "true"
	if o.negatives != nil {
		negatives = *o.negatives
	}
	return predict.Settings{
		Config: m.Config, MaxSequences: most, MaxSeqLength: number(o.length, "max_seq_length"), DocStride: number(o.stride, "doc_stride"),
		MaxQueryLength: number(o.query, "max_query_length"), Negatives: negatives, Answers: o.answers,
	}
}

// serve answers over HTTP until ctx is done.
func (q *predicting) serve(ctx context.Context, stderr io.Writer) error {
	l, err := net.Listen("tcp", listenAddress(q.o.address))
	if err != nil {
		return failure.Usagef("--serve %s: %w", q.o.address, err)
	}
	q.o.limits.Tokens, q.o.limits.Masked = q.tokens, maxMasked
	q.o.server.Defaults = q.o.defaults
	batcher := serve.NewBatcher(q.model, q.heads, q.o.limits)
	defer batcher.Close()
	fmt.Fprintf(stderr, "train-bert: serving %s at http://%s/v1/%s\n", q.o.model, l.Addr(), q.predictor.Task())
	return serve.New(q.predictor, batcher, q.o.server).Run(ctx, l)
}

// listenAddress adds this machine to an address without a host.
func listenAddress(s string) string {
	if !strings.Contains(s, ":") {
		s = ":" + s
	}
	if strings.HasPrefix(s, ":") {
		s = "127.0.0.1" + s
	}
	return s
}
