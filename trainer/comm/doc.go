// Package comm connects the ranks of a training run over TCP. It implements
// [trainer.Comm] for processes on one machine or on many.
//
//	o, err := comm.FromEnv(os.Getenv) // as torchrun and others set RANK, WORLD_SIZE, …
//	o.Fingerprints = map[string]string{"seed": "1"}
//	group, err := comm.Join(ctx, o) // on every rank
//	defer group.Close()
//	err = group.AllReduce(x) // every rank now has the sums
//
// # Connections
//
// Rank 0 listens at MASTER_ADDR:MASTER_PORT. Every other rank keeps a control
// connection to it. When all are connected, each rank connects to the next one
// (rank + 1, modulo the number of ranks): this ring carries the data. Then all
// ranks stop listening.
//
// A connection begins with a handshake, in which both sides prove that they have
// the same secret (HMAC-SHA256 over fresh random numbers of both sides). Before
// that, a rank reads at most 80 bytes of a connection, for at most ten seconds. Any
// other connection is refused, and the run continues. Without a secret, ranks listen
// on loopback addresses only, and each side asks the kernel whose process is at the other
// end (Linux): it must be the same user's, or root's. A rank tells nothing about the run
// before that. The secret only authenticates ranks. It does not encrypt or sign the data, so the network
// between the ranks must be trusted.
//
// In their hello, ranks send a map of fingerprints: the seed, a hash of the data,
// the version of the program. If one differs from rank 0's, all ranks end with an
// error that names the field and both values.
//
// # Failures
//
// Ranks send a heartbeat every second, even while they compute. There is no timeout
// for a collective: rank 0 may write a checkpoint for an hour. A rank is lost if its
// connections close, because it died, or if it sends no heartbeat for twelve seconds
// ([Options.Silence]), because it was stopped or the network is down. Rank 0 then tells all other ranks
// which rank was lost, so that every rank ends with the same [*RankError]. The other
// ranks detect the loss of rank 0 themselves. A rank that ends because of its own
// error tells the others by [Group.Abort].
//
// # Order of sums
//
// A sum over R ranks is computed in one order that depends on nothing but R and
// the bounds. The values of part k are x(k+1) + x(k+2) + … + x(k), added from
// left to right, with ranks modulo R; rank k receives them. [Group.AllReduce] cuts
// x of n values into parts that begin at k·n/R. All ranks get the same bits, and
// a repeated call gives them again.
//
// # Bytes
//
// A rank sends and receives (R-1)/R of a buffer for [Group.ReduceScatter], the
// same for [Group.AllGather], in chunks of 256 KiB that are passed on as soon as
// they arrive; and a header of 32 bytes per call. Values are little-endian. A group
// needs one chunk of memory besides the caller's buffer and makes no copies.
package comm
