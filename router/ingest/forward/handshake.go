package forward

import (
	"crypto/rand"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/hex"
	"errors"

	"github.com/tinylib/msgp/msgp"
)

// handshake checks that a client knows the shared key, and proves to the client that the server knows it too.
type handshake struct {
	key, name string
	// nonce is hexadecimal, because some clients read it as a text. It is sent as bytes.
	nonce []byte
}

func newHandshake(key, name string) *handshake {
	var random [16]byte
	_, _ = rand.Read(random[:]) // it never fails
	return &handshake{key: key, name: name, nonce: hex.AppendEncode(nil, random[:])}
}

// helo returns the greeting of the server.
func (h *handshake) helo() []byte {
	b := msgp.AppendArrayHeader(nil, 2)
	b = msgp.AppendString(b, "HELO")
	b = msgp.AppendMapHeader(b, 3)
	b = msgp.AppendBytes(msgp.AppendString(b, "nonce"), h.nonce)
	b = msgp.AppendString(msgp.AppendString(b, "auth"), "")
	return msgp.AppendBool(msgp.AppendString(b, "keepalive"), true)
}

var errPing = errors.New("the client sent no PING, although the listener has a shared key")

// ping parses the client's message and returns the reply. It returns an error if the client does not know the key.
func (h *handshake) ping(b []byte) (pong []byte, err error) {
	n, b, err := msgp.ReadArrayHeaderBytes(b)
	if err != nil || n != 6 {
		return h.pong("", errPing), errPing
	}
	var parts [4][]byte // PING, the client's name, salt, digest
	for i := range parts {
		if parts[i], b, err = readText(b); err != nil {
			return h.pong("", errPing), errPing
		}
	}
	if string(parts[0]) != "PING" {
		return h.pong("", errPing), errPing
	}
	salt := string(parts[2])
	if subtle.ConstantTimeCompare([]byte(h.digest(salt, string(parts[1]))), parts[3]) != 1 {
		err = errors.New("shared_key mismatch")
	}
	return h.pong(salt, err), err
}

// pong returns the reply to a PING.
func (h *handshake) pong(salt string, err error) []byte {
	reason, digest := "", ""
	if err != nil {
		reason = err.Error()
	} else {
		digest = h.digest(salt, h.name)
	}
	b := msgp.AppendArrayHeader(nil, 5)
	b = msgp.AppendBool(msgp.AppendString(b, "PONG"), err == nil)
	for _, text := range []string{reason, h.name, digest} {
		b = msgp.AppendString(b, text)
	}
	return b
}

// digest returns the proof that the peer with that name knows the key.
func (h *handshake) digest(salt, name string) string {
	sum := sha512.New()
	for _, part := range []string{salt, name, string(h.nonce), h.key} {
		_, _ = sum.Write([]byte(part)) // writing to a hash does not fail
	}
	return hex.EncodeToString(sum.Sum(nil))
}
