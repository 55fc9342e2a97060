package cluster

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestResetAdmin gives a server without an administrator one, and a new password to an administrator who was disabled.
func TestResetAdmin(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), strings.Repeat("a long name ", 15)) // longer than the path of a socket may be
	n := NewAt(t, dir, "--auth", "on")
	n.Start()
	info, err := os.Stat(filepath.Join(dir, "admin.sock"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the socket: %v %v", info, err)
	}
	reset := func(name, password string) (string, error) {
		cmd := exec.Command(n.bin, "user", "reset-admin", name, "--data-dir", dir)
		cmd.Stdin = strings.NewReader(password + "\n")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := reset("boss", "short"); err == nil || !strings.Contains(out, "12 bytes") {
		t.Errorf("a short password: %v %s", err, out)
	}
	if out, err := reset("reader", "correct horse battery"); err == nil || !strings.Contains(out, "built-in role") {
		t.Errorf("the name of a role: %v %s", err, out)
	}
	if out, err := reset("boss", "correct horse battery"); err != nil {
		t.Fatal(err, out)
	}
	n.Client = &http.Client{Transport: signed{"boss", "correct horse battery"}}
	n.Rows(t, "CREATE USER ann PASSWORD 'correct horse battery' DISABLED")
	if out, err := reset("ann", "another long password"); err != nil {
		t.Fatal(err, out)
	}
	ann := as(n, signed{"ann", "another long password"})
	if rows, err := ann.Query("SHOW USERS"); err != nil || len(rows) != 2 {
		t.Errorf("%v %v", rows, err)
	}
	if log := n.Log(); strings.Count(log, "reset administrator") < 2 || strings.Contains(log, "SCRAM-SHA-256$") {
		t.Error("the log has no records of it, or a verifier")
	}
	n.Stop()
	if out, err := reset("ann", "another long password"); err == nil || !strings.Contains(out, "running router") {
		t.Errorf("without a server: %v %s", err, out)
	}
}
