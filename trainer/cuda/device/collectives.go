package device

import "context"

// Collectives are operations between the devices of several ranks, with the
// semantics of NCCL. A [Device] may implement them.
//
//	id, err := d.UniqueID()                      // on one rank, which sends it to all others
//	c, err := d.Connect(ctx, id, rank, ranks)    // on all ranks
//	err = d.Collect(s, c, device.Collective{Kind: device.AllReduce, Type: device.Float32, Send: p, Receive: p, N: n})
//	err = d.Disconnect(c)
//
// Every rank has its own device. All ranks must queue the same collectives on a
// communicator, in the same order. In a stream, a collective begins when the
// previous work is done. It ends when all ranks have queued the collective and the
// data has arrived.
type Collectives interface {
	// Supported returns why the device has no collectives here; nil if it has. If
	// the library is missing or too old, the error wraps trainer.ErrUnavailable and
	// says what to do.
	Supported() error

	// UniqueID returns an ID of [UniqueIDBytes] bytes for one communicator. Its
	// error may be that of Supported.
	UniqueID() ([]byte, error)

	// Connect creates a communicator. It waits until all ranks have called it with
	// the same ID and number of ranks; it gives up when ctx is done. The
	// communicator lives until Disconnect or Close.
	Connect(ctx context.Context, id []byte, rank, ranks int) (Communicator, error)

	// Collect queues collectives in s as one group: they may run in any order. After
	// an error the communicator is unusable.
	Collect(s Stream, c Communicator, group ...Collective) error

	// AsyncError returns the error of a communicator's queued work, or the cause
	// passed to Abort; nil if there is none. It may be called at any time, by any
	// goroutine.
	AsyncError(c Communicator) error

	// Abort ends a communicator's queued collectives without results, because other
	// ranks may never take part in them. A call that waits for their streams then
	// returns an error, and all later calls with c return cause. Abort may be called
	// at any time, by any goroutine.
	Abort(c Communicator, cause error)

	// Disconnect waits for the communicator's queued work and frees it. If other
	// ranks do not disconnect within a few seconds, it aborts the communicator.
	Disconnect(c Communicator) error
}

// UniqueIDBytes is the length of an ID that [Collectives.UniqueID] returns.
const UniqueIDBytes = 128

// A Communicator connects a device with the devices of other ranks. Zero is no communicator.
type Communicator uintptr

// A CollectiveKind is a kind of collective.
type CollectiveKind uint8

// The collectives. Sums are computed in the type of the elements or better; every
// rank gets the same bits.
const (
	AllReduce     CollectiveKind = iota // Receive (N) = sum of Send (N) over the ranks
	ReduceScatter                       // Receive (N) = part of this rank of the sum of Send (ranks, N)
	AllGather                           // Receive (ranks, N) = Send (N) of every rank
	Broadcast                           // Receive (N) = Send (N) of Root; other ranks ignore Send
)

// String returns the collective's name.
func (k CollectiveKind) String() string {
	return [...]string{"all-reduce", "reduce-scatter", "all-gather", "broadcast"}[k]
}

// A Collective is one collective operation. In place means: for AllReduce and
// Broadcast, Send = Receive; for ReduceScatter, Receive is this rank's part of Send;
// for AllGather, Send is this rank's part of Receive. Otherwise the two must not
// overlap.
type Collective struct {
	Kind          CollectiveKind
	Type          DataType
	Send, Receive Pointer
	N             int // elements; see the kinds
	Root          int // rank whose data Broadcast sends
}
