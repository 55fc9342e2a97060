package auth

import (
	"context"
	"encoding/base64"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cordwood/proto/errs"
	"cordwood/router/access"

	"github.com/google/go-cmp/cmp"
)

// Well-formed stored passwords. The passwords themselves do not matter.
const (
	bcryptSecret = "$2a$04$s4nTvRBW/2mOfZvoUTOKMO0qBAIAy9kRNiYF4P6zNKk.DfFcgzpi6"
	pbkdf2Secret = "pbkdf2_sha256:1000:73616c74:c33f0ca0e63ec0c65c2b1bdc0d5eab9d5dfc7fdcc21d0d7f6c5b6ee9fe2dca9f"
	mysqlSecret  = "mysql_native_password:14E65567ABDB5135D0CFD9A70B3032C179A49EE7"
)

// home is the address of test clients.
var home = netip.MustParseAddr("192.0.2.7")

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func inline(t *testing.T, list string) *Provider {
	t.Helper()
	p, err := Open(Config{Option: "static_user_provider:cmd:" + list, Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// sender returns the sender for a user with a password.
func sender(user string, right access.Right) *access.Sender {
	return &access.Sender{User: user, Right: right, Proof: "password"}
}

func basic(credentials string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(credentials))
}

func TestAuthenticate(t *testing.T) {
	p := inline(t, "ann=pw:1,bob:ro=plain:x,eve:WriteOnly=y,mia="+mysqlSecret)
	ann := sender("ann", access.ReadWrite)
	for _, tt := range []struct {
		name   string
		header map[string]string
		want   *access.Sender
		code   errs.Code
		text   string
	}{
		{"no header", nil, nil, errs.AuthHeaderNotFound, "Not found http or grpc authorization header"},
		{
			"empty header",
			map[string]string{"Authorization": " "},
			nil, errs.AuthHeaderNotFound,
			"Not found http or grpc authorization header",
		},
		{"good", map[string]string{"Authorization": basic("ann:pw:1")}, ann, 0, ""},
		{"scheme in any case", map[string]string{"Authorization": "bASIC" + basic("ann:pw:1")[5:]}, ann, 0, ""},
		{"x-svc-auth wins", map[string]string{"Authorization": basic("no:one"), "x-svc-auth": basic("ann:pw:1")}, ann, 0, ""},
		{
			"x-svc-auth wins, wrong",
			map[string]string{"Authorization": basic("ann:pw:1"), "x-svc-auth": basic("no:one")},
			nil, errs.UserNotFound,
			"User not found, username: no",
		},
		{"read only", map[string]string{"Authorization": basic("bob:x")}, sender("bob", access.ReadOnly), 0, ""},
		{"write only", map[string]string{"Authorization": basic("eve:y")}, sender("eve", access.WriteOnly), 0, ""},
		{
			"wrong password",
			map[string]string{"Authorization": basic("ann:pw")},
			nil, errs.UserPasswordMismatch,
			"Username and password does not match, username: ann",
		},
		{
			"mysql hash",
			map[string]string{"Authorization": basic("mia:secret")},
			nil, errs.UserPasswordMismatch,
			"Username and password does not match, username: mia",
		},
		{
			"unknown user",
			map[string]string{"Authorization": basic("Ann:pw:1")},
			nil, errs.UserNotFound,
			"User not found, username: Ann",
		},
		{
			"bearer",
			map[string]string{"Authorization": "Bearer abc"},
			nil, errs.UserPasswordMismatch,
			"The Bearer token is not one of this server",
		},
		{"other scheme", map[string]string{"Authorization": "Digest abc"}, nil, errs.InvalidAuthHeader, "unknown scheme"},
		{
			"no scheme",
			map[string]string{"Authorization": basic("ann:pw:1")[6:]},
			nil, errs.InvalidAuthHeader,
			"unknown scheme",
		},
		{"bad base64", map[string]string{"Authorization": "Basic !!"}, nil, errs.InvalidAuthHeader, "base64"},
		{"bad utf-8", map[string]string{"Authorization": basic("ann:\xff")}, nil, errs.InvalidAuthHeader, "base64"},
		{"no colon", map[string]string{"Authorization": basic("ann")}, nil, errs.InvalidAuthHeader, "neither USER:PASSWORD"},
		{"basic alone", map[string]string{"Authorization": "Basic"}, nil, errs.InvalidAuthHeader, "neither USER:PASSWORD"},
		{"blank user", map[string]string{"Authorization": basic(":pw")}, nil, errs.InvalidArguments, "blank"},
		{"blank password", map[string]string{"Authorization": basic("ann:")}, nil, errs.InvalidArguments, "blank"},
		{
			"long name",
			map[string]string{"Authorization": basic(strings.Repeat("é", 1000) + ":x")},
			nil,
			errs.UserNotFound, "é…",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodGet, "/v1/sql", nil)
			for k, v := range tt.header {
				r.Header.Set(k, v)
			}
			got, err := p.Authenticate(r, home)
			if tt.want != nil {
				got.Version = 0
				if err != nil || got != *tt.want {
					t.Fatalf("%+v %v, want %+v", got, err, *tt.want)
				}
				return
			}
			if got != (access.Sender{}) {
				t.Errorf("the refused sender is %+v", got)
			}
			if e := errs.From(err); e.Code != tt.code || e.Status() != 401 || !strings.Contains(e.Msg, tt.text) ||
				len(e.Msg) > 300 {
				t.Errorf("got %d, %d, %s", e.Code, e.Status(), e.Msg)
			}
		})
	}
}

