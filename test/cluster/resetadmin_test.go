package cluster

import (
	"fmt"
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

// TestBootstrapToken creates the first administrator with the token of a router. The token has one use, and none after
// there is an administrator.
func TestBootstrapToken(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	n := NewAt(t, dir, "--auth", "on")
	n.Start()
	file := filepath.Join(dir, "bootstrap-token")
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the file with the token: %v %v", info, err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	secret := strings.TrimSpace(string(text))
	kept := filepath.Join(t.TempDir(), "kept") // the router removes its file
	bootstrap := func(name, token, password string) (string, error) {
		if err := os.WriteFile(kept, []byte(token+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(n.bin, "user", "bootstrap", name, "--bootstrap-token-file", kept, "--server", n.HTTP)
		cmd.Stdin = strings.NewReader(password + "\n")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	const password = "correct horse battery"
	if out, err := bootstrap("boss", secret[:len(secret)-1]+"_", password); err == nil ||
		!strings.Contains(out, "bootstrap-token in the data folder") {
		t.Errorf("a wrong token: %v %s", err, out)
	}
	if out, err := bootstrap("boss", secret, "short"); err == nil || !strings.Contains(out, "12 bytes") {
		t.Errorf("a short password: %v %s", err, out)
	}
	if out, err := bootstrap("boss", secret, password); err != nil || out != "boss is an administrator\n" {
		t.Fatal(err, out)
	}
	if out, err := bootstrap("eve", secret, password); err == nil || !strings.Contains(out, "an administrator already") {
		t.Errorf("a second use: %v %s", err, out)
	}
	boss := as(n, signed{"boss", password})
	if rows, err := boss.Query("SHOW USERS"); err != nil || len(rows) != 1 {
		t.Errorf("%v %v", rows, err)
	}
	eventually(t, "the removal of the token", func() bool {
		_, err := os.Stat(file)
		return os.IsNotExist(err)
	})
	const want = "[[boss bootstrap-token refused] [boss bootstrap-token ok] [eve bootstrap-token failed]]"
	eventually(t, "the audit records "+want, func() bool {
		rows, err := boss.Query("SELECT principal, auth, outcome FROM svc_private.audit " +
			"WHERE action = 'create administrator' ORDER BY ts")
		return err == nil && fmt.Sprint(rows) == want
	})
	if strings.Contains(n.Log(), secret[4:]) {
		t.Error("the log has the token")
	}
	n.Stop()
	n.Start()
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("a token although there is an administrator: %v", err)
	}
}
