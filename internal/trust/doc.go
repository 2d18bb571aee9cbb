// Package trust decides whom a listener of pretext serves: a peer that proves that it
// has the same secret, or a process of the same user on the same machine.
//
//	secret, err := trust.MakeSecret(path)      // a file of mode 0600, made if there is none
//	sum := trust.MAC(secret, "pretext job 1", name) // what only its holders can compute
//	err = trust.SameUser(conn)                 // without a secret: who is at the other end
//
// The ranks of a training run ([pretext/trainer/comm]) prove the secret to each other
// before anything else is sent. Flink's TaskManagers cannot: Beam's protocol has no
// place for it. A job brings a MAC instead, see [pretext/pipeline/flink].
package trust
