package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"pretext/internal/store"
	"pretext/sharding"
	"pretext/trainer"
	"pretext/trainer/checkpoint"
	"pretext/trainer/comm"
)

// logName is the directory in Out for the logs of all ranks except rank 0.
const logName = "log"

// ofThisRank sets the options that differ between the ranks of a machine: each rank
// gets its own GPU, or its part of the CPU cores.
func (o *Options) ofThisRank() {
	o.Ranks.Ranks = max(1, o.Ranks.Ranks)
	if o.Ranks.Ranks == 1 {
		return
	}
	if o.Device.Name == deviceCUDA {
		o.Device.Name = fmt.Sprintf("%s:%d", deviceCUDA, o.Ranks.LocalRank)
	}
	if o.Device.Threads == 0 && o.Ranks.LocalRanks > 1 {
		o.Device.Threads = max(1, runtime.GOMAXPROCS(0)/o.Ranks.LocalRanks)
	}
}

// join connects this process to the other ranks, whose options must be the same.
func (o *Options) join(ctx context.Context) (*comm.Group, error) {
	r := o.Ranks
	if r.Log == nil {
		r.Log = o.Log
	}
	if r.Ranks > 1 {
		path, err := os.Executable()
		if err != nil {
			return nil, err
		}
		folder, err := store.Open(filepath.Dir(path))
		if err != nil {
			return nil, err
		}
		_, program, err := sharding.HashFile(ctx, folder, filepath.Base(path))
		if err != nil {
			return nil, err
		}
		r.Fingerprints = o.fingerprints(program[:16])
	}
	return comm.Join(ctx, r)
}

// fingerprints returns the options that determine what a run computes, by flag
// or by name. program is the hash of the program.
func (o *Options) fingerprints(program string) map[string]string {
	kind, _, _ := o.Device.parse() // an error is found when the device is opened
	values := map[string]any{
		"program": program, "--no-nsp": o.NoNSP, "--max-seq-length": o.MaxSeqLength, "--attend-across": o.AttendAcross,
		"--train-batch-size": o.TrainBatchSize, "--micro-batch-tokens": o.MicroBatchTokens, "--learning-rate": o.LearningRate,
		"--num-train-steps": o.NumTrainSteps, "--num-warmup-steps": o.NumWarmupSteps, "--schedule": o.Schedule, "--optimizer": string(o.Optimizer),
		"--dropout": o.Dropout, "optimizer": o.rule(), "--weight-decay": o.WeightDecay, "--seed": o.Seed, "--save-checkpoints-steps": o.SaveCheckpointsSteps, "--eval-examples": o.EvalExamples,
		"--on-damage": o.OnDamage, "masking": o.Masking, "--zero1": o.Zero1, "--device": kind, "--precision": o.Device.precision(), "--deterministic": o.Device.Deterministic,
	}
	for _, p := range trainer.ScheduleParameters() {
		values["--"+p.Name] = p.Field(&o.ScheduleOptions)
	}
	out := map[string]string{}
	for name, v := range values {
		if s, ok := v.(string); ok {
			out[name] = s
			continue
		}
		b, err := json.Marshal(v)
		if err != nil {
			panic("BUG: " + err.Error())
		}
		out[name] = string(b)
	}
	return out
}

// verdict returns err. If another rank caused it, verdict returns only that
// rank's error, so that all ranks report the same line.
func verdict(err error) error {
	var lost *comm.RankError
	if errors.As(err, &lost) {
		return lost
	}
	return err
}

// leads reports whether this is rank 0, which reads and writes the output directory.
func (r *run) leads() bool { return r.group.Rank() == 0 }

// openLog opens the log of a rank that is not rank 0.
func (r *run) openLog() error {
	dir := filepath.Join(r.o.Out, logName)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(dir, fmt.Sprintf("rank-%04d.log", r.group.Rank())), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	r.log = f
	r.add(f)
	_, err = fmt.Fprintf(f, "%s rank %d of %d begins\n", time.Now().Format(time.RFC3339), r.group.Rank(), r.group.Size())
	return err
}

// A settingsMessage holds the settings of a run, which rank 0 determines for
// all ranks.
type settingsMessage struct {
	Config trainer.Config   `json:"config"`
	Modern *trainer.Modern  `json:"modern"` // of Config, whose JSON is BERT's alone
	State  checkpoint.State `json:"state"`  // including the progress
}

// settings determines the model and the state of the run: rank 0 takes them
// from a checkpoint or from the options, the others from rank 0's message.
func (r *run) settings() error {
	var message []byte
	if r.leads() {
		if err := r.resume(); err != nil {
			return err
		}
		if r.from == nil {
			if err := r.begin(); err != nil {
				return err
			}
		}
		r.first = progressOf(r.from)
		state := r.state
		state.Progress = r.first
		var err error
		if message, err = json.Marshal(settingsMessage{r.config, r.config.Modern, state}); err != nil {
			return err
		}
	}
	message, err := r.fromRank0(message)
	if err != nil || r.leads() {
		return err
	}
	var m settingsMessage
	if err := json.Unmarshal(message, &m); err != nil {
		return err
	}
	r.config, r.first = m.Config, m.State.Progress
	r.config.Modern = m.Modern
	r.state = m.State
	r.state.Progress = trainer.Progress{}
	return nil
}

// fromRank0 sends rank 0's message to all ranks and returns it.
func (r *run) fromRank0(message []byte) ([]byte, error) {
	all, err := r.group.Gather(message)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// inTurn runs f on rank 0, then on the first rank of each other machine, then on the
// rest. So a cache is filled once per disk, whether or not the machines share a disk.
func (r *run) inTurn(f func() error) error {
	turn := 2
	switch {
	case r.leads():
		turn = 0
	case r.o.Ranks.LocalRank == 0:
		turn = 1
	}
	for i := range 3 {
		if i == turn {
			if err := f(); err != nil {
				return err
			}
		}
		if err := r.group.Barrier(); err != nil {
			return err
		}
	}
	return nil
}

// A damagedSource notes the corrupt examples that a step skips once the step begins. It
// checks that all ranks skip the same ones: a rank may have a bad copy of the data.
type damagedSource struct{ *run }

// skipping are the corrupt examples of a step: their number, and the first of them.
type skipping struct {
	places []Damage
	n      int64
}

// Step implements [trainer.Source].
func (s damagedSource) Step(position int64, sequences int) (trainer.Share, error) {
	share, err := s.source.Step(position, sequences)
	if err != nil {
		return share, err
	}
	var of skipping
	of.places, of.n = s.damage.take()
	all := s.damage.hash.Sum64()
	share.Begin = func() error {
		s.skipping = of
		if s.group.Size() == 1 {
			return nil
		}
		return s.group.Agree(map[string]string{"corrupt examples so far": fmt.Sprintf("%d, hash %x", of.n, all)})
	}
	return share, nil
}