func TestOff(t *testing.T) {
	var p *Provider
	id, err := p.Authenticate(httptest.NewRequest(http.MethodGet, "/", nil), home)
	if err != nil || id != access.Everybody() {
		t.Errorf("got %v, %v", id, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if p.Reload() != nil || p.Run(ctx) != nil || p.Close() != nil {
		t.Error("a nil provider failed")
	}
}

func TestVerifiers(t *testing.T) {
	pbkdf2, scramHex, scramBase64 := storedForms(t, "secret", 1000)
	for name, stored := range map[string]string{
		"plain": "secret", "plain:": "plain:secret", "pbkdf2": pbkdf2,
		"scram hex": scramHex, "scram base64": scramBase64, "bcrypt": hashBcrypt(t, "secret"),
	} {
		v, err := parseVerifier(stored)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !v.matches("secret") {
			t.Errorf("%s: the password is refused", name)
		}
		for _, wrong := range []string{"Secret", "secre", "secret ", stored} {
			if v.matches(wrong) && wrong != "secret" {
				t.Errorf("%s: %q is accepted", name, wrong)
			}
		}
	}
	if v, err := parseVerifier(mysqlSecret); err != nil || v.matches("secret") {
		t.Errorf("mysql: %v", err)
	}
	for _, bad := range []string{
		"", "plain:", "pbkdf2_sha256:1000", "pbkdf2_sha256:0:00:" + strings.Repeat("0", 64),
		"pbkdf2_sha256:1000001:00:" + strings.Repeat("0", 64), "pbkdf2_sha256:1::" + strings.Repeat("0", 64),
		"pbkdf2_sha256:1:0g:" + strings.Repeat("0", 64), "pbkdf2_sha256:1:00:00", "mysql_native_password:00",
		"pg_scram_sha256:1:00:00", "pg_scram_sha256:1:00:00:00", "pg_scram_sha256:x:00:00:00",
		"$2a$10$short", "$2a$31$" + bcryptSecret[7:],
	} {
		if _, err := parseVerifier(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		} else if bad != "" && strings.Contains(err.Error(), bad) {
			t.Errorf("the error shows %q", bad)
		}
	}
}

func TestParseFile(t *testing.T) {
	users, bad := parseFile("\uFEFF# comment\r\n\r\n  ann = pw \r\nbob:RO=x\n: " +
		"=y\nnobody\na=b=c\ncarl:admin=x\ndan:=x\nann:wo=2\nbad\xff=1\nlast:rw=" + bcryptSecret)
	want := map[string]access.Sender{
		"ann": *sender("ann", access.WriteOnly), "bob": *sender("bob", access.ReadOnly),
		"last": *sender("last", access.ReadWrite),
	}
	got := map[string]access.Sender{}
	for name, u := range users.byName {
		got[name] = u.sender
	}
	if !maps.Equal(want, got) {
		t.Errorf("%v, want %v", got, want)
	}
	problems := map[int]string{}
	for _, b := range bad {
		problems[b.line] = b.problem
	}
	wantBad := map[int]string{
		5: "no user name before =", 6: "no = between user and password", 7: "more than one =",
		8: `user carl: unknown mode "admin": use rw, ro or wo`, 9: `user dan: unknown mode "": use rw, ro or wo`,
		10: "user ann is listed twice: this line replaces the earlier one", 11: "not UTF-8",
	}
	if diff := cmp.Diff(wantBad, problems); diff != "" {
		t.Error(diff)
	}
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	empty := write(t, filepath.Join(dir, "empty"), "# nobody\n")
	for name, cfg := range map[string]Config{
		"nothing":         {},
		"both":            {Option: "static_user_provider:cmd:a=b", UserFile: empty},
		"unknown":         {Option: "ldap:x"},
		"unknown static":  {Option: "static_user_provider:net:x"},
		"no users":        {Option: "static_user_provider:file:" + empty},
		"no users, watch": {Option: "watch_file_user_provider:" + empty},
		"no users, file":  {UserFile: empty},
		"no file":         {UserFile: filepath.Join(dir, "none")},
		"no folder":       {Option: "watch_file_user_provider:" + filepath.Join(dir, "none", "x")},
		"inline, bad":     {Option: "static_user_provider:cmd:a=b,c"},
		"inline, empty":   {Option: "static_user_provider:cmd:"},
		"inline, twice":   {Option: "static_user_provider:cmd:a=b,a=secret"},
	} {
		cfg.Logger = quiet()
		if _, err := Open(cfg); err == nil {
			t.Errorf("%s: opened", name)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error shows a password", name)
		}
	}
}

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func accepts(p *Provider, user, password string) bool {
	_, err := p.Check(context.Background(), user, password, home)
	return err == nil
}

func TestReload(t *testing.T) {
	path := write(t, filepath.Join(t.TempDir(), "users"), "ann=1\n")
	file, err := Open(Config{UserFile: path, Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	static, err := Open(Config{Option: "static_user_provider:file:" + path, Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, "ann=2\n")
	if err := file.Reload(); err != nil || !accepts(file, "ann", "2") || accepts(file, "ann", "1") {
		t.Errorf("the user file was not read again: %v", err)
	}
	if err := static.Reload(); err != nil || !accepts(static, "ann", "1") {
		t.Errorf("the static file was read again: %v", err)
	}
	write(t, path, "nonsense\n")
	if err := file.Reload(); err == nil || !accepts(file, "ann", "2") {
		t.Errorf("a bad file replaced the list: %v", err)
	}
}

// logged sends each logged message to a channel.
type logged struct {
	slog.Handler
	messages chan string
}

func (l logged) Enabled(context.Context, slog.Level) bool { return true }

func (l logged) Handle(_ context.Context, r slog.Record) error {
	l.messages <- r.Message
	return nil
}

func TestWatch(t *testing.T) {
	dir := t.TempDir()
	path := write(t, filepath.Join(dir, "users"), "ann=1\n")
	log := logged{slog.DiscardHandler, make(chan string, 100)}
	p, err := Open(Config{Option: "watch_file_user_provider:" + path, Logger: slog.New(log)})
	if err != nil {
		t.Skip(err)
	}
	defer p.Close()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	await := func(want string) {
		t.Helper()
		deadline := time.After(10 * time.Second)
		for {
			select {
			case got := <-log.messages:
				if got == want {
					return
				}
			case <-deadline:
				t.Fatalf("no message %q", want)
			}
		}
	}
	write(t, path, "ann=22\n")
	await("users reloaded")
	if !accepts(p, "ann", "22") {
		t.Error("the new list is not valid")
	}
	if err := os.Rename(write(t, filepath.Join(dir, "new"), "ann=333\n"), path); err != nil {
		t.Fatal(err)
	}
	await("users reloaded")
	if !accepts(p, "ann", "333") {
		t.Error("the replaced file is not valid")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	await("users not reloaded, the last good list stays in use")
	if !accepts(p, "ann", "333") {
		t.Error("the last good list is gone")
	}
	write(t, path, "ann=4444\n")
	await("users reloaded")
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestProtected(t *testing.T) {
	for path, want := range map[string]bool{
		"/": false, "/health": false, "/metrics": false, "/v1x/sql": false, "/v2/sql": false, "/config": false,
		"/v1/ingest": true, "/v1/sql": true, "/v1": true, "/v1/": true,
		"/v1/health": false, "/v1/health/": false, "/v1/health/live": false, "/v1/healthz": true,
		"/v1/influxdb/ping": false, "/v1/influxdb/write": true, "/v1/influxdb/health": false,
		"/v1/splunk/services/collector/health": false, "/v1/splunk/services/collector/health/1.0": false,
		"/v1/splunk/services/collector": true, "/v1/splunk/services/collector/healthy": true,
		"/v1/health/../sql": true, "//v1/sql": true, "/v1//sql": true, "/x/../v1/sql": true, "v1/sql": true,
	} {
		if got := Protected(path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
	if !Protected("/config", "/config") || !Protected("/config/x", "/config") || Protected("/configs", "/config") {
		t.Error("extra paths")
	}
}

func FuzzParseFile(f *testing.F) {
	f.Add("ann=pw\nbob:ro=" + bcryptSecret + "\n# x\n" + "c=" + pbkdf2Secret)
	f.Fuzz(func(t *testing.T, text string) {
		users, _ := parseFile(text)
		for name, u := range users.byName {
			if name == "" || strings.ContainsAny(name, ":=\n") || u.password == nil {
				t.Fatalf("%q gives user %q", text, name)
			}
		}
	})
}

func BenchmarkCheck(b *testing.B) {
	for name, list := range map[string]string{"plain": "ann=secret", "bcrypt": "ann=" + hashBcrypt(b, "secret")} {
		b.Run(name, func(b *testing.B) {
			p, err := Open(Config{Option: "static_user_provider:cmd:" + list, Logger: quiet()})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				_, _ = p.Check(context.Background(), "ann", "secret", home)
			}
		})
	}
}
