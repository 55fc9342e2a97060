package config

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestProtectBefore checks that settings with which no node can start are refused before the data folder is created.
func TestProtectBefore(t *testing.T) {
	short := filepath.Join(t.TempDir(), "short")
	if err := os.WriteFile(short, []byte("too short"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no secret and no certificates": {
			[]string{"--seeds=10.0.0.1:4001", "--rpc-addr=10.0.0.2:4001"}, "any program that reaches it would be a node",
		},
		"no file":        {[]string{"--cluster-secret-file=/no/such/file"}, "/no/such/file"},
		"a short secret": {[]string{"--cluster-secret-file", short}, "it has 9 bytes, want 32 to 1024"},
	} {
		cfg, _, err := loadArgs(t, "", nil, c.args...)
		if err != nil {
			t.Fatal(err)
		}
		if err := cfg.CheckFiles(slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	cfg, _, err := loadArgs(t, "", nil, "--cluster-secret-file=a", "--rpc-tls-cert=a", "--rpc-tls-key=a", "--rpc-tls-ca=a")
	if err != nil {
		t.Fatal(err)
	}
	if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), "choose one") {
		t.Errorf("a secret and certificates: %v", err)
	}
}
