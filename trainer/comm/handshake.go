package comm

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"pretext/internal/failure"
	"pretext/internal/trust"
)

// The handshake. C opens the connection, S accepted it:
//
//	C → S  greeting, random number of C     16 + 32 bytes
//	S → C  greeting, random number of S     16 + 32 bytes
//	C → S  proof "client"                   32 bytes
//	S → C  accepted (1) or refused (0), proof "server" or zeros
//
// A proof is a [trust.MAC] of the role ("client" or "server") and both random numbers.
// S sends its proof only if C's proof is right.
const (
	greeting = "pretext ranks 2\n" // ends with the version of the protocol
	nonce    = 32                  // size of a random number in bytes
)

var (
	errSecret   = failure.Usage(errors.New("the ranks do not have the same secret"))
	errProtocol = failure.Usage(errors.New("the ranks run different versions of the program"))
	errStranger = errors.New("not a rank of pretext")
)

// proof returns the sender's proof that it has the secret. role is the sender's role,
// "client" or "server"; client and server are the random numbers of both sides.
func proof(secret []byte, role string, client, server []byte) []byte {
	return trust.MAC(secret, greeting+role, client, server)
}

// readGreeting reads the other side's greeting and returns its random number. The
// error is errStranger for another protocol and errProtocol for another version.
func readGreeting(r io.Reader) ([]byte, error) {
	b := make([]byte, len(greeting)+nonce)
	if _, err := io.ReadFull(r, b[:len(greeting)]); err != nil {
		return nil, err
	}
	const name = len(greeting) - 2 // length of the greeting without version and line end
	switch got := string(b[:len(greeting)]); {
	case got[:name] != greeting[:name]:
		return nil, errStranger
	case got != greeting:
		return nil, errProtocol
	}
	_, err := io.ReadFull(r, b[len(greeting):])
	return b[len(greeting):], err
}

// greet returns a greeting with a new random number, and that number.
func greet() (message, number []byte) {
	b := append([]byte(greeting), make([]byte, nonce)...)
	if _, err := rand.Read(b[len(greeting):]); err != nil {
		panic("BUG: " + err.Error()) // crypto/rand never fails
	}
	return b, b[len(greeting):]
}

// handshakeClient performs the handshake on the side that opened conn, within limit. A
// usage error is final; after any other error a new attempt may succeed.
func handshakeClient(conn net.Conn, secret []byte, limit time.Duration) error {
	conn.SetDeadline(time.Now().Add(limit))
	defer conn.SetDeadline(time.Time{})
	hi, client := greet()
	if _, err := conn.Write(hi); err != nil {
		return err
	}
	server, err := readGreeting(conn)
	if err != nil {
		return err
	}
	if _, err := conn.Write(proof(secret, "client", client, server)); err != nil {
		return err
	}
	var answer [1 + sha256.Size]byte
	if _, err := io.ReadFull(conn, answer[:]); err != nil {
		return fmt.Errorf("handshake: %w", err)
	}
	if answer[0] != 1 || !hmac.Equal(answer[1:], proof(secret, "server", client, server)) {
		return errSecret
	}
	return nil
}

// handshakeServer performs the handshake on the side that accepted conn, within limit.
func handshakeServer(conn net.Conn, secret []byte, limit time.Duration) error {
	conn.SetDeadline(time.Now().Add(limit))
	defer conn.SetDeadline(time.Time{})
	client, err := readGreeting(conn)
	if errors.Is(err, errProtocol) {
		hi, _ := greet()
		conn.Write(hi) // the other side then also reports the other version
	}
	if err != nil {
		return err
	}
	hi, server := greet()
	if _, err := conn.Write(hi); err != nil {
		return err
	}
	var got [sha256.Size]byte
	if _, err := io.ReadFull(conn, got[:]); err != nil {
		return err
	}
	var answer [1 + sha256.Size]byte
	ok := hmac.Equal(got[:], proof(secret, "client", client, server))
	if ok {
		answer[0] = 1
		copy(answer[1:], proof(secret, "server", client, server))
	}
	if _, err := conn.Write(answer[:]); err != nil {
		return err
	}
	if !ok {
		return errSecret
	}
	return nil
}
