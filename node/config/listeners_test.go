package config

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	accesstoken "cordwood/router/access/token"
)

func TestListeners(t *testing.T) {
	file := "loki-addr:\n  - 127.0.0.1:3100\n  - 127.0.0.1:3101?table=own&db=logs\n"
	c, _, err := loadArgs(t, file, map[string]string{"CORDWOOD_SPLUNK_ADDR": "127.0.0.1:8088?pipeline_by_sourcetype=true"},
		"--otlp-grpc-addr", "[::1]:4317?pipeline=p&version=2026-11-24%2001%3A02%3A03&event_time=off&dedupe=body")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]map[string]string{}
	for _, l := range c.Listeners {
		got[l.Kind.Flag()+" "+l.Addr] = l.Params
	}
	want := map[string]map[string]string{
		"loki-addr 127.0.0.1:3100":   {},
		"loki-addr 127.0.0.1:3101":   {"table": "own", "db": "logs"},
		"splunk-addr 127.0.0.1:8088": {"pipeline_by_sourcetype": "true"},
		"otlp-grpc-addr [::1]:4317": {
			"pipeline": "p", "version": "2026-11-24 01:02:03", "event_time": "off", "dedupe": "body",
		},
	}
	if !maps.EqualFunc(got, want, maps.Equal) {
		t.Errorf("listeners %v, want %v", got, want)
	}
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
	if len(c.OpenListeners()) != 0 {
		t.Errorf("open to others: %v", c.OpenListeners())
	}
	if n := len(c.Ports()); n != 6 {
		t.Errorf("%d ports, want 6", n)
	}
}

// TestListenerFaults checks the errors of addresses. They suggest the most similar name.
// TestRepeatedFlag checks that a second flag does not replace the first one.
func TestRepeatedFlag(t *testing.T) {
	var cfg Config
	flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	cfg.Flags(flags)
	if err := flags.Parse([]string{
		"--gelf-addr", "udp://127.0.0.1:1", "--syslog-addr", "tcp://127.0.0.1:2,udp://127.0.0.1:2",
		"--gelf-addr=tcp://127.0.0.1:3",
	}); err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range cfg.Listeners {
		l := &cfg.Listeners[i]
		got = append(got, l.Kind.Flag()+" "+l.Scheme+"://"+l.Addr)
	}
	want := []string{
		"gelf-addr udp://127.0.0.1:1", "syslog-addr tcp://127.0.0.1:2", "syslog-addr udp://127.0.0.1:2",
		"gelf-addr tcp://127.0.0.1:3",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if got, want := flags.Lookup("gelf-addr").Value.String(), "udp://127.0.0.1:1,tcp://127.0.0.1:3"; got != want {
		t.Errorf("--gelf-addr is %s, want %s", got, want)
	}
}

func TestListenerFaults(t *testing.T) {
	for text, want := range map[string]string{
		"3100":                             "want HOST:PORT, such as 127.0.0.1:8088",
		"http://127.0.0.1:8088":            "want HOST:PORT",
		"127.0.0.1:http":                   "want a number from 0 to 65535",
		"127.0.0.1:70000":                  "want a number from 0 to 65535",
		"127.0.0.1:8088/services":          "want HOST:PORT",
		"127.0.0.1:1?tabel=x":              `the parameter "tabel" is not known; did you mean "table"?`,
		"127.0.0.1:1?pipeline_by_source=1": `did you mean "pipeline_by_sourcetype"?`,
		"127.0.0.1:1?xyzzy=1": "there are db, dedupe, event_time, on_type_conflict, pipeline, " +
			"pipeline_by_sourcetype, table, version",
		"127.0.0.1:1?on_type_conflict=other": "want widen, error, cast or aside",
		"127.0.0.1:1?table=":                 "the parameter table is empty",
		"127.0.0.1:1?table=a&table=b":        "table is given twice",
		"127.0.0.1:1?table=a%zz":             "cannot be read",
		"127.0.0.1:1?dedupe=yes":             "dedupe=yes: want body",
		"127.0.0.1:1?event_time=no":          "event_time=no: want on or off",
		"127.0.0.1:1?version=1":              "version needs pipeline",
		"127.0.0.1:1?table=a%00b":            "",
		"127.0.0.1:1,127.0.0.1:2?tabel=own":  "did you mean",
	} {
		var c Config
		fs := pflag.NewFlagSet("serve", pflag.ContinueOnError)
		c.Flags(fs)
		err := fs.Set("splunk-addr", text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
		if len(c.Listeners) > 0 {
			t.Errorf("%s: there are listeners: %v", text, c.Listeners)
		}
	}
}

func TestListenersOfANode(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{
			[]string{"--loki-addr", "0.0.0.0:1", "--splunk-addr", "0.0.0.0:1"},
			"--loki-addr and --splunk-addr have the same address",
		},
		{[]string{"--loki-addr", "127.0.0.1:4000"}, "--http-addr and --loki-addr have the same address"},
		{[]string{"--loki-addr", "127.0.0.1:1", "--roles", "meta,shard"}, "--loki-addr needs the role router"},
		{[]string{"--loki-addr", "127.0.0.1:0", "--splunk-addr", "127.0.0.1:0"}, ""},
	} {
		cfg, _, err := loadArgs(t, "", nil, c.args...)
		if err != nil {
			t.Fatal(err)
		}
		err = cfg.Validate()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.args, err, c.want)
		}
	}
	cfg, _, err := loadArgs(t, "", nil, "--loki-addr", ":3100", "--splunk-addr", "127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	if open := cfg.OpenListeners(); len(open) != 1 || open[0].Kind.Flag() != "loki-addr" {
		t.Errorf("open to others: %v", open)
	}
}

