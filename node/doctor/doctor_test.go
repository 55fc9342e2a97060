package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"cordwood/node"
	"cordwood/node/config"
	"cordwood/node/rpcport"
	"cordwood/node/secret"
	"cordwood/shard/cold/tier"
	"cordwood/shard/store"
)

// TestSeeds checks the advice about a seed with another secret, or for a node without one.
func TestSeeds(t *testing.T) {
	ours, theirs := filepath.Join(t.TempDir(), "ours"), filepath.Join(t.TempDir(), "theirs")
	for _, file := range []string{ours, theirs} {
		if err := secret.Make(file); err != nil {
			t.Fatal(err)
		}
	}
	source, err := secret.Open(secret.Config{File: ours, Node: "seed"})
	if err != nil {
		t.Fatal(err)
	}
	port, err := rpcport.Listen(rpcport.Config{Addr: "127.0.0.1:0", Credentials: source})
	if err != nil {
		t.Fatal(err)
	}
	defer port.Close()
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"another secret": {[]string{"--cluster-secret-file", theirs}, "the secret of the cluster differs"},
		"none":           {nil, "do not accept each other"},
	} {
		args := append([]string{"--seeds", port.Addr().String()}, c.args...)
		if _, got := run(t, Config{
			DataDir: filepath.Join(t.TempDir(), "none"), Settings: settings(t, args...),
		}); !strings.Contains(got, c.want) || !strings.Contains(got, "--cluster-secret-file") {
			t.Errorf("%s: no %q in\n%s", name, c.want, got)
		}
	}
	if err := os.Chmod(ours, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, got := run(t, Config{
		DataDir: filepath.Join(t.TempDir(), "none"), Settings: settings(t, "--cluster-secret-file", ours, "--rpc-insecure"),
	}); !strings.Contains(got, "chmod o-r "+ours) || !strings.Contains(got, "remove it once") {
		t.Errorf("a secret that all accounts may read, and --rpc-insecure:\n%s", got)
	}
}

// fakeServer returns answers by path. A path without an answer is an error.
type fakeServer struct {
	answers map[string]string
	date    time.Time
}

func (s *fakeServer) Server() string { return "http://there" }

func (s *fakeServer) Get(_ context.Context, path string, query url.Values) (*http.Response, error) {
	if path == "/v1/sql" {
		path = strings.Fields(query.Get("sql"))[1]
	}
	body, ok := s.answers[path]
	if !ok {
		return nil, errors.New("no answer from " + path)
	}
	header := http.Header{"Date": {s.date.UTC().Format(http.TimeFormat)}}
	return &http.Response{Header: header, Body: io.NopCloser(strings.NewReader(body))}, nil
}

func settings(t *testing.T, args ...string) *config.Config {
	t.Helper()
	c := &config.Config{}
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	c.Flags(fs)
	if err := fs.Parse(append([]string{"--http-addr", "127.0.0.1:0", "--rpc-addr", "127.0.0.1:0"}, args...)); err != nil {
		t.Fatal(err)
	}
	return c
}

func run(t *testing.T, cfg Config) (*Report, string) {
	t.Helper()
	r, err := Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, f := range r.Findings {
		fmt.Fprintf(&text, "%s %s %s: %s; %s\n", f.Severity, f.Part, f.File, f.What, f.Do)
	}
	return r, text.String()
}

