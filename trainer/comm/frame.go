package comm

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
)

// A frame on a control connection is its kind (1 byte), the length of its payload
// (4 bytes, little-endian) and the payload.
const (
	frameHeader = 5
	maxPayload  = 1 << 20 // bytes; enough for the addresses of thousands of ranks
)

// A frameKind is the first byte of a frame.
type frameKind byte

// The kinds of frames. Each comment begins with the payload. A type name means JSON of
// this type.
const (
	frameBeat    frameKind = iota + 1 // empty: the sender is alive
	frameHello                        // hello: the first frame of a connection
	frameWelcome                      // welcome: from rank 0, when all ranks are there
	frameFailure                      // failureMessage: why the run ends, or which rank the sender cannot reach
	frameBye                          // number of completed collectives (8 bytes): the sender has finished
	frameByeSeen                      // empty: the answer to frameBye
)

// appendFrame appends a frame to dst. It panics if the payload is longer than
// maxPayload.
func appendFrame(dst []byte, kind frameKind, payload []byte) []byte {
	if len(payload) > maxPayload {
		panic("BUG: a frame over 1 MiB")
	}
	dst = append(dst, byte(kind))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(payload)))
	return append(dst, payload...)
}

// readFrame reads a frame. Its payload is a new slice of at most maxPayload bytes.
// The error is io.EOF only before the first byte of a frame.
func readFrame(r io.Reader) (frameKind, []byte, error) {
	var h [frameHeader]byte
	if _, err := io.ReadFull(r, h[:]); err != nil {
		return 0, nil, err
	}
	kind, n := frameKind(h[0]), binary.LittleEndian.Uint32(h[1:])
	if kind < frameBeat || kind > frameByeSeen {
		return 0, nil, fmt.Errorf("malformed message: kind %d", kind)
	}
	if n > maxPayload {
		return 0, nil, fmt.Errorf("malformed message: %d bytes", n)
	}
	payload := make([]byte, n)
	if _, err := io.ReadFull(r, payload); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return 0, nil, err
	}
	return kind, payload, nil
}

// A hello introduces the side that opened a connection.
type hello struct {
	Ring         string            `json:"ring,omitempty"` // on a connection of the ring: welcome.Run; "": a control connection
	Rank         int               `json:"rank"`
	Ranks        int               `json:"ranks"`
	Host         string            `json:"host"`
	Port         int               `json:"port"` // port on which the sender listens for the previous rank of the ring
	Fingerprints map[string]string `json:"fingerprints,omitempty"`
}

// A welcome holds the addresses of all ranks, by rank.
type welcome struct {
	Run   string `json:"run"` // random ID of the run; hello.Ring repeats it
	Peers []peer `json:"peers"`
}

// A peer is the address of a rank.
type peer struct {
	Host string `json:"host"`
	IP   string `json:"ip"` // "" for rank 0: each rank reuses the address of its control connection
	Port int    `json:"port"`
}

// A failureMessage names the rank whose failure ends the run or, if Suspect is set, a
// rank that the sender cannot reach.
type failureMessage struct {
	Rank    int    `json:"rank"`
	Host    string `json:"host"`
	Reason  string `json:"reason"`
	Kind    string `json:"kind"`
	Suspect bool   `json:"suspect,omitempty"` // not final: rank 0 decides whether the run ends
}

// encode returns a frame with v as JSON.
func encode(kind frameKind, v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return appendFrame(nil, kind, b)
}

// decode parses a JSON payload into v.
func decode(payload []byte, v any) error {
	if err := json.Unmarshal(payload, v); err != nil {
		return fmt.Errorf("malformed message: %w", err)
	}
	return nil
}
