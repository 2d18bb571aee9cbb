// Package comm connects the ranks of a training run over TCP. It implements
// [trainer.Comm] for processes on one machine or on many.
//
//	o, err := comm.FromEnv(os.Getenv) // RANK, WORLD_SIZE and so on, as set by torchrun
//	o.Fingerprints = map[string]string{"seed": "1"}
//	group, err := comm.Join(ctx, o) // on every rank
//	defer group.Close()
//	err = group.AllReduce(x) // every rank now has the sums
//
// # Connections
//
// Rank 0 listens at MASTER_ADDR:MASTER_PORT. Every other rank opens a control
// connection to rank 0. When all are connected, each rank connects to the next rank
// (rank + 1, modulo the number of ranks). This ring carries the data. Then all ranks
// stop listening.
//
// A connection begins with a handshake, in which both sides prove that they have
// the same secret (HMAC-SHA256 over fresh random numbers of both sides). Until then,
// a rank reads at most 80 bytes of the connection, for at most ten seconds. It refuses
// a connection without this proof, and the run continues.
//
// Without a secret, ranks listen on loopback addresses only. Each side asks the
// kernel (Linux) for the user of the process at the other end, which must be the
// same user or root.
//
// A rank sends nothing about the run before the other side has passed these checks.
// The secret only authenticates ranks. It does not encrypt or sign the data, so the
// network between the ranks must be trusted.
//
// In their hello message, ranks send a map of fingerprints: the seed, a hash of the
// data, the version of the program. If a fingerprint differs from rank 0's, all ranks
// end with an error that names it and both values.
//
// # Failures
//
// Ranks send a heartbeat every second, even while they compute. A collective has no
// timeout: rank 0 may write a checkpoint for an hour. A rank is lost if its
// connections close (it died), or if it sends no heartbeat for twelve seconds (it was
// stopped or the network is down; see [Options.Silence]). Rank 0 then tells all other
// ranks which rank was lost, so every rank ends with the same [*RankError]. The other
// ranks detect the loss of rank 0 themselves. A rank that ends because of its own
// error tells the others by [Group.Abort].
//
// # Order of sums
//
// A sum over R ranks is computed in an order that depends only on R and the bounds.
// Rank k receives part k, whose values are x(k+1) + x(k+2) + … + x(k), added from
// left to right; x(r) is the value of rank r modulo R. [Group.AllReduce] cuts x of n
// values into parts that begin at k·n/R. All ranks get the same bits, and so does a
// repeated call.
//
// # Bytes
//
// For [Group.ReduceScatter] and for [Group.AllGather], a rank sends and receives
// (R-1)/R of the buffer, and a header of 32 bytes. Data is sent in chunks of 256 KiB,
// which are passed on as soon as they arrive. Values are little-endian. A group needs
// memory for one chunk in addition to the caller's buffer, and makes no copies.
package comm
