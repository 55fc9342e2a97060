package node

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cordwood/node/config"
	"cordwood/node/secret"
	"cordwood/proto/metapb"
)

// TestProtect checks how nodes start, by their settings and by the cluster in the data folder.
func TestProtect(t *testing.T) {
	given := filepath.Join(t.TempDir(), "given")
	if err := secret.Make(given); err != nil {
		t.Fatal(err)
	}
	alone := func(d *dataDir) error { return d.SetCluster("c", []string{d.nodeID}) }
	together := func(d *dataDir) error { return d.SetCluster("c", []string{d.nodeID, "other"}) }
	knows := func(d *dataDir) error {
		return errors.Join(alone(d), os.WriteFile(filepath.Join(d.path, "PEERS"),
			[]byte(`{"version":1,"nodes":[{"id":"other","addr":"127.0.0.1:1"}]}`), 0o600))
	}
	copied := func(d *dataDir) error { return secret.Make(filepath.Join(d.path, secret.FileName)) }
	const (
		everywhere = "--rpc-addr=0.0.0.0:4001"
		seeds      = "--seeds=127.0.0.1:1"
		insecure   = "--rpc-insecure"
	)
	for name, c := range map[string]struct {
		folder func(*dataDir) error
		args   []string
		want   metapb.Protection // unspecified if the node does not start
		made   bool              // a secret was created in the data folder
	}{
		"a new node alone": {nil, nil, metapb.Protection_PROTECTION_SECRET, true},
		"everywhere":       {nil, []string{everywhere}, metapb.Protection_PROTECTION_SECRET, true},
		"with a secret": {
			nil,
			[]string{everywhere, "--cluster-secret-file", given},
			metapb.Protection_PROTECTION_SECRET, false,
		},
		"insecure":                        {nil, []string{everywhere, insecure}, metapb.Protection_PROTECTION_NONE, false},
		"insecure on loopback":            {nil, []string{insecure}, metapb.Protection_PROTECTION_MACHINE, false},
		"an existing cluster of one node": {alone, []string{everywhere}, metapb.Protection_PROTECTION_SECRET, true},
		"with seeds":                      {nil, []string{seeds}, metapb.Protection_PROTECTION_MACHINE, false},
		"with seeds on localhost": {
			nil, []string{seeds, "--rpc-addr=localhost:0"}, metapb.Protection_PROTECTION_MACHINE, false,
		},
		"with seeds, on all addresses": {nil, []string{seeds, everywhere, "--advertise-addr=127.0.0.1:1"}, 0, false},
		"with seeds, on all addresses, with a secret": {
			nil,
			[]string{seeds, everywhere, "--advertise-addr=127.0.0.1:1", "--cluster-secret-file", given},
			metapb.Protection_PROTECTION_SECRET, false,
		},
		"with seeds, on all addresses, with a secret in the folder": {
			copied,
			[]string{seeds, everywhere, "--advertise-addr=127.0.0.1:1"},
			metapb.Protection_PROTECTION_SECRET, true,
		},
		"with seeds, on all addresses, with both": {
			nil,
			[]string{seeds, everywhere, "--advertise-addr=127.0.0.1:1", "--cluster-secret-file", given, insecure},
			metapb.Protection_PROTECTION_OPTIONAL, false,
		},
		"one of three, without its seeds":        {together, nil, metapb.Protection_PROTECTION_MACHINE, false},
		"the same, on all addresses":             {together, []string{everywhere}, 0, false},
		"the first of several":                   {knows, nil, metapb.Protection_PROTECTION_MACHINE, false},
		"the first of several, on all addresses": {knows, []string{everywhere}, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			cfg := settings(t, append(c.args, "--data-dir", dir)...)
			data, err := openDataDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer data.close()
			if c.folder != nil {
				if err := c.folder(data); err != nil {
					t.Fatal(err)
				}
			}
			n := newNode(cfg, Process{})
			n.log, n.data = slog.New(slog.DiscardHandler), data
			files, err := n.readFiles()
			if err == nil {
				err = n.protect(files)
			}
			for _, c := range n.closers {
				defer c.close(t.Context())
			}
			settings := (*SettingsError)(nil)
			switch {
			case c.want == 0:
				if err == nil || !strings.Contains(err.Error(), "--cluster-secret-file") ||
					!strings.Contains(err.Error(), "--rpc-tls-cert") || !strings.Contains(err.Error(), "--rpc-insecure") {
					t.Errorf("it starts: %v; want an error with both methods", err)
				}
			case err != nil:
				t.Fatal(err, errors.As(err, &settings))
			case n.protection.kind != c.want:
				t.Errorf("%v, want %v", n.protection.kind, c.want)
			}
			if made := config.IsFile(filepath.Join(dir, secret.FileName)); made != c.made {
				t.Errorf("the folder has a secret: %v, want %v", made, c.made)
			}
		})
	}
}
