package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"gopkg.in/yaml.v3"
)

func loadArgs(t *testing.T, file string, env map[string]string, args ...string) (*Config, *pflag.FlagSet, error) {
	t.Helper()
	fs := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	c := &Config{}
	c.Flags(fs)
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	path := ""
	if file != "" {
		path = filepath.Join(t.TempDir(), "c.yaml")
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	err := Load(fs, path, func(name string) (string, bool) { v, ok := env[name]; return v, ok })
	return c, fs, err
}

func TestPrecedence(t *testing.T) {
	file := "http:\n  addr: 127.0.0.1:1\n  body-limit: 1MiB\n" +
		"  cors-allowed-origins: [https://a.example, https://b.example]\nshards: 7\nquery.timeout: 5s\n"
	env := map[string]string{"CORDWOOD_HTTP_ADDR": "127.0.0.1:2", "CORDWOOD_SHARDS": "8"}
	c, _, err := loadArgs(t, file, env, "--http-addr", "127.0.0.1:3")
	if err != nil {
		t.Fatal(err)
	}
	if c.HTTP.Addr != "127.0.0.1:3" || c.Cluster.Shards != 8 || c.HTTP.BodyLimit != 1<<20 ||
		c.Query.Timeout != 5*time.Second {
		t.Errorf("flag, environment, file: got %q, %d, %s, %s", c.HTTP.Addr, c.Cluster.Shards, c.HTTP.BodyLimit,
			c.Query.Timeout)
	}
	if got := strings.Join(c.HTTP.CORSAllowedOrigins, "|"); got != "https://a.example|https://b.example" {
		t.Errorf("list from the file: %q", got)
	}
	if c.RPC.Addr != "127.0.0.1:4001" || c.Shard.FlushBytes != 64<<20 {
		t.Errorf("defaults: got %q, %s", c.RPC.Addr, c.Shard.FlushBytes)
	}
}

// TestPlace checks that all nodes on one machine are in one zone, unless zones are set.
func TestPlace(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{}, ""},
		{map[string]string{"CORDWOOD_ZONE": "", "CORDWOOD_MACHINE": "m1"}, "m1"},
		{map[string]string{"CORDWOOD_ZONE": "z1", "CORDWOOD_MACHINE": "m1"}, "z1"},
	} {
		config, _, err := loadArgs(t, "", c.env)
		if err != nil {
			t.Fatal(err)
		}
		if got := config.Place(); got != c.want {
			t.Errorf("%v: %q, want %q", c.env, got, c.want)
		}
	}
}

