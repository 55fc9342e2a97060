package secret

import (
	"bytes"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const (
	first  = "the first secret of the cluster, 0123456789"
	second = "another secret of the cluster, abcdefghijkl"
)

// writeFile creates a file with a text.
func writeFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), FileName)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func open(t *testing.T, node, text string, now func() time.Time) *Source {
	t.Helper()
	s, err := Open(Config{File: writeFile(t, text), Node: node, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestParse checks that the error for an invalid secret explains how to create one.
func TestParse(t *testing.T) {
	for name, c := range map[string]struct {
		text, want string
	}{
		"one line":                  {first, ""},
		"with white space":          {"\n  " + first + " \r\n\n", ""},
		"two lines":                 {first + "\n" + second + "\n", ""},
		"random in base64":          {"3q2+7wABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhs=\n", ""},
		"the longest":               {strings.Repeat("abcdefgh", MaxBytes/8), ""},
		"nothing":                   {"", "it is empty: make one with"},
		"white space":               {" \n\n", "it is empty"},
		"too short":                 {"0123456789012345678901234567890", "line 1: it has 31 bytes, want 32 to 1024"},
		"the second too short":      {first + "\nshort", "line 2: it has 5 bytes"},
		"too long":                  {strings.Repeat("abcdefgh", MaxBytes/8) + "x", "it has 1025 bytes"},
		"three lines":               {first + "\n" + second + "\n" + first + "x", "more than two lines"},
		"a file with other content": {strings.Repeat(first+"\n", 200), "more than"},
		"bytes that are not text":   {string([]byte{1, 2, 3}) + first, "not printable ASCII"},
		"all the same":              {strings.Repeat("a", 40), "only 1 different characters"},
	} {
		_, err := Parse([]byte(c.text))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestDerivation checks that programs of all versions derive the same authority from a secret.
func TestDerivation(t *testing.T) {
	s, err := Parse([]byte(first))
	if err != nil {
		t.Fatal(err)
	}
	got := hex.EncodeToString(s.authorities[0].root.RawSubjectPublicKeyInfo[12:])
	if want := "6b58d902ac2510daba98e2e34671eb4100413dfc2b5a1687475a0cc85c3dd5c0"; got != want {
		t.Errorf("the key of the authority is %s, want %s", got, want)
	}
}

// TestMake checks that secrets are random, and that only their owner may read them.
func TestMake(t *testing.T) {
	dir := t.TempDir()
	var texts [][]byte
	for _, name := range []string{"a", "b"} {
		file := filepath.Join(dir, name)
		// This file was left by a crash.
		if err := os.WriteFile(file+".tmp", []byte("left over"), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := Make(file); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(file); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 || ReadableByAll(file) {
			t.Errorf("mode %v, want 0600", info.Mode())
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, text)
	}
	if bytes.Equal(texts[0], texts[1]) {
		t.Error("two secrets are the same")
	}
	if err := os.Chmod(filepath.Join(dir, "a"), 0o644); err != nil {
		t.Fatal(err)
	}
	if !ReadableByAll(filepath.Join(dir, "a")) {
		t.Error("a file that all accounts may read is not reported")
	}
}

// shake performs a TLS handshake, and returns the results of both sides.
func shake(t *testing.T, client, server *tls.Config) (proved tls.ConnectionState, called, answered error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	b, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for _, c := range []net.Conn{a, b} {
		if err := c.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	secure := tls.Server(b, server)
	done := make(chan error, 1)
	go func() {
		err := secure.Handshake()
		if err == nil {
			_, err = secure.Write([]byte{1})
		}
		if err == nil {
			_, err = secure.Read(make([]byte, 1))
		}
		done <- err
	}()
	c := tls.Client(a, client)
	called = c.Handshake()
	if called == nil { // the server's refusal comes after the handshake
		_, called = c.Read(make([]byte, 1))
	}
	if called == nil {
		_, called = c.Write([]byte{1})
	}
	if called != nil {
		_ = a.Close() // the server may still wait
	}
	answered = <-done
	return secure.ConnectionState(), called, answered
}

// TestProof checks that nodes accept each other if and only if they have a common secret, also while the secret is
// being changed.
func TestProof(t *testing.T) {
	for name, c := range map[string]struct {
		client, server string
		dialed         string
		ok             bool
	}{
		"one secret":                    {first, first, "b", true},
		"any node":                      {first, first, "", true},
		"another node":                  {first, first, "c", false},
		"other secrets":                 {first, second, "b", false},
		"the new secret too early":      {first, second + "\n" + first, "b", false},
		"both nodes accept two secrets": {first + "\n" + second, second + "\n" + first, "b", true},
		"one node has both secrets and uses the old one": {first + "\n" + second, first, "b", true},
		"one node has only the new secret":               {second, second + "\n" + first, "b", true},
		"one node has only the old secret":               {second, first + "\n" + second, "b", false},
	} {
		client, server := open(t, "a", c.client, nil), open(t, "b", c.server, nil)
		state, called, answered := shake(t, client.Client("", c.dialed, "h2"), server.Server("h2"))
		if (called == nil) != c.ok || (answered == nil) != c.ok {
			t.Errorf("%s: client: %v, server: %v, want success: %v", name, called, answered, c.ok)
		}
		if c.ok && (server.Node(state) != "a" || state.Version != tls.VersionTLS13) {
			t.Errorf("%s: the server sees node %q, TLS %x", name, server.Node(state), state.Version)
		}
	}
}

// TestForeignPeers checks that peers are refused if they have no certificate, a certificate of another authority, or an
// older TLS version.
func TestForeignPeers(t *testing.T) {
	server := open(t, "b", first, nil)
	foreign := open(t, "a", second, nil)
	// An attacker's client does not check certificates.
	all := func() *tls.Config { return &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}} }
	with := func(change func(*tls.Config)) *tls.Config { c := all(); change(c); return c }
	cert, err := foreign.certificate()
	if err != nil {
		t.Fatal(err)
	}
	mine, err := open(t, "a", first, nil).certificate()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		config *tls.Config
		want   error
	}{
		"no certificate": {all(), nil},
		"another secret": {with(func(c *tls.Config) { c.Certificates = []tls.Certificate{*cert} }), ErrDiffers},
		"TLS 1.2": {with(func(c *tls.Config) {
			c.MaxVersion = tls.VersionTLS12
			c.Certificates = []tls.Certificate{*mine}
		}), nil},
		"certificate, wrong key": {with(func(c *tls.Config) {
			c.Certificates = []tls.Certificate{{Certificate: mine.Certificate, PrivateKey: cert.PrivateKey}}
		}), nil},
	} {
		_, called, answered := shake(t, c.config, server.Server("h2"))
		if called == nil || answered == nil || c.want != nil && !errors.Is(answered, c.want) {
			t.Errorf("%s: client: %v, server: %v", name, called, answered)
		}
	}
}

// TestClocks checks that a clock that is wrong by less than a day is accepted, and that the error for a larger
// difference mentions the clocks. A certificate must be issued again before it expires, and when the clock is set
// back.
func TestClocks(t *testing.T) {
	right := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		off time.Duration
		ok  bool
	}{
		{0, true},
		{14 * time.Hour, true},
		{-14 * time.Hour, true},
		{23 * time.Hour, true},
		{-23 * time.Hour, true},
		{-25 * time.Hour, false},
		{80 * time.Hour, false},
		{-56 * 365 * 24 * time.Hour, false},
	} {
		client := open(t, "a", first, func() time.Time { return right.Add(c.off) })
		server := open(t, "b", first, func() time.Time { return right })
		_, called, answered := shake(t, client.Client("", "b"), server.Server())
		if (called == nil && answered == nil) != c.ok {
			t.Errorf("a clock that is wrong by %v: client: %v, server: %v, want success: %v", c.off, called,
				answered, c.ok)
		}
		if !c.ok && !strings.Contains(errors.Join(called, answered).Error(), "the clocks differ") {
			t.Errorf("a clock that is wrong by %v: %v, %v; want an error about the clocks", c.off, called, answered)
		}
	}
	now := right
	s := open(t, "a", first, func() time.Time { return now })
	last := ""
	for _, c := range []struct {
		step    time.Duration
		renewed bool
		until   time.Duration
	}{
		{0, true, 24 * time.Hour},
		{11 * time.Hour, false, 13 * time.Hour},
		{time.Hour, true, 24 * time.Hour},
		{-24 * 400 * time.Hour, true, 24 * time.Hour},
	} {
		now = now.Add(c.step)
		cert, err := s.certificate()
		if err != nil {
			t.Fatal(err)
		}
		if got := cert.Leaf.SerialNumber.String(); (got != last) != c.renewed || cert.Leaf.NotAfter.Sub(now) != c.until {
			t.Errorf("after %v: issued again: %v, expires in %v; want %v, %v", c.step, got != last,
				cert.Leaf.NotAfter.Sub(now), c.renewed, c.until)
		}
		last = cert.Leaf.SerialNumber.String()
	}
}

// TestRotation checks that a changed file is used, that a removed secret is no longer trusted, and
// that an invalid file changes nothing.
func TestRotation(t *testing.T) {
	client, server := open(t, "a", first, nil), open(t, "b", first, nil)
	notified := 0
	server.OnChange(func() { notified++ })
	state, called, answered := shake(t, client.Client("", "b"), server.Server())
	if called != nil || answered != nil {
		t.Fatal(called, answered)
	}
	for _, c := range []struct {
		text             string
		trusts, notified bool
		fails            bool
	}{
		{first + "\n" + second, true, true, false},
		{second + "\n" + first, true, true, false},
		{second + "\n" + first, true, false, false},
		{"", true, false, true},
		{second, false, true, false},
	} {
		if err := os.WriteFile(server.File(), []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		before := notified
		if err := server.Reload(); (err != nil) != c.fails {
			t.Errorf("%q: %v", c.text, err)
		}
		if err := server.Trusts(state); (err == nil) != c.trusts || err != nil && !errors.Is(err, ErrDiffers) {
			t.Errorf("%q: an earlier connection: %v", c.text, err)
		}
		if (notified != before) != c.notified {
			t.Errorf("%q: OnChange called: %v, want %v", c.text, notified != before, c.notified)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{first, first + "\n" + second, "", "\xff", strings.Repeat("\n", 100)} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := Parse(text)
		if err == nil && (len(s.authorities) < 1 || len(s.authorities) > 2) {
			t.Fatalf("%d authorities", len(s.authorities))
		}
	})
}

// TestKeys checks that all nodes derive the same keys from a secret, and different keys for each purpose. While the
// secret is being changed, the keys of both secrets are valid.
func TestKeys(t *testing.T) {
	file := filepath.Join(t.TempDir(), FileName)
	if err := Make(file); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	keys := func(purpose string) [][]byte {
		t.Helper()
		s, err := Open(Config{File: file, Node: "n"})
		if err != nil {
			t.Fatal(err)
		}
		return s.Keys(purpose)
	}
	first := keys("a")
	if len(first) != 1 || len(first[0]) != 32 || !bytes.Equal(first[0], keys("a")[0]) ||
		bytes.Equal(first[0], keys("b")[0]) {
		t.Errorf("keys %x", first)
	}
	if err := Make(file); err != nil {
		t.Fatal(err)
	}
	newer, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(newer, text...), 0o600); err != nil {
		t.Fatal(err)
	}
	if both := keys("a"); len(both) != 2 || !bytes.Equal(both[1], first[0]) || bytes.Equal(both[0], first[0]) {
		t.Errorf("keys %x, want %x second", both, first)
	}
}
