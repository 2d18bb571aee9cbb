// Package trust authenticates the peers of pretext's listeners. A peer is trusted if it
// proves that it has the same secret, or if it is a process of the same user on the same
// machine.
//
//	secret, err := trust.MakeSecret(path)      // a file of mode 0600, made if there is none
//	sum := trust.MAC(secret, "pretext job 1", name) // nobody can compute it without the secret
//	err = trust.SameUser(conn)                 // without a secret: checks the user at the other end
//
// The ranks of a training run ([pretext/trainer/comm]) prove to each other that they have
// the secret, before they send anything else. Flink's TaskManagers cannot do this, because
// Beam's protocol has no field for it. Instead, a job contains a MAC, see
// [pretext/pipeline/flink].
package trust
