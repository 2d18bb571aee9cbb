package session

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"iter"
	"slices"

	"pretext/trainer"
	"pretext/trainer/comm"
)

// shareModel calls load on rank 0 only, to load its model, and copies the loaded
// weights, moments and counters to all other ranks.
func (r *run) shareModel(load func(trainer.Model) error) error {
	if r.group.Size() == 1 {
		return load(r.model)
	}
	s := shared{Model: r.model, group: r.group, specs: trainer.Tensors(r.config, r.state.Heads)}
	share := s.receive
	if r.leads() {
		share = func() error {
			if err := load(s); err != nil {
				return err
			}
			return s.send(tensorHeader{kind: noMore})
		}
	}
	if err := share(); err != nil {
		return err
	}
	message, err := json.Marshal(r.model.State())
	if err != nil {
		return err
	}
	if message, err = r.fromRank0(message); err != nil {
		return err
	}
	var state trainer.State
	if err := json.Unmarshal(message, &state); err != nil {
		return err
	}
	r.model.SetState(state)
	return nil
}

// shared is the model on rank 0. Its Load also sends every tensor to the other ranks as
// soon as it is read. Sending them later is not possible: with ShardOptimizer, the model
// holds only a part of the moments.
type shared struct {
	trainer.Model
	group *comm.Group
	specs []trainer.TensorSpec
}

// A tensorHeader precedes each tensor that is sent, and ends each Load.
type tensorHeader struct {
	kind  trainer.Kind
	index int // in shared.specs; endOfKind: no further tensor in this Load
}

const (
	endOfKind = -1
	noMore    = trainer.Kind(-1) // no further Load follows
)

func (s shared) send(h tensorHeader) error {
	b := binary.LittleEndian.AppendUint64(nil, uint64(h.kind))
	return s.group.Broadcast(binary.LittleEndian.AppendUint64(b, uint64(h.index)), 0)
}

func (s shared) next() (h tensorHeader, err error) {
	b := make([]byte, 16)
	err = s.group.Broadcast(b, 0)
	return tensorHeader{trainer.Kind(binary.LittleEndian.Uint64(b)), int(binary.LittleEndian.Uint64(b[8:]))}, err
}

// broadcast sends rank 0's values to all ranks.
func (s shared) broadcast(x []float32) error {
	bounds := make([]int, s.group.Size()+1) // rank 0's part is all of x
	for k := range s.group.Size() {
		bounds[k+1] = len(x)
	}
	return s.group.AllGather(trainer.Float32s(x), bounds)
}

// Load implements trainer.Model.
func (s shared) Load(k trainer.Kind, tensors iter.Seq2[trainer.Tensor, error]) (trainer.LoadReport, error) {
	var sending error
	report, err := s.Model.Load(k, func(yield func(trainer.Tensor, error) bool) {
		for t, err := range tensors {
			i := slices.IndexFunc(s.specs, func(spec trainer.TensorSpec) bool { return spec.Name == t.Name && spec.Size() == len(t.Data) })
			if err == nil && i >= 0 { // otherwise Load reports the error
				if sending = errors.Join(s.send(tensorHeader{k, i}), s.broadcast(t.Data)); sending != nil {
					return
				}
			}
			if !yield(t, err) {
				return
			}
		}
	})
	if err = errors.Join(sending, err); err != nil {
		return report, err
	}
	return report, s.send(tensorHeader{k, endOfKind})
}

// receive loads what rank 0 sends.
func (s shared) receive() error {
	for {
		h, err := s.next()
		if err != nil || h.kind == noMore {
			return err
		}
		if _, err := s.Model.Load(h.kind, s.received(h)); err != nil {
			return err
		}
	}
}

// received yields the tensors that rank 0 sends in one Load. h is the header of the
// first tensor.
func (s shared) received(h tensorHeader) iter.Seq2[trainer.Tensor, error] {
	return func(yield func(trainer.Tensor, error) bool) {
		for h.index != endOfKind {
			spec := s.specs[h.index]
			t := trainer.Tensor{Name: spec.Name, Shape: spec.Shape, Data: make([]float32, spec.Size())}
			err := s.broadcast(t.Data)
			if err == nil {
				h, err = s.next()
			}
			if !yield(t, err) || err != nil {
				return
			}
		}
	}
}
