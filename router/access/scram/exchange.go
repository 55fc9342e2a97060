package scram

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"hash"
	"strings"
)

// The names of the mechanisms. Plus binds the exchange to the TLS connection.
const (
	Mechanism     = "SCRAM-SHA-256"
	MechanismPlus = "SCRAM-SHA-256-PLUS"
)

// ErrWrong means that the client does not know the password.
var ErrWrong = errors.New("scram: the password is wrong")

// MalformedError is the reason why a message is malformed.
type MalformedError string

func (e MalformedError) Error() string { return "malformed SCRAM message: " + string(e) }

const (
	nonceBytes = 18
	// maxNonce limits the length of the nonce of a client.
	maxNonce = 1024
)

// Exchange is the server's side of one sign-in.
type Exchange struct {
	keys    Keys
	binding []byte // of the TLS connection; nil means no TLS
	nonce   string // of the server

	header      string // gs2-header of the client
	clientFirst string // without the header
	serverFirst string
	whole       string // nonce of client and server
	bound       bool
}

// NewExchange returns the exchange with a client that must know the password of the keys. binding is the result
// of Binding for the connection; it is nil if the connection has no TLS.
func NewExchange(keys Keys, binding []byte) *Exchange {
	nonce := make([]byte, nonceBytes)
	_, _ = rand.Read(nonce) // never fails
	return &Exchange{keys: keys, binding: binding, nonce: base64.StdEncoding.EncodeToString(nonce)}
}

// Mechanisms returns the mechanisms that the client may choose from.
func (e *Exchange) Mechanisms() []string {
	if e.binding != nil {
		return []string{MechanismPlus, Mechanism}
	}
	return []string{Mechanism}
}

// First processes the client's first message and returns the answer.
func (e *Exchange) First(mechanism string, message []byte) ([]byte, error) {
	switch {
	case mechanism == MechanismPlus && e.binding != nil:
		e.bound = true
	case mechanism != Mechanism:
		return nil, MalformedError("the mechanism was not offered")
	}
	text := string(message)
	flag, rest, found := strings.Cut(text, ",")
	authzid, rest, found2 := strings.Cut(rest, ",")
	if !found || !found2 {
		return nil, MalformedError("it has no header")
	}
	if authzid != "" {
		return nil, MalformedError("an authorization identity is not supported")
	}
	if err := e.checkFlag(flag); err != nil {
		return nil, err
	}
	e.header, e.clientFirst = text[:len(text)-len(rest)], rest
	name, rest, found := strings.Cut(rest, ",")
	if !found || !strings.HasPrefix(name, "n=") { // the name is ignored; the name in the start-up message is used
		return nil, MalformedError("it has no user name")
	}
	nonce, _, _ := strings.Cut(rest, ",")
	nonce, found = strings.CutPrefix(nonce, "r=")
	if !found || nonce == "" || len(nonce) > maxNonce || strings.ContainsFunc(nonce, notPrintable) {
		return nil, MalformedError("it has no nonce")
	}
	e.whole = nonce + e.nonce
	e.serverFirst = fmt.Sprintf("r=%s,s=%s,i=%d", e.whole, base64.StdEncoding.EncodeToString(e.keys.Salt),
		e.keys.Iterations)
	return []byte(e.serverFirst), nil
}

func notPrintable(r rune) bool { return r < '!' || r > '~' }

// checkFlag checks the client's flag for channel binding.
func (e *Exchange) checkFlag(flag string) error {
	switch {
	case flag == "n" && !e.bound:
	case flag == "y" && !e.bound && e.binding == nil:
	case flag == "y" && !e.bound:
		return MalformedError("the client supports channel binding and believes that the server does not: " +
			"the list of mechanisms was changed on its way to the client")
	case flag == "p=tls-server-end-point" && e.bound:
	default:
		return MalformedError("the channel binding does not match the mechanism")
	}
	return nil
}

// Final processes the client's last message and returns the answer, or ErrWrong.
func (e *Exchange) Final(message []byte) ([]byte, error) {
	text := string(message)
	at := strings.LastIndex(text, ",p=")
	if at < 0 {
		return nil, MalformedError("it has no proof")
	}
	proof, err := base64.StdEncoding.DecodeString(text[at+3:])
	if err != nil || len(proof) != KeyBytes {
		return nil, MalformedError("its proof is not 32 bytes in base64")
	}
	binding, rest, _ := strings.Cut(text[:at], ",")
	want := []byte(e.header)
	if e.bound {
		want = append(want, e.binding...)
	}
	given, found := strings.CutPrefix(binding, "c=")
	data, err := base64.StdEncoding.DecodeString(given)
	if !found || err != nil || !bytes.Equal(data, want) {
		return nil, MalformedError("its channel binding differs from that of the connection")
	}
	nonce, _, _ := strings.Cut(rest, ",")
	if nonce != "r="+e.whole {
		return nil, MalformedError("its nonce differs from the server's")
	}
	all := e.clientFirst + "," + e.serverFirst + "," + text[:at]
	key := sign(e.keys.Stored, all)
	for i := range key {
		key[i] ^= proof[i]
	}
	stored := sha256.Sum256(key)
	if subtle.ConstantTimeCompare(stored[:], e.keys.Stored) != 1 {
		return nil, ErrWrong
	}
	return []byte("v=" + base64.StdEncoding.EncodeToString(sign(e.keys.Server, all))), nil
}

// Binding returns the channel binding tls-server-end-point (RFC 5929) for a server's certificate.
func Binding(cert *x509.Certificate) []byte {
	var h hash.Hash
	switch cert.SignatureAlgorithm {
	case x509.SHA384WithRSA, x509.ECDSAWithSHA384, x509.SHA384WithRSAPSS:
		h = sha512.New384()
	case x509.SHA512WithRSA, x509.ECDSAWithSHA512, x509.SHA512WithRSAPSS:
		h = sha512.New()
	default:
		h = sha256.New()
	}
	h.Write(cert.Raw)
	return h.Sum(nil)
}