func TestLoadErrors(t *testing.T) {
	for name, c := range map[string]struct {
		file string
		env  map[string]string
		want string
	}{
		"an unknown key": {"htp:\n  addr: x\n", nil, `unknown key "htp.addr": did you mean "http.addr"`},
		"with its line": {
			"shards: 1\n\nquery:\n  memori: 1\n", nil, `c.yaml:4: unknown key "query.memori": did you mean "query.memory"`,
		},
		"a bad value":  {"shards: many\n", nil, "c.yaml:1: shards"},
		"a bad size":   {"http: {body-limit: 3 apples}\n", nil, `http.body-limit: "3 apples": want a size, such as 64MiB`},
		"a bad number": {"shards: many\n", nil, `shards: "many": want a whole number`},
		"no map":       {"- a\n", nil, "want keys and values"},
		"a bad environment": {
			"",
			map[string]string{"CORDWOOD_SHUTDOWN_GRACE": "soon"},
			`environment variable CORDWOOD_SHUTDOWN_GRACE="soon": want a duration, such as 30s, 12h or 30d`,
		},
		"a duration, no unit": {
			"",
			map[string]string{"CORDWOOD_SHUTDOWN_GRACE": "30"},
			`CORDWOOD_SHUTDOWN_GRACE="30": the unit is missing, as in 30s or 30m`,
		},
		"a removed setting": {"http:\n  enable-cors: true\n", nil, "c.yaml:2: http.enable-cors: this setting was " +
			"removed: pages of other sites are refused unless --http-cors-allowed-origins"},
		"removed, in the environment": {
			"",
			map[string]string{"CORDWOOD_HTTP_ENABLE_CORS": "false"},
			"CORDWOOD_HTTP_ENABLE_CORS: this setting was removed",
		},
		"removed, of the page": {
			"http: {protect-config: true}\n", nil, "c.yaml:1: http.protect-config: this setting was removed: once there are " +
				"users",
		},
		"no flag of the command": {"config: x\n", nil, `unknown key "config"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := loadArgs(t, c.file, c.env)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

// TestPrintedConfigLoads loads the output of --print-config with --config.
func TestPrintedConfigLoads(t *testing.T) {
	_, fs, err := loadArgs(t, "", nil, "--http-body-limit", "3MiB", "--http-cors-allowed-origins",
		"https://x.example,https://y.example", "--tls-cert", "a b")
	if err != nil {
		t.Fatal(err)
	}
	text, err := YAML(fs)
	if err != nil {
		t.Fatal(err)
	}
	_, again, err := loadArgs(t, text, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := YAML(again); err != nil || got != text {
		t.Errorf("read and printed again (%v):\n%s\nwant\n%s", err, got, text)
	}
	var m map[string]any
	if err := yaml.Unmarshal([]byte(text), &m); err != nil || m["http"] == nil {
		t.Errorf("printed configuration has no group http (%v):\n%s", err, text)
	}
}

func TestSecretsAreNotPrinted(t *testing.T) {
	_, fs, err := loadArgs(t, "", nil, "--user-provider", "static_user_provider:cmd:ann=geheim")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []func(*pflag.FlagSet) (string, error){YAML, TOML} {
		if text, err := f(fs); err != nil || strings.Contains(text, "geheim") {
			t.Errorf("the password is printed (%v):\n%s", err, text)
		}
	}
}

func TestValidate(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"--shards 65", "--shards 65"},
		{"--http-addr nope", "--http-addr"},
		{"--tls-cert x", "--tls-cert and --tls-key"},
		{"--tls-client-ca x", "--tls-client-ca needs"},
		{"--log-level loud", "--log-level"},
		{"--log-format xml", "--log-format"},
		{"--user-file a --user-provider b", "choose one"},
		{"--tls-client-user dn", `--tls-client-user is "dn": it must be off, cn`},
		{"--tls-client-user cn", "--tls-client-user needs --tls-client-ca"},
		{"--oidc-issuer http://login.example.com --oidc-client-id a", "must begin with https://"},
		{"--oidc-issuer https://login.example.com", "--oidc-issuer needs --oidc-client-id"},
		{"--oidc-client-id a", "--oidc-client-id has no effect without --oidc-issuer"},
		{"--oidc-issuer https://x.test --oidc-client-id a --oidc-max-age 13h", "want 1m to 12h"},
		{"--oidc-issuer https://x.test --oidc-client-id a --oidc-client-secret-file /nowhere", "--oidc-client-secret-file"},
		{"--oidc-issuer https://x.test --oidc-client-id a --oidc-redirect-url http://x.test/a", "--oidc-redirect-url"},
		{"--oidc-issuer https://x.test --oidc-client-id a --oidc-user-claim=", "must not be empty"},
		{"--shard-flush-bytes 1KiB", "at least 1MiB"},
		{"--default-column-prefix 1x", "--default-column-prefix"},
		{"--http-inflight-policy drop", "wait or fail"},
		{"--on-reject keep", "want drop or store"},
		{"--rejects-ttl soon", "--rejects-ttl"},
		{"--trusted-proxies 10.0.0.0/8,proxy", `--trusted-proxies "proxy": want an address or a network`},
		{"--proxy-protocol", "--proxy-protocol needs --trusted-proxies"},
		{"--metrics-open=false", "--metrics-open=false needs --user-file"},
		{"--http-hosts logs.example.com:4000", `--http-hosts "logs.example.com:4000": want a name`},
		{"--http-cors-allowed-origins *", `--http-cors-allowed-origins "*": want an origin`},
		{"--http-cors-allowed-origins grafana.example.com", `want an origin, SCHEME://HOST`},
		{"--geoip-database /no/such/file", "--geoip-database"},
	} {
		cfg, _, err := loadArgs(t, "", nil, strings.Fields(c.args)...)
		if err != nil {
			t.Fatal(err)
		}
		if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.args, err, c.want)
		}
	}
	// All faults are reported at once.
	cfg, _, err := loadArgs(t, "", nil, "--shards", "0", "--log-level", "x")
	if err != nil {
		t.Fatal(err)
	}
	if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), "--shards") ||
		!strings.Contains(err.Error(), "--log-level") {
		t.Errorf("the error of two faults: %v", err)
	}
}

