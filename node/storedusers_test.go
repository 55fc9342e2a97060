package node

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cordwood/node/config"
)

// TestBadAdminPassword checks that a password that cannot be the administrator's is refused before the node starts, so
// that no cluster is founded.
func TestBadAdminPassword(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "password")
	if err := os.WriteFile(file, []byte("short\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{file: "at least 12 bytes", filepath.Join(dir, "none"): "no such file"} {
		cfg := &config.Config{Users: config.Users{BootstrapAdmin: "boss", BootstrapAdminPasswordFile: name}}
		_, err := newNode(cfg, Process{}).authenticator()
		if err == nil || !strings.Contains(err.Error(), "--bootstrap-admin-password-file") ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}
