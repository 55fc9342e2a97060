package main

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"cordwood/cmd/cordwood/cli"
)

// TestWrongUsage checks the exit status and the one line on standard error.
func TestWrongUsage(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{
			"operation list",
			`cordwood: there is no command "operation": did you mean 'cordwood cluster operations'? (see 'cordwood --help')`,
		},
		{
			"drain node1",
			`cordwood: there is no command "drain": did you mean 'cordwood admin drain' or 'cordwood node drain'? ` +
				`(see 'cordwood --help')`,
		},
		{"tabel list", `cordwood: there is no command "tabel": did you mean 'cordwood table'? (see 'cordwood --help')`},
		{
			"vrl nope",
			`cordwood vrl: there is no command "nope": there are check, help, repl, run, test-stream (see 'cordwood ` +
				`vrl --help')`,
		},
		{
			"completion nope",
			`cordwood completion: there is no command "nope": there are bash, fish, powershell, zsh (see 'cordwood ` +
				`completion --help')`,
		},
		{
			"help tale",
			`cordwood help: there is no command "tale": did you mean 'cordwood table'? (see 'cordwood help --help')`,
		},
		{
			"replay-rejects --help",
			`cordwood: there is no command "replay-rejects": did you mean 'cordwood pipeline replay-rejects'? ` +
				`(see 'cordwood --help')`,
		},
		{
			"shard new --help",
			`cordwood shard: there is no command "new": did you mean 'cordwood shard add'? (see 'cordwood shard --help')`,
		},
		{
			"shard --server x nope -h",
			`cordwood shard: there is no command "nope": there are add, drop, list, move, rebuild, remove, replicas, ` +
				`split-hot (see 'cordwood shard --help')`,
		},
		{
			"table get x",
			`cordwood table: there is no command "get": did you mean 'cordwood table show'? ` +
				`(see 'cordwood table --help')`,
		},
		{"start", `cordwood: there is no command "start": did you mean 'cordwood serve'? (see 'cordwood --help')`},
		{"sql --format csv", `cordwood sql: there is no flag --format: did you mean --output? (see 'cordwood sql --help')`},
		{
			"table list --json",
			`cordwood table list: there is no flag --json: did you mean --output json? ` +
				`(see 'cordwood table list --help')`,
		},
		{
			"sql -c x",
			`cordwood sql: there is no flag -c: the statement is the argument, as in cordwood sql 'SELECT 1' ` +
				`(see 'cordwood sql --help')`,
		},
		{
			"serve --port 80",
			`cordwood serve: there is no flag --port: did you mean --http-addr? ` +
				`(see 'cordwood serve --help')`,
		},
		{
			"tail -f app",
			`cordwood tail: there is no flag -f: new rows are printed as they arrive without it ` +
				`(see 'cordwood tail --help')`,
		},
		{
			"version now",
			`cordwood version: "now" is too many: this command takes no arguments (see 'cordwood version --help')`,
		},
		{
			"sql SELECT 1",
			`cordwood sql: want [STATEMENT], got 2 arguments; put the statement in quotes, as in 'cordwood sql "SELECT 1"' ` +
				`(see 'cordwood sql --help')`,
		},
		{
			"backup lst ./b",
			`cordwood backup: there is no command "lst": did you mean 'cordwood backup list'? ` +
				`(see 'cordwood backup --help')`,
		},
		{"backup ./a ./b", `cordwood backup: want REPOSITORY, got 2 arguments (see 'cordwood backup --help')`},
		{"pipeline put nginx", `cordwood pipeline put: want NAME FILE, got 1 argument (see 'cordwood pipeline put --help')`},
		{"table show", `cordwood table show: want TABLE, got nothing (see 'cordwood table show --help')`},
		{"sql --tmeout 3", `cordwood sql: there is no flag --tmeout: did you mean --timeout? (see 'cordwood sql --help')`},
		{
			"shard mvoe 5 --wait",
			`cordwood shard: there is no command "mvoe": did you mean 'cordwood shard move'? (see 'cordwood shard --help')`,
		},
		{
			"table lst --output",
			`cordwood table: there is no command "lst": did you mean 'cordwood table list'? (see 'cordwood table --help')`,
		},
		{
			"tail app nginx",
			`cordwood tail: a tail follows one table, but 2 are given: run one command for each (see 'cordwood tail --help')`,
		},
		{"tail", `cordwood tail: want TABLE, got nothing (see 'cordwood tail --help')`},
		{"sql -z", `cordwood sql: there is no flag -z (see 'cordwood sql --help')`},
		{"sql --timeout", `cordwood sql: --timeout needs a value: --timeout DURATION (see 'cordwood sql --help')`},
		{
			"backup prune x --keep-last y",
			`cordwood backup prune: --keep-last "y": want a whole number (see 'cordwood backup prune --help')`,
		},
		{
			"backup prune x --keep-last 99999999999999999999",
			`cordwood backup prune: --keep-last "99999999999999999999": the number is too large (see 'cordwood backup ` +
				`prune --help')`,
		},
		{
			"restore x --replace=maybe",
			`cordwood restore: --replace "maybe": want true or false (see 'cordwood restore --help')`,
		},
		{
			"restore x --rate lots",
			`cordwood restore: --rate "lots": want a size, such as 64MiB (see 'cordwood restore --help')`,
		},
		{
			"cluster status -o xml --server http://127.0.0.1:1",
			`cordwood cluster status: --output xml: use table, json or yaml (see 'cordwood cluster status --help')`,
		},
		{
			"rebalance -o json",
			`cordwood rebalance: --output json needs --plan: 'cordwood cluster operations --output json' shows the ` +
				`operations (see 'cordwood rebalance --help')`,
		},
		{
			"rebalance --plan --yes",
			`cordwood rebalance: --plan only shows the moves: remove it, or remove --yes and --wait (see ` +
				`'cordwood rebalance --help')`,
		},
		{
			"recover",
			`cordwood recover: say what to recover: --group all, --group meta, --group shard/7, --group node, ` +
				`or --from-bucket URL (see ` +
				`'cordwood recover --help')`,
		},
		{
			"recover --group meta",
			`cordwood recover: give the copy to continue with: --data-dir FOLDER of a stopped node (see 'cordwood ` +
				`recover --help')`,
		},
		{
			"recover --group shard/x --data-dir y",
			`cordwood recover: --group: "shard/x" is not a group: want all, meta, shard/ and a number as in shard/7, ` +
				`or node (see 'cordwood recover --help')`,
		},
		{
			"serve --shutdown-grace 5",
			`cordwood serve: --shutdown-grace "5": the unit is missing, as in 5s or 5m (see 'cordwood serve --help')`,
		},
		{
			"backup vrify",
			`cordwood backup: vrify is neither a folder nor a command: write ./vrify for a new repository; ` +
				`commands are create, list, verify, delete, prune (see 'cordwood backup --help')`,
		},
	} {
		var stderr bytes.Buffer
		if status := run(strings.Fields(tt.args), &stderr); status != cli.ExitUsage || stderr.String() != tt.want+"\n" {
			t.Errorf("%s: status %d and\n%s, want\n%s", tt.args, status, stderr.String(), tt.want)
		}
	}
}

