package main

import (
	"bytes"
	"strings"
	"testing"

	"golang.org/x/crypto/bcrypt"

	"cordwood/router/access/scram"
)

// TestUserHash checks that the list of users accepts the printed hash for the password.
func TestUserHash(t *testing.T) {
	hash := func(in string, args ...string) (string, error) {
		cmd := newUserHashCommand()
		var out bytes.Buffer
		cmd.SetIn(strings.NewReader(in))
		cmd.SetOut(&out)
		cmd.SetErr(&out)
		cmd.SetArgs(args)
		cmd.SilenceUsage, cmd.SilenceErrors = true, true
		err := cmd.Execute()
		return strings.TrimSuffix(out.String(), "\n"), err
	}
	for _, in := range []string{"correct horse", "correct horse\n", "correct horse\r\nmore\n"} {
		text, err := hash(in)
		if err != nil {
			t.Fatal(err)
		}
		keys, err := scram.Parse(text)
		if err != nil || !keys.Matches("correct horse") || keys.Matches("correct horse\n") {
			t.Errorf("%q: %s, %v", in, text, err)
		}
	}
	text, err := hash("correct horse\n", "--bcrypt")
	if err != nil || bcrypt.CompareHashAndPassword([]byte(text), []byte("correct horse")) != nil {
		t.Errorf("--bcrypt: %s, %v", text, err)
	}
	for in, args := range map[string][]string{
		"": nil, "\n": {"--scram"}, strings.Repeat("x", 2000): nil, strings.Repeat("x", 100): {"--bcrypt"},
		"both": {"--bcrypt", "--scram"},
	} {
		if text, err := hash(in, args...); err == nil {
			t.Errorf("%.20q %v: %s", in, args, text)
		}
	}
}
