package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"strconv"
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

// predictOptions are the options of predict.
type predictOptions struct {
	model, vocab      string
	lower, negatives  *bool
	length            int
	stride, query     int
	answers           squad.PredictOptions
	tokens            int
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
		Short: "Run a model: fill in [MASK], classify, answer questions; also over HTTP",
		Long: `Runs a model on requests and prints one line of JSON for each. A pre-trained model
fills in [MASK]; a model of finetune classify or finetune squad classifies or answers.

  train-bert predict MODEL --text "The cat [MASK] on the mat."
  train-bert predict MODEL --question "Who sat?" --context "The cat sat on the mat."
  train-bert predict MODEL < lines.txt                      one text per line
  train-bert predict MODEL --jsonl < requests.jsonl         one object per line: {"text": …, "pair": …}
  train-bert predict MODEL --serve 8080                     POST /v1/fill-mask, /v1/classify, /v1/answer

Each input line gives one output line, {"error": …} if it cannot be computed. The server
listens on the loopback interface only, unless the address names another one, such as
0.0.0.0:8080. On SIGTERM it answers the requests in progress and stops.`,
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
	fs.StringVar(&o.text, "text", "", "text to classify, or with [MASK] to fill in, instead of standard input")
	fs.StringVar(&o.pair, "pair", "", "with --text: the second text of a pair")
	fs.StringVar(&o.question, "question", "", "a question about --context")
	fs.StringVar(&o.context, "context", "", "the text that contains the answer")
	fs.BoolVar(&o.jsonl, "jsonl", false, "standard input has one JSON object per line")
	fs.IntVar(&o.defaults.TopK, "top-k", o.defaults.TopK, "tokens to list for each mask")
	fs.IntVar(&o.defaults.NBest, "n-best", 0, "answers to list for each question")
	fs.StringVar(&o.vocab, "vocab-file", "", "vocab.txt or tokenizer.json, if the model's folder has none")
	fs.Var(autoBool(&o.lower), "do-lower-case", "lower-case the text: true, false, or auto: as the model's files say")
	fs.Var(autoBool(&o.negatives), "version-2-with-negative", "questions may have no answer: true, false, or auto: as the model was trained")
	fs.Float64Var(&o.answers.NullThreshold, "null-score-diff-threshold", 0, `give no answer if the score of "no answer" exceeds the best answer's by more than this`)
	fs.IntVar(&o.answers.MaxAnswerLength, "max-answer-length", o.answers.MaxAnswerLength, "maximum tokens of an answer")
	fs.IntVar(&o.length, "max-seq-length", 0, "maximum tokens of a sequence; 0: as the model was trained, or its number of positions")
	fs.IntVar(&o.stride, "doc-stride", 0, "tokens between the starts of two windows of a context; 0: as the model was trained")
	fs.IntVar(&o.query, "max-query-length", 0, "maximum tokens of a question; 0: as the model was trained")
	fs.Var(tokenCount(&o.tokens), "batch-tokens", "maximum number of tokens in a batch; auto: a number suited to the device")
	addDevice(fs, &o.device)
	fs.StringVar(&o.address, "serve", "", "answer over HTTP: a port on the loopback interface, or HOST:PORT")
	fs.Int64Var(&o.server.MaxBody, "max-body", o.server.MaxBody, "server: maximum bytes of a request")
	fs.IntVar(&o.server.MaxConns, "max-connections", o.server.MaxConns, "server: maximum number of connections")
	fs.DurationVar(&o.server.Timeout, "timeout", o.server.Timeout, "server: maximum time from a request to its answer")
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
	want(o.tokens <= trainer.MaxBatchTokens, "--batch-tokens %d: must be at most %d", o.tokens, trainer.MaxBatchTokens)
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

// request returns the request given by flags, or nil if there is none.
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

// runPredict opens the model and answers requests: the one given by flags, or those on
// standard input or from HTTP clients.
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

// predicting holds an open model and what it needs to answer requests.
type predicting struct {
	o         predictOptions
	device    *session.Opened
	predictor *predict.Predictor
	model     trainer.Model
	heads     trainer.Heads
	tokens    int // maximum tokens computed together
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
	q.tokens = max(q.o.tokens, longest)
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
	if err := m.Load(q.model, q.heads, q.o.model); err != nil {
		return errors.Join(err, q.model.Close())
	}
	return nil
}

// maxMasked limits the number of masks in a batch: a batch that has reached it takes no
// further request. Each mask needs one logit for every token of the vocabulary.
const maxMasked = 4 * predict.MaxMasks

// predictHeads returns the head to predict with: the fine-tuned head if the model has one,
// otherwise masked LM.
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
	return h, failure.Usagef("%s has no head to predict with: want masked LM, or a fine-tuned model", m.Folder)
}

// settings returns the settings for predictions. If the model is a checkpoint, options that
// are not given have the values of its training.
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
	most := 0 // 0: the limit for requests to a server
	if o.address == "" {
		most = math.MaxInt // the user's own text may have any length
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
	address := q.o.address
	if !strings.Contains(address, ":") {
		address = ":" + address
	}
	if strings.HasPrefix(address, ":") {
		address = "127.0.0.1" + address // the loopback interface
	}
	_, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return failure.Usagef("--serve %s: must be a port from 0 to 65535, or HOST:PORT", q.o.address)
	}
	l, err := net.Listen("tcp", address)
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