// TestServeReadsNamedFilesFirst checks that a server whose settings refer to faulty files creates no
// data folder.
func TestServeReadsNamedFilesFirst(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, flags := range [][]string{
		{"--user-file", "/no/such/file"},
		{"--user-file", empty},
		{"--user-provider", "static_user_provider:file:/no/such/file"},
		{"--tls-cert", empty, "--tls-key", empty},
		{"--rpc-tls-cert", empty, "--rpc-tls-key", empty, "--rpc-tls-ca", empty},
		{"--geoip-database", "/no/such/file"},
		{"--cluster-secret-file", "/no/such/file"},
		{"--cluster-secret-file", empty},
		{"--seeds", "127.0.0.1:1", "--rpc-addr", "0.0.0.0:0", "--advertise-addr", "127.0.0.1:1"},
	} {
		dir := filepath.Join(t.TempDir(), "data")
		var stderr bytes.Buffer
		args := append([]string{
			"serve", "--data-dir", dir, "--http-addr", "127.0.0.1:0", "--rpc-addr", "127.0.0.1:0",
		}, flags...)
		if status := run(args, &stderr); status != cli.ExitUsage || strings.Count(stderr.String(), "\n") != 1 {
			t.Errorf("%v: status %d: %s", flags, status, stderr.String())
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%v: there is a data folder", flags)
		}
	}
}