// TestSocketAddresses checks that addresses of protocols without HTTP need a scheme: UDP, TCP or
// TLS.
func TestSocketAddresses(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("ship:secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	users := []string{"--user-file", token}
	withTLS := append([]string{"--tls-cert", "c", "--tls-key", "k"}, users...)
	signed := append([]string{"--tls-client-ca", "a"}, withTLS...)
	certificates := append([]string{"--tls-client-user", "cn"}, signed...)
	for text, c := range map[string]struct {
		args []string
		want string // the error; empty if there is none
	}{
		"udp://127.0.0.1:514,tcp://127.0.0.1:514":          {},
		"tcp://127.0.0.1:1?timezone=Europe/Berlin&table=t": {},
		"udp://127.0.0.1:1?rate=100":                       {},
		"udp://127.0.0.1:4000":                             {},
		"127.0.0.1:514": {
			want: "want udp:// or tcp:// or tls://HOST:PORT, such as udp://127.0.0.1:514",
		},
		"http://127.0.0.1:514":                  {want: "want udp://"},
		"tcp://127.0.0.1:4000":                  {want: "--http-addr and --syslog-addr have the same address"},
		"tcp://127.0.0.1:1?rate=0":              {want: "rate=0: want a whole number"},
		"tcp://127.0.0.1:1?timezone=Berlin":     {want: "timezone=Berlin: want the name of a time zone"},
		"tcp://127.0.0.1:1?dedupe=body":         {want: `the parameter "dedupe" is not known`},
		"tls://127.0.0.1:1":                     {want: "needs --tls-cert"},
		"tcp://127.0.0.1:1?token-file=" + token: {want: "token-file needs users"},
		"udp://127.0.0.1:2": {
			args: users,
			want: "there are users, and syslog has none: add token-file=FILE",
		},
		"udp://127.0.0.1:2?token-file=" + token: {args: users},
		"tls://127.0.0.1:2":                     {args: withTLS, want: "there are users"},
		"tls://127.0.0.1:3":                     {args: certificates},
		"tls://127.0.0.1:4":                     {args: signed, want: "--tls-client-user, for client certificates"},
		"tcp://127.0.0.1:3":                     {args: certificates, want: "there are users"},
	} {
		var cfg Config
		flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
		cfg.Flags(flags)
		err := flags.Set("syslog-addr", text)
		if err == nil {
			if err := flags.Parse(c.args); err != nil {
				t.Fatal(err)
			}
			err = cfg.Validate()
		}
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", text, err, c.want)
		}
	}
	for _, text := range []string{"", "ship", ":secret", "ship:", "a:b\nc:d\n"} {
		if err := os.WriteFile(token, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		l := Listeners{{Kind: Kinds[0], Params: map[string]string{TokenFile: token}}}
		if err := l.CheckTokens(); err == nil || !strings.Contains(err.Error(), "want one line, USER:PASSWORD or a token") {
			t.Errorf("%q: %v", text, err)
		}
	}
	secret, _ := accesstoken.New()
	for text, ok := range map[string]bool{secret + "\n": true, secret + "x": false, secret[:40]: false} {
		if err := os.WriteFile(token, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		user, got, err := ReadToken(token)
		if (err == nil) != ok || ok && (user != "" || got != secret) || !ok && strings.Contains(err.Error(), secret[:40]) {
			t.Errorf("a token: %q %q %v", user, got, err)
		}
	}
	if err := os.WriteFile(token, []byte("a:b\nc:d\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	l := Listeners{{Kind: Kinds[0], Params: map[string]string{KeyFile: token}}}
	if err := l.CheckTokens(); err == nil || !strings.Contains(err.Error(), "want one line with a key") {
		t.Errorf("two keys: %v", err)
	}
	l = Listeners{{Kind: Kinds[0], Params: map[string]string{TokenFile: token + "-not"}}}
	if err := l.CheckTokens(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that does not exist: %v", err)
	}
}
