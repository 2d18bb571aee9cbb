package verify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"slices"

	"golang.org/x/sync/errgroup"

	"pretext/internal/extsort"
	"pretext/records/pretrain"
	"pretext/sharding"
)

// A memoryError reports that making a shard again needs more memory than available.
type memoryError struct {
	need, have int64
	path       string
}

func (e *memoryError) Error() string {
	return fmt.Sprintf("%s: making its shards again needs about %d MB, --memory allows %d MB: give more --memory", e.path, (e.need+999_999)/1_000_000, e.have/1_000_000)
}

// DoesNotFit marks the error for exit codes.
func (e *memoryError) DoesNotFit() bool { return true }

// remake makes shards of a folder again and compares their records with those in the
// folder.
func (v *verifier) remake(ctx context.Context, r *remakeSource) error {
	path := r.stage.String()
	tokenizer, err := r.tokenizer(ctx)
	if tokenizer == nil || err != nil {
		return err
	}
	if n := r.made.Shards; n < 1 || n > len(r.manifest.Files) {
		v.problem(path, sharding.Problem{File: sharding.ManifestName, Reason: fmt.Sprintf("its options say %d shards, it lists %d files", n, len(r.manifest.Files))})
		return nil
	}
	shards := v.opts.Remake.draw(r.made.Shards)
	atOnce, err := v.atOnce(ctx, r, shards, tokenizer.Wide())
	if errors.Is(err, sharding.ErrFormat) || errors.Is(err, fs.ErrNotExist) {
		return nil // reported with the plan
	}
	if err != nil {
		return err
	}
	makers := make(chan *sharding.ShardMaker, atOnce) // idle makers
	reports := make([]fileReport, len(shards))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for i, shard := range shards {
		g.Go(func() error {
			c := remaking{remakeSource: r, shard: shard, report: &reports[i]}
			c.report.most = v.opts.MaxProblems
			select {
			case c.maker = <-makers:
			default:
				var err error
				if c.maker, err = r.newMaker(tokenizer, v.opts.Temp); err != nil {
					return err
				}
			}
			defer func() { makers <- c.maker }()
			return c.run(ctx)
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	v.result.Remade += len(shards)
	for _, report := range reports {
		v.take("", report)
	}
	return nil
}

// draw draws from n shards those to make again. It returns their indexes in ascending
// order.
func (r Remake) draw(n int) []int {
	drawn := rand.New(rand.NewPCG(uint64(r.Seed), 0)).Perm(n)
	if r.Shards >= 0 {
		drawn = drawn[:min(r.Shards, n)]
	}
	slices.Sort(drawn)
	return drawn
}

// newMaker returns a [sharding.ShardMaker] for the shards. It does not compress, because
// only records are compared, not files.
func (r *remakeSource) newMaker(t *sharding.Tokenizer, temp string) (*sharding.ShardMaker, error) {
	o := r.made
	o.Compression = sharding.CompressionNone
	spill := extsort.TempSpill(temp)
	return sharding.NewShardMaker(t, o, pretrain.Scratch{MemoryBytes: sharding.MinScratch,
		Create: func() (pretrain.ScratchFile, error) { return spill() }})
}

// atOnce returns how many of the given shards can be made concurrently in the available
// memory.
func (v *verifier) atOnce(ctx context.Context, r *remakeSource, shards []int, wide bool) (int, error) {
	largest := int64(1)
	for _, shard := range shards {
		t, err := r.tasks(ctx, shard)
		if err != nil {
			return 0, err
		}
		largest = max(largest, t.Size().Memory(wide))
	}
	have := v.opts.Remake.Memory
	if largest > have {
		return 0, &memoryError{largest, have, r.stage.String()}
	}
	return int(min(int64(v.opts.Workers), have/largest)), nil
}

// A remaking makes one shard again.
type remaking struct {
	*remakeSource
	shard  int
	maker  *sharding.ShardMaker
	report *fileReport
}

func (c *remaking) run(ctx context.Context) error {
	t, err := c.tasks(ctx, c.shard)
	if err == nil {
		err = c.maker.Read(ctx, t, c.documents, func(int64) {})
	}
	if isDamage(err) {
		c.report.add(sharding.Problem{File: c.stage.Path(sharding.ManifestName), Reason: fmt.Sprintf("shard %d cannot be made again: %v", c.shard, err)})
		return nil
	}
	if err != nil {
		return err
	}
	for i, split := range c.made.Splits() {
		if c.split != "" && c.split != split {
			continue
		}
		if err := c.compareSplit(ctx, i, c.made.ShardFiles(split, c.shard)); err != nil {
			return err
		}
	}
	return nil
}

// compareSplit makes the records of a split and, at the same time, compares them with the
// files of the split.
func (c *remaking) compareSplit(ctx context.Context, split int, names []sharding.ShardName) error {
	g, making := errgroup.WithContext(ctx) // valid only while records are made, not for reading side-cars
	comparisons := make([]*comparison, len(names))
	outs := make([]io.Writer, len(names))
	var ends []*io.PipeWriter
	for i, name := range names {
		in, out := io.Pipe()
		comparisons[i] = c.newComparison(name)
		outs[i], ends = out, append(ends, out)
		g.Go(func() error {
			err := comparisons[i].run(making, in)
			in.CloseWithError(err) // so that Make does not block on the pipe
			return err
		})
	}
	made, err := c.maker.Make(making, split, names, outs)
	for _, end := range ends {
		end.CloseWithError(err) // nil signals the end of the records
	}
	waited := g.Wait()
	if err == nil {
		err = waited // an error of Make has priority
	}
	if err != nil {
		return err
	}
	for i := range names {
		if err := comparisons[i].sideCar(ctx, made[i]); err != nil {
			return err
		}
		c.report.take(comparisons[i].findings)
	}
	return nil
}
