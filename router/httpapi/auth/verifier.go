package auth

import (
	"crypto/pbkdf2"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/crypto/bcrypt"

	"cordwood/router/access/scram"
)

// The prefixes of the forms in which a password is stored. A password without a prefix is plain text.
const (
	prefixPlain  = "plain:"
	prefixPBKDF2 = "pbkdf2_sha256:"
	prefixMySQL  = "mysql_native_password:"
	prefixScram  = "pg_scram_sha256:"
)

const (
	maxIterations = 1_000_000
	// maxBcryptCost keeps the time of one check below a few seconds.
	maxBcryptCost = 15
	keyBytes      = sha256.Size
)

// verifier checks a password against its stored form. The time of a check does not show how much of the password is
// right.
type verifier interface {
	matches(password string) bool
	// slow reports whether matches is slow on purpose.
	slow() bool
}

// parseVerifier parses the stored form of a password. Its errors do not show this form.
func parseVerifier(s string) (verifier, error) {
	switch {
	case s == "" || s == prefixPlain:
		return nil, errors.New("no password after =")
	case strings.HasPrefix(s, prefixPBKDF2):
		return parsePBKDF2(s[len(prefixPBKDF2):])
	case strings.HasPrefix(s, prefixMySQL):
		return parseMySQL(s[len(prefixMySQL):])
	case strings.HasPrefix(s, prefixScram):
		return parseScram(s[len(prefixScram):])
	case scram.IsText(s):
		return parseScramText(s)
	case strings.HasPrefix(s, "$2a$"), strings.HasPrefix(s, "$2b$"), strings.HasPrefix(s, "$2y$"):
		return parseBcrypt(s)
	default:
		return plain(sha256.Sum256([]byte(strings.TrimPrefix(s, prefixPlain)))), nil
	}
}

// plain is the digest of a plain password. Digests are compared, so that the time does not show the length either.
type plain [sha256.Size]byte

func (v plain) matches(password string) bool {
	sum := sha256.Sum256([]byte(password))
	return subtle.ConstantTimeCompare(v[:], sum[:]) == 1
}

func (plain) slow() bool { return false }

// derived is a key that PBKDF2 derives from the password.
type derived struct {
	iterations int
	salt       []byte
	key        []byte // the expected key
}

func parsePBKDF2(s string) (verifier, error) {
	parts := strings.Split(s, ":")
	if len(parts) != 3 {
		return nil, errors.New("pbkdf2_sha256: want ITERATIONS:SALT:HASH")
	}
	v := derived{}
	var err error
	if v.iterations, err = parseIterations(parts[0]); err != nil {
		return nil, fmt.Errorf("pbkdf2_sha256: %w", err)
	}
	if v.salt, err = hex.DecodeString(parts[1]); err != nil || len(v.salt) == 0 {
		return nil, errors.New("pbkdf2_sha256: the salt is not hexadecimal")
	}
	if v.key, err = hex.DecodeString(parts[2]); err != nil || len(v.key) != keyBytes {
		return nil, errors.New("pbkdf2_sha256: the hash is not 64 hexadecimal digits")
	}
	return v, nil
}

func parseIterations(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > maxIterations {
		return 0, fmt.Errorf("iterations must be 1 to %d", maxIterations)
	}
	return n, nil
}

func (v derived) matches(password string) bool {
	key, err := pbkdf2.Key(sha256.New, password, v.salt, v.iterations, keyBytes)
	return err == nil && subtle.ConstantTimeCompare(key, v.key) == 1
}

func (derived) slow() bool { return true }

// scrammed is the SCRAM-SHA-256 secret of a password.
type scrammed scram.Keys

func parseScram(s string) (verifier, error) {
	parts := strings.Split(s, ":")
	if len(parts) != 4 {
		return nil, errors.New("pg_scram_sha256: want ITERATIONS:SALT:STORED_KEY:SERVER_KEY")
	}
	v := scrammed{}
	var err error
	if v.Iterations, err = parseIterations(parts[0]); err != nil {
		return nil, fmt.Errorf("pg_scram_sha256: %w", err)
	}
	// A key has 32 bytes, so the length of its text shows which base64 form all parts use.
	decode := base64.StdEncoding.DecodeString
	if len(parts[2]) == 2*keyBytes {
		decode = hex.DecodeString
	}
	salt, err1 := decode(parts[1])
	stored, err2 := decode(parts[2])
	server, err3 := decode(parts[3])
	if errors.Join(err1, err2, err3) != nil || len(salt) == 0 || len(stored) != keyBytes || len(server) != keyBytes {
		return nil, errors.New("pg_scram_sha256: salt and keys must be all hexadecimal or all base64, the keys of 32 bytes")
	}
	v.Salt, v.Stored, v.Server = salt, stored, server
	return v, nil
}

func parseScramText(s string) (verifier, error) {
	k, err := scram.Parse(s)
	return scrammed(k), err
}

func (v scrammed) matches(password string) bool { return scram.Keys(v).Matches(password) }

func (scrammed) slow() bool { return true }

// scramKeys returns the keys for signing in with SCRAM, if they can be derived from the stored form of the password.
func scramKeys(v verifier) (scram.Keys, bool) {
	switch v := v.(type) {
	case scrammed:
		return scram.Keys(v), true
	case derived: // what it is compared with is the salted password of SCRAM
		return scram.FromSalted(v.key, v.salt, v.iterations), true
	}
	return scram.Keys{}, false
}

// mysqlNative never matches, because an attacker could replay this stored form.
type mysqlNative struct{}

func parseMySQL(s string) (verifier, error) {
	if b, err := hex.DecodeString(s); err != nil || len(b) != 20 {
		return nil, errors.New("mysql_native_password: want 40 hexadecimal digits")
	}
	return mysqlNative{}, nil
}

func (mysqlNative) matches(string) bool { return false }
func (mysqlNative) slow() bool          { return false }

// bcrypted is a bcrypt hash.
type bcrypted []byte

func parseBcrypt(s string) (verifier, error) {
	cost, err := bcrypt.Cost([]byte(s))
	if err != nil || len(s) != 60 {
		return nil, errors.New("the bcrypt hash is malformed; write plain: before a password that only looks like one")
	}
	if cost > maxBcryptCost {
		return nil, fmt.Errorf("bcrypt cost %d is more than %d", cost, maxBcryptCost)
	}
	return bcrypted(s), nil
}

func (v bcrypted) matches(password string) bool {
	return bcrypt.CompareHashAndPassword(v, []byte(password)) == nil
}

func (bcrypted) slow() bool { return true }
