package scram

import (
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
)

// TestRFC7677 runs the example of RFC 7677.
func TestRFC7677(t *testing.T) {
	salt, _ := base64.StdEncoding.DecodeString("W22ZaJ0SNY7soEsUEjb6gQ==")
	keys, err := Derive("pencil", salt, 4096)
	if err != nil {
		t.Fatal(err)
	}
	e := NewExchange(keys, nil)
	e.nonce = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
	first, err := e.First(Mechanism, []byte("n,,n=user,r=rOprNGfwEbeRWgbNEkqO"))
	if err != nil || string(first) !=
		"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096" {
		t.Fatal(string(first), err)
	}
	last := "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p="
	final, err := e.Final([]byte(last + "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="))
	if err != nil || string(final) != "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=" {
		t.Fatal(string(final), err)
	}
	if _, err := e.Final([]byte(last + "eHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=")); !errors.Is(err, ErrWrong) {
		t.Errorf("a wrong proof: %v", err)
	}
}

// TestText prints and parses keys, and checks that invalid texts are refused.
func TestText(t *testing.T) {
	keys, err := New("secret", Iterations)
	if err != nil || keys.Iterations != Iterations {
		t.Fatal(keys.Iterations, err)
	}
	again, err := Parse(keys.String())
	if err != nil || again.String() != keys.String() || !again.Matches("secret") || again.Matches("Secret") {
		t.Fatal(again, err)
	}
	good := keys.String()
	for _, bad := range []string{
		"", "SCRAM-SHA-256$", good[:len(good)-4], strings.Replace(good, "15000", "0", 1),
		strings.Replace(good, "15000", "15000000", 1), strings.Replace(good, ":", "", 1), "md5" + good,
	} {
		if _, err := Parse(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// TestSaltedPassword uses a salted password that another program computed by PBKDF2.
func TestSaltedPassword(t *testing.T) {
	salted, err := pbkdf2.Key(sha256.New, "secret", []byte("salt"), 1000, KeyBytes)
	if err != nil {
		t.Fatal(err)
	}
	if !FromSalted(salted, []byte("salt"), 1000).Matches("secret") {
		t.Error("the keys do not match the password")
	}
}

// TestPrepare checks that passwords that look alike have the same normal form.
func TestPrepare(t *testing.T) {
	keys, err := New("Ⅸ\u00ad", Iterations)
	if err != nil || !keys.Matches("IX") || !keys.Matches("Ⅸ") || keys.Matches("ix") {
		t.Error("SASLprep is not applied", err)
	}
	if Prepare("\x07") != "\x07" {
		t.Error("a password that SASLprep refuses was changed")
	}
}

// TestChannelBinding checks that the exchange is bound to the connection, and a changed list of mechanisms is detected.
func TestChannelBinding(t *testing.T) {
	keys, _ := New("secret", Iterations)
	binding := []byte("the certificate's hash")
	for _, tt := range []struct {
		mechanism, first string
		tls, ok          bool
	}{
		{Mechanism, "n,,n=,r=x", true, true},
		{Mechanism, "y,,n=,r=x", true, false},
		{Mechanism, "y,,n=,r=x", false, true},
		{MechanismPlus, "p=tls-server-end-point,,n=,r=x", true, true},
		{MechanismPlus, "p=tls-unique,,n=,r=x", true, false},
		{MechanismPlus, "n,,n=,r=x", true, false},
		{MechanismPlus, "p=tls-server-end-point,,n=,r=x", false, false},
		{"SCRAM-SHA-1", "n,,n=,r=x", true, false},
	} {
		e := NewExchange(keys, nil)
		if tt.tls {
			e = NewExchange(keys, binding)
		}
		if _, err := e.First(tt.mechanism, []byte(tt.first)); (err == nil) != tt.ok {
			t.Errorf("%s %q with TLS %t: %v", tt.mechanism, tt.first, tt.tls, err)
		}
	}
}

func FuzzExchange(f *testing.F) {
	f.Add("n,,n=,r=abc", "c=biws,r=abc,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=")
	f.Add("y,a=x,n=,r=", ",p=")
	keys, _ := Derive("secret", []byte("salt"), 1)
	f.Fuzz(func(t *testing.T, first, last string) {
		e := NewExchange(keys, nil)
		if _, err := e.First(Mechanism, []byte(first)); err != nil {
			return
		}
		if _, err := e.Final([]byte(last)); err == nil {
			t.Error("a client without the password signed in")
		}
	})
}