func TestSettings(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = busy.Close() }()
	packets, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = packets.Close() }()
	dir := filepath.Join(t.TempDir(), "none")
	for name, c := range map[string]struct {
		cfg  Config
		want string
	}{
		"at fault": {
			Config{SettingsErr: errors.Join(errors.New("a is wrong"), errors.New("b is wrong"))},
			"attention settings : b is wrong; correct it",
		},
		"no users":    {Config{Settings: settings(t, "--user-file", "/no/such/file")}, "/no/such/file"},
		"unprotected": {Config{Settings: settings(t, "--http-addr", "0.0.0.0:0")}, "anyone who can reach 0.0.0.0:0"},
		"unprotected port of PostgreSQL": {
			Config{Settings: settings(t, "--pg-addr", "0.0.0.0:0")},
			"anyone who can reach 0.0.0.0:0 (--pg-addr) can read and write",
		},
		"unprotected port of a protocol": {
			Config{Settings: settings(t, "--loki-addr", "0.0.0.0:0")},
			"anyone who can reach 0.0.0.0:0 (--loki-addr) can store logs",
		},
		"port of a protocol in use": {
			Config{Settings: settings(t, "--otlp-grpc-addr", busy.Addr().String())},
			"could not listen on its --otlp-grpc-addr",
		},
		"packets in use": {
			Config{Settings: settings(t, "--syslog-addr", "udp://"+packets.LocalAddr().String())},
			"could not listen on its --syslog-addr",
		},
		"no token": {
			Config{
				Settings: settings(t, "--user-file", "/no/such/file", "--gelf-addr", "udp://127.0.0.1:0?token-file=/no/token"),
			},
			"--gelf-addr: token-file: open /no/token",
		},
		"port in use": {
			Config{Settings: settings(t, "--rpc-addr", busy.Addr().String())}, "could not listen on its --rpc-addr",
		},
		"memory":    {Config{Settings: settings(t, "--query-memory", "100TiB")}, "lower one of them"},
		"no folder": {Config{Settings: settings(t)}, "there is no data folder " + dir},
	} {
		c.cfg.DataDir = dir
		if r, text := run(t, c.cfg); !strings.Contains(text, c.want) || r.Status() != 1 {
			t.Errorf("%s: status %d:\n%swant %q", name, r.Status(), text, c.want)
		}
	}
}

// TestServer checks servers that use the folder.
func TestServer(t *testing.T) {
	dir := t.TempDir()
	lock, err := os.Create(filepath.Join(dir, "LOCK"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lock.Close() }()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	port, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = port.Close() }()
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := gone.Close(); err != nil {
		t.Fatal(err)
	}
	sound := func() map[string]string {
		return map[string]string{
			"/health": "{}", "/ready": "{}", "/status": `{"version":"v1"}`,
			"name,": `{"name":"one","rpc_addr":"` + port.Addr().String() + `"}`, "/v1/cluster": `{"rows_aside":[]}`,
		}
	}
	for name, c := range map[string]struct {
		change func(s *fakeServer)
		want   string
		status int
	}{
		"sound":         {func(*fakeServer) {}, "a running server uses " + dir, 0},
		"another clock": {func(s *fakeServer) { s.date = s.date.Add(time.Hour) }, "the clock of http://there is ", 1},
		"gone":          {func(s *fakeServer) { delete(s.answers, "/health") }, "no answer from /health", 1},
		"not ready":     {func(s *fakeServer) { delete(s.answers, "/ready") }, "alive but not ready", 1},
		"a warning": {func(s *fakeServer) {
			s.answers["/ready"] = `{"warnings":["tables were last committed 2h0m0s ago"]}`
		}, "the server warns: tables were last committed 2h0m0s ago", 1},
		"another build": {func(s *fakeServer) {
			s.answers["/status"] = `{"version":"v2"}`
		}, "the server is version v2, this program v1", 0},
		"no permission": {func(s *fakeServer) { delete(s.answers, "name,") }, "give --user", 1},
		"a node is gone": {func(s *fakeServer) {
			s.answers["name,"] = `{"name":"two","rpc_addr":"` + gone.Addr().String() + `"}`
		}, "node two is not reachable", 1},
		"rows aside": {func(s *fakeServer) {
			s.answers["/v1/cluster"] =
				`{"rows_aside":[{"table":"public.t","shard":1,"node":"one","rows":12,"bytes":4096,"reason":"index ` +
					`out of range","since":"2026-11-23T04:05:06Z","advice":"drop it"}]}`
		}, "12 rows of public.t in shard 1 cannot be written to segments on node one since 2026-11-23 04:05:06: " +
			"index out of range; drop it", 1},
		"a shard elects a leader, another is new": {func(s *fakeServer) {
			s.answers["/v1/cluster"] = `{"shards":[{"id":1,"state":"electing","leader":""},` +
				`{"id":2,"state":"starting","leader":""}]}`
		}, "", 0},
		"no leader": {func(s *fakeServer) {
			s.answers["/v1/cluster"] = `{"shards":[{"id":1,"state":"no leader"},{"id":2,"state":"ok"}]}`
		}, "shards without a leader, which accept no writes: 1;", 1},
	} {
		s := &fakeServer{answers: sound(), date: time.Now()}
		c.change(s)
		r, text := run(t, Config{DataDir: dir, Server: s, Version: "v1"})
		// Ignore the findings about the speed of this machine.
		r.Findings = slices.DeleteFunc(r.Findings, func(f Finding) bool { return f.Part == "machine" })
		if !strings.Contains(text, c.want) || r.Status() != c.status || r.Server != "http://there" {
			t.Errorf("%s: status %d:\n%swant %q", name, r.Status(), text, c.want)
		}
	}
	// A check of a remote server must ignore the folders and ports of this machine.
	s := &fakeServer{answers: sound(), date: time.Now()}
	settings := &config.Config{}
	if r, text := run(t, Config{
		DataDir: dir, Server: s, AskServer: true, ServerOnly: true, Settings: settings,
		Version: "v1",
	}); r.Status() != 0 || len(r.Parts) != 1 || r.Parts[0].Name != "server" || len(r.Findings) != 0 {
		t.Errorf("only the server: status %d, %+v:\n%s", r.Status(), r.Parts, text)
	}
	s.answers["/v1/cluster"] = `{"object_storage":{"locations":["s3://logs/prod"],"state":"ok","nodes":[],"shards":[]}}`
	if r, text := run(t, Config{
		DataDir: dir, Server: s, AskServer: true, ServerOnly: true, Settings: settings, Version: "v1",
	}); r.Status() != 0 || r.Storage == nil || r.Storage.String() != "s3://logs/prod: ok; nothing was stored since the "+
		"nodes started" {
		t.Errorf("with object storage: %+v:\n%s", r.Storage, text)
	}
	// --forget is refused while a server is running.
	if _, err := Run(t.Context(), Config{
		DataDir: dir, Forget: []string{"shards/1/segments/1.parquet"},
	}); !errors.Is(err, node.ErrInUse) {
		t.Errorf("forget: %v", err)
	}
}

