// Package scram makes, keeps and checks what SCRAM-SHA-256 stores of a password, and is the server's side of its
// exchange (RFC 5802, RFC 7677), as PostgreSQL has both.
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
	// Iterations is how often PBKDF2 hashes a password for new keys. It takes about 2.4 ms.
	Iterations = 15_000
	// MaxIterations bounds what stored keys may ask for.
	MaxIterations = 1_000_000
	// KeyBytes is the length of each key.
	KeyBytes = sha256.Size
	// prefix begins the text of keys.
	prefix    = "SCRAM-SHA-256$"
	saltBytes = 16
)

// Keys are what is stored of a password: nobody can sign in with them alone.
type Keys struct {
	Iterations     int
	Salt           []byte
	Stored, Server []byte
}

// New returns the keys of a password under a new salt.
func New(password string) (Keys, error) {
	salt := make([]byte, saltBytes)
	_, _ = rand.Read(salt) // never fails
	return Derive(Prepare(password), salt, Iterations)
}

// Derive returns the keys of a password, which is taken as it is.
func Derive(password string, salt []byte, iterations int) (Keys, error) {
	salted, err := pbkdf2.Key(sha256.New, password, salt, iterations, KeyBytes)
	if err != nil {
		return Keys{}, fmt.Errorf("derive the keys of a password: %w", err)
	}
	return FromSalted(salted, salt, iterations), nil
}

// FromSalted returns the keys for what PBKDF2 made of a password.
func FromSalted(salted, salt []byte, iterations int) Keys {
	stored := sha256.Sum256(sign(salted, "Client Key"))
	return Keys{Iterations: iterations, Salt: salt, Stored: stored[:], Server: sign(salted, "Server Key")}
}

// Prepare normalises a password by SASLprep. A password that SASLprep refuses is returned as it is.
func Prepare(password string) string {
	if prepared, err := stringprep.SASLprep.Prepare(password); err == nil && prepared != "" {
		return prepared
	}
	return password
}

// IsText reports whether s begins as the text of keys does.
func IsText(s string) bool { return strings.HasPrefix(s, prefix) }

// Parse reads the text of keys, which is PostgreSQL's: SCRAM-SHA-256$ITERATIONS:SALT$STORED:SERVER, in base64. Its
// errors do not show the text.
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

// check returns what is wrong with keys.
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

// Matches reports whether the keys are those of a password, as it is or normalised.
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