func TestByteSize(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "1": 1, "64MiB": 64 << 20, "64 mib": 64 << 20, "2KB": 2000, "7B": 7, "1GiB": 1 << 30, "1TB": 1e12,
	} {
		var b ByteSize
		if err := b.Set(text); err != nil || int64(b) != want {
			t.Errorf("%q: %d, %v, want %d", text, b, err, want)
		}
		var again ByteSize
		if err := again.Set(b.String()); err != nil || again != b {
			t.Errorf("%q prints as %q, which reads as %d, %v", text, b, again, err)
		}
	}
	for _, text := range []string{"", "x", "-1", "1.5MiB", "9999999TiB", "1 MiBi"} {
		var b ByteSize
		if err := b.Set(text); err == nil {
			t.Errorf("%q: no error, %d", text, b)
		}
	}
}

// TestClusterSettings checks that each error contains the flag.
func TestClusterSettings(t *testing.T) {
	for _, c := range []struct {
		args string
		want string // "" if the settings are valid
	}{
		{"--seeds 10.0.0.1:4001,dns:nodes.svc:4001 --meta-bootstrap-expect 3 --replication 3", ""},
		{"--roles router --seeds a:1", ""},
		{"--roles meta,shard", ""},
		{"--rpc-addr 0.0.0.0:4001", ""},
		{"--rpc-addr 0.0.0.0:4001 --seeds a:1 --advertise-addr b:1", ""},
		{"--roles router", "--roles without meta needs --seeds"},
		{"--roles router,reader", `--roles "reader"`},
		{"--roles shard,shard --seeds a:1", "--roles contains shard twice"},
		{"--roles=", "--roles is empty"},
		{"--seeds a", `--seeds "a"`},
		{"--seeds dns:a --roles router", `--seeds "dns:a"`},
		{"--seeds a:1 --meta-bootstrap-expect 2", "--meta-bootstrap-expect 2: want 1, 3 or 5"},
		{"--seeds a:1 --replication 4", "--replication 4: want 1, 3 or 5"},
		{"--meta-bootstrap-expect 3", "--meta-bootstrap-expect 3 needs --seeds"},
		{"--replication 3", "--replication 3 needs --seeds"},
		{"--rpc-addr 0.0.0.0:4001 --seeds a:1", "set --advertise-addr"},
		{"--rpc-addr :4001 --seeds a:1", "set --advertise-addr"},
		{"--advertise-addr a", `--advertise-addr "a"`},
		{"--rpc-tls-server-name nodes", "--rpc-tls-server-name needs --rpc-tls-cert"},
	} {
		cfg, _, err := loadArgs(t, "", nil, strings.Fields(c.args)...)
		if err != nil {
			t.Fatal(err)
		}
		err = cfg.Validate()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.args, err, c.want)
		}
		if strings.Contains(c.want, `--roles "`) && strings.Contains(err.Error(), "without meta") {
			t.Errorf("%s: a second fault follows from the first: %v", c.args, err)
		}
	}
}