// TestDamageHasAStatusOfItsOwn checks the exit status for a folder without its identity and without a shard, which
// was last written by a machine with a clock that was ahead.
func TestDamageHasAStatusOfItsOwn(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "IDENTITY")
	if err := os.WriteFile(file, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	ahead := time.Now().Add(time.Hour)
	if err := os.Chtimes(file, ahead, ahead); err != nil {
		t.Fatal(err)
	}
	r, text := run(t, Config{DataDir: dir})
	if r.Status() != 3 || r.Result != "damaged" || !strings.Contains(text, "damage data IDENTITY") ||
		!strings.Contains(text, "the clock was set back") {
		t.Errorf("status %d, %s:\n%s", r.Status(), r.Result, text)
	}
}

// TestOtherFolders checks that a folder that no server has written is reported as such, without damage.
func TestOtherFolders(t *testing.T) {
	for name, want := range map[string]string{
		"cordwood-backups.json": "is a repository of backups, not the data folder of a server; check it with 'cordwood " +
			"backup verify ",
		"notes.txt": "is not the data folder of a server: it has neither IDENTITY nor meta nor shards; give the data folder",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, name), []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
		r, text := run(t, Config{DataDir: dir})
		if r.Status() != 1 || !strings.Contains(text, want) || strings.Contains(text, name+":") {
			t.Errorf("%s: status %d:\n%s", name, r.Status(), text)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
			t.Errorf("%s: the folder has %v, %v", name, left, err)
		}
		if _, err := Run(t.Context(), Config{DataDir: dir, Forget: []string{"shards/1/segments/1.parquet"}}); err == nil ||
			!strings.Contains(err.Error(), "data folder of a server") {
			t.Errorf("%s: forget: %v", name, err)
		}
	}
}

// TestOwnFiles checks that no file of a shard or of the cache counts as one of somebody else.
func TestOwnFiles(t *testing.T) {
	dir := t.TempDir()
	shard := filepath.Join(dir, "shards", "1")
	for _, folder := range []string{filepath.Join(shard, "raft"), filepath.Join(dir, "cache")} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{
		"../../IDENTITY", "notes.txt", "INCARNATION", "RECOVERED", store.FlushingFile, store.CompactingFile,
		store.GivenUpFile, tier.HotSinceFile, tier.LogFromFile,
		"../../cache/033841ae824434d3daad796bb1443af4.map", "../../cache/033841ae824434d3daad796bb1443af4.parquet",
	} {
		if err := os.WriteFile(filepath.Join(shard, name), []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_, text := run(t, Config{DataDir: dir})
	const foreign = "this is not a file that the server writes"
	if strings.Count(text, foreign) != 1 || !strings.Contains(text, "notes.txt") {
		t.Errorf("%q, except for notes.txt:\n%s", foreign, text)
	}
}
