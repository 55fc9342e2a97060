package auth

import (
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"testing"

	"golang.org/x/crypto/bcrypt"

	"cordwood/router/access/scram"
)

// storedForms returns all stored forms of a password.
func storedForms(t testing.TB, password string, iterations int) (pbkdf2Form, scramHex, scramBase64 string) {
	t.Helper()
	salt := []byte("some salt")
	key, err := pbkdf2.Key(sha256.New, password, salt, iterations, keyBytes)
	if err != nil {
		t.Fatal(err)
	}
	keys := scram.FromSalted(key, salt, iterations)
	form := func(encode func([]byte) string) string {
		return fmt.Sprintf("pg_scram_sha256:%d:%s:%s:%s", iterations, encode(salt), encode(keys.Stored), encode(keys.Server))
	}
	return fmt.Sprintf("pbkdf2_sha256:%d:%x:%x", iterations, salt, key),
		form(hex.EncodeToString), form(base64.StdEncoding.EncodeToString)
}

func hashBcrypt(t testing.TB, password string) string {
	t.Helper()
	h, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	return string(h)
}

// The example of RFC 7677: user "user", password "pencil".
func TestScramExample(t *testing.T) {
	v, err := parseVerifier("pg_scram_sha256:4096:W22ZaJ0SNY7soEsUEjb6gQ==:WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:" +
		"wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=")
	if err != nil {
		t.Fatal(err)
	}
	if !v.matches("pencil") || v.matches("Pencil") {
		t.Error("the example does not verify")
	}
}

// A known answer of PBKDF2-HMAC-SHA256.
func TestPBKDF2Example(t *testing.T) {
	v, err := parseVerifier("pbkdf2_sha256:4096:73616c74:c5e478d59288c841aa530db6845c4c8d962893a001ce4e11a4963873aa98134a")
	if err != nil {
		t.Fatal(err)
	}
	if !v.matches("password") || v.matches("passwore") {
		t.Error("the example does not verify")
	}
}
