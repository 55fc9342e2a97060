package node

import (
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cordwood/proto/errs"
	"cordwood/router/access/scram"
)

// TestVerifierOfReset refuses verifiers with which nobody could sign in.
func TestVerifierOfReset(t *testing.T) {
	keys, err := scram.ForUser("correct horse battery")
	if err != nil {
		t.Fatal(err)
	}
	if err := checkVerifier(resetAdmin{"boss", keys.String()}); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"", "correct horse battery", "SCRAM-SHA-256$1:AA==$AA==:AA=="} {
		err := checkVerifier(resetAdmin{"boss", bad})
		if errs.CodeOf(err) != errs.InvalidArguments || bad != "" && strings.Contains(err.Error(), bad) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestOwnPeers closes connections of other users before a byte is read.
func TestOwnPeers(t *testing.T) {
	for _, c := range []struct {
		uid   int
		admit bool
	}{{os.Geteuid(), true}, {os.Geteuid() + 1, os.Geteuid() == 0}} {
		l, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: filepath.Join(t.TempDir(), adminSocket)})
		if err != nil {
			t.Fatal(err)
		}
		accepted := make(chan error, 1)
		go func() {
			conn, err := ownPeers{l, c.uid, slog.New(slog.DiscardHandler)}.Accept()
			if err == nil {
				_, _ = conn.Write([]byte("x")) // the reader below notices if not
				_ = conn.Close()
			}
			accepted <- err
		}()
		conn, err := net.Dial("unix", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(conn)
		if err != nil || (string(got) == "x") != c.admit {
			t.Errorf("uid %d: %q %v", c.uid, got, err)
		}
		_ = conn.Close()
		_ = l.Close()
		if err := <-accepted; (err == nil) != c.admit {
			t.Errorf("uid %d: %v", c.uid, err)
		}
	}
}