// TestServeWithoutAPort checks that a server whose port is in use creates no data folder.
func TestServeWithoutAPort(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	for _, flag := range []string{"http-addr", "http-v1-addr", "rpc-addr", "admin-addr"} {
		dir := filepath.Join(t.TempDir(), "data")
		var stderr bytes.Buffer
		args := []string{
			"serve", "--data-dir", dir, "--http-addr", "127.0.0.1:0", "--rpc-addr", "127.0.0.1:0", "--" + flag,
			taken.Addr().String(),
		}
		if status := run(args, &stderr); status != cli.ExitFailed ||
			!strings.Contains(stderr.String(), "choose another --"+flag) {
			t.Errorf("--%s: status %d: %s", flag, status, stderr.String())
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("--%s: there is a data folder", flag)
		}
	}
}

// TestEveryCommandHasAnExample checks all commands that --help lists.
func TestEveryCommandHasAnExample(t *testing.T) {
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		if c.Short == "" {
			t.Errorf("%s says nothing of itself", c.CommandPath())
		}
		ofCobra := strings.HasPrefix(c.CommandPath(), "cordwood completion ") || c.CommandPath() == "cordwood help"
		if c.Example == "" && c.HasParent() && !ofCobra {
			t.Errorf("%s has no example", c.CommandPath())
		}
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() {
				visit(sub)
			}
		}
	}
	visit(newRootCommand())
}

// TestUnknownEnvironment checks that commands refuse environment variables which nothing reads.
func TestUnknownEnvironment(t *testing.T) {
	t.Setenv("CORDWOOD_HTTP_ADR", "127.0.0.1:1")
	t.Setenv("CORDWOOD_HEADLESS_SERVICE_PORT", "4001")
	for _, args := range []string{
		"serve --data-dir " + t.TempDir(), "serve --print-config", "sql SELECT", "table list", "admin drain",
		"restore x",
	} {
		var stderr bytes.Buffer
		if status := run(strings.Fields(args), &stderr); status != cli.ExitUsage ||
			!strings.Contains(stderr.String(),
				"environment variable CORDWOOD_HTTP_ADR is not known and would have no effect: did you mean CORDWOOD_HTTP_ADDR?") {
			t.Errorf("%s: status %d: %s", args, status, stderr.String())
		}
	}
	for _, args := range []string{"version", "help sql", "new-secret --help"} {
		var stderr bytes.Buffer
		if status := run(strings.Fields(args), &stderr); status != cli.ExitOK {
			t.Errorf("%s: status %d: %s", args, status, stderr.String())
		}
	}
}

// TestDurationsOfFlags checks that invalid durations are refused before a request is sent.
func TestDurationsOfFlags(t *testing.T) {
	for _, args := range [][]string{
		{"sql", "--timeout", "soon", "SELECT 1"},
		{"sql", "--timeout", "-1s", "SELECT 1"},
		{"tail", "app", "--since", "yesterday"},
		{"tail", "app", "--since", "-5m"},
	} {
		// No server listens there: the command must fail before it sends a request.
		_, _, err := execute(t, "", append(args, "--server", "http://127.0.0.1:1")...)
		if cli.ExitStatus(err) != cli.ExitUsage || !strings.Contains(err.Error(), "want a duration") {
			t.Errorf("%q: error %v, want a wrong usage that asks for a duration", args, err)
		}
	}
	for _, text := range []string{"", "0", "30s", "1h30m", "500ms", "2 days", "1d 12h"} {
		if _, err := cli.ParseDuration("since", text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}
