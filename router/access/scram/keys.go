// Package scram derives, parses and checks the keys that SCRAM-SHA-256 stores for a password, and implements the
// server's side of the exchange (RFC 5802, RFC 7677), compatible with PostgreSQL.
//
// Keys are values and do not change. An Exchange belongs to one sign-in and one goroutine.
package scram

import (
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/xdg-go/stringprep"
)

const (
	// Iterations is the usual number of PBKDF2 iterations for new keys. They take about 2.4 ms.
	Iterations = 15_000
	// MinPassword is the minimum length of a password of a stored user in bytes.
	MinPassword = 12
	// MaxPassword is the maximum length of such a password in bytes. Clients cannot send much longer ones in a header.
	MaxPassword = 1024
	// MinIterations is the smallest number of iterations that RFC 7677 allows.
	MinIterations = 4096
	// MaxIterations is the largest number of iterations that Parse accepts.
	MaxIterations = 1_000_000
	// KeyBytes is the length of each key.
	KeyBytes = sha256.Size
	// prefix starts the text of keys.
	prefix    = "SCRAM-SHA-256$"
	saltBytes = 16
)

// Keys are stored in place of a password. Nobody can sign in with the keys alone.
type Keys struct {
	Iterations     int
	Salt           []byte
	Stored, Server []byte
}

// New returns the keys of a password with a new salt.
func New(password string, iterations int) (Keys, error) {
	salt := make([]byte, saltBytes)
	_, _ = rand.Read(salt) // never fails
	return Derive(Prepare(password), salt, iterations)
}

// ForUser returns the keys of a stored user's password. The password may also be given as the text of keys.
func ForUser(password string) (Keys, error) {
	switch {
	case IsText(password):
		return Parse(password)
	case len(password) < MinPassword:
		return Keys{}, fmt.Errorf("a password has at least %d bytes", MinPassword)
	case len(password) > MaxPassword:
		return Keys{}, fmt.Errorf("a password has at most %d bytes", MaxPassword)
	}
	return New(password, Iterations)
}

// Derive returns the keys of a password, which is used unchanged.
func Derive(password string, salt []byte, iterations int) (Keys, error) {
	salted, err := pbkdf2.Key(sha256.New, password, salt, iterations, KeyBytes)
	if err != nil {
		return Keys{}, fmt.Errorf("derive the keys of a password: %w", err)
	}
	return FromSalted(salted, salt, iterations), nil
}

// FromSalted returns the keys for the result of PBKDF2.
func FromSalted(salted, salt []byte, iterations int) Keys {
	stored := sha256.Sum256(sign(salted, "Client Key"))
	return Keys{Iterations: iterations, Salt: salt, Stored: stored[:], Server: sign(salted, "Server Key")}
}

// Prepare normalises a password by SASLprep. If SASLprep refuses the password, Prepare returns it unchanged.
func Prepare(password string) string {
	if prepared, err := stringprep.SASLprep.Prepare(password); err == nil && prepared != "" {
		return prepared
	}
	return password
}

// IsText reports whether s starts like the text of keys.
func IsText(s string) bool { return strings.HasPrefix(s, prefix) }

// Parse parses the text of keys in PostgreSQL's format: SCRAM-SHA-256$ITERATIONS:SALT$STORED:SERVER, in base64.
// Its errors do not contain the text.
func Parse(s string) (Keys, error) {
	malformed := errors.New("scram: want SCRAM-SHA-256$ITERATIONS:SALT$STORED_KEY:SERVER_KEY, in base64")
	rest, found := strings.CutPrefix(s, prefix)
	if !found {
		return Keys{}, malformed
	}
	head, keys, found1 := strings.Cut(rest, "$")
	count, salt, found2 := strings.Cut(head, ":")
	stored, server, found3 := strings.Cut(keys, ":")
	if !found1 || !found2 || !found3 {
		return Keys{}, malformed
	}
	n, err := strconv.Atoi(count)
	if err != nil || n < 1 || n > MaxIterations {
		return Keys{}, fmt.Errorf("scram: iterations must be 1 to %d", MaxIterations)
	}
	k := Keys{Iterations: n}
	for _, part := range []struct {
		text string
		into *[]byte
	}{{salt, &k.Salt}, {stored, &k.Stored}, {server, &k.Server}} {
		if *part.into, err = base64.StdEncoding.DecodeString(part.text); err != nil {
			return Keys{}, malformed
		}
	}
	return k, k.check()
}

// check returns an error if the keys are invalid.
func (k Keys) check() error {
	if len(k.Salt) == 0 || len(k.Stored) != KeyBytes || len(k.Server) != KeyBytes {
		return fmt.Errorf("scram: there must be a salt, and two keys of %d bytes", KeyBytes)
	}
	return nil
}

// String returns the text that Parse reads.
func (k Keys) String() string {
	encode := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("%s%d:%s$%s:%s", prefix, k.Iterations, encode(k.Salt), encode(k.Stored), encode(k.Server))
}

// Matches reports whether the keys belong to the password, either unchanged or normalised.
func (k Keys) Matches(password string) bool {
	if k.equal(password) {
		return true
	}
	prepared := Prepare(password)
	return prepared != password && k.equal(prepared)
}

func (k Keys) equal(password string) bool {
	other, err := Derive(password, k.Salt, k.Iterations)
	if err != nil {
		return false
	}
	a := subtle.ConstantTimeCompare(other.Stored, k.Stored)
	b := subtle.ConstantTimeCompare(other.Server, k.Server)
	return a&b == 1
}

func sign(key []byte, text string) []byte {
	m := hmac.New(sha256.New, key)
	m.Write([]byte(text))
	return m.Sum(nil)
}
