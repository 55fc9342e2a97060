package httpapi

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// TestWhoami checks what senders learn about themselves.
func TestWhoami(t *testing.T) {
	users, headers := senders(t)
	f := newFixture(t, func(c *Config) { c.Auth = users })
	for name, want := range map[string]Whoami{
		"root": {
			User: "root", Auth: "basic", Grants: []string{"ALL ON *.*", "ALL ON PIPELINE *", "ALL ON CLUSTER"},
			Database: "public",
		},
		"writer":  {User: "writer", Auth: "basic", IngestOnly: true, Database: "public"},
		"nothing": {User: "plain", Auth: "token", Grants: []string{}, Database: "public"},
		"ingests": {
			Auth: "token", IngestOnly: true, Grants: []string{"INSERT, CREATE ON public.web"}, Database: "public", Table: "web",
		},
		"other": {Auth: "token", Grants: []string{"ALL ON other.*"}, Database: "other"},
	} {
		w := f.call(http.MethodGet, "/v1/access/whoami", "", "Authorization", headers[name])
		var got Whoami
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != 200 ||
			w.Header().Get("Cache-Control") != "no-store" {
			t.Fatalf("%s: %d %s", name, w.Code, w.Body)
		}
		if want.Grants != nil && strings.Join(got.Grants, "|") != strings.Join(want.Grants, "|") ||
			want.User != "" && got.User != want.User || want.User == "" && got.User != "cw_"+got.Token ||
			got.Auth != want.Auth || got.IngestOnly != want.IngestOnly || got.Database != want.Database ||
			got.Table != want.Table {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	if w := f.call(http.MethodGet, "/v1/access/whoami", ""); w.Code != 401 {
		t.Errorf("nobody: %d %s", w.Code, w.Body)
	}
}

// TestAccessCheck checks the answers about one's own privileges, and bad questions.
func TestAccessCheck(t *testing.T) {
	users, headers := senders(t)
	f := newFixture(t, func(c *Config) { c.Auth, c.Access = users, &fakeStatements{} })
	ask := func(name, body string) string {
		w := f.call(http.MethodPost, "/v1/access/check", body, "Authorization", headers[name])
		if w.Code != 200 {
			return w.Body.String()
		}
		return strings.TrimSpace(w.Body.String())
	}
	const body = `[{"privilege":"select","object":"other.t"},{"privilege":"INSERT","object":"web"},` +
		`{"privilege":"INSERT","object":"public.*"},{"privilege":"MONITOR","object":"CLUSTER"},` +
		`{"privilege":"USE","object":"PIPELINE p"},{"privilege":"SELECT","object":"svc_private.audit"}]`
	for name, want := range map[string]string{
		"root":    `{"allowed":[true,true,true,true,true,true]}`,
		"reader":  `{"allowed":[true,false,false,true,false,true]}`,
		"writer":  `{"allowed":[false,true,true,false,true,false]}`,
		"nothing": `{"allowed":[false,false,false,false,false,false]}`,
		"ingests": `{"allowed":[false,true,false,false,false,false]}`,
		"other":   `{"allowed":[true,true,false,false,false,false]}`, // web is other.web here
	} {
		if got := ask(name, body); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	one := `{"privilege":"SELECT","object":"t"}`
	for bad, want := range map[string]string{
		`{}`:                                 "",
		`[{"privilege":"FLY","object":"t"}]`: "is not a privilege",
		`[{"privilege":"SELECT","object":"a b"}]`:       "syntax",
		`[{"privilege":"SELECT","object":""}]`:          "syntax",
		`[{"privilege":"SELECT","object":"\"a"}]`:       "syntax",
		`[{"privilege":"SELECT","object":"CLUSTER"}]`:   "the privileges on it are",
		`[{"privilege":"SELECT","object":"shop"}]`:      "write shop.*",
		"[" + strings.Repeat(one+",", 1000) + one + "]": "at most 1000",
	} {
		if got := ask("root", bad); strings.Contains(got, `"allowed"`) || !strings.Contains(got, want) {
			t.Errorf("%.60s: %s", bad, got)
		}
	}
}

// TestAccessState checks that a file is planned and applied, statement by statement, and that a failure says what was
// done.
func TestAccessState(t *testing.T) {
	users, headers := senders(t)
	fake := &fakeStatements{}
	f := newWhole(t, func(c *Config) { c.Auth, c.Access = users, fake })
	for _, tt := range []struct {
		method, path, body, user, answer string
		status                           int
		ran                              []string
	}{
		{"GET", "state", "", "root", `{"state":{"users":{"ann":{"grants":["SELECT ON app.*"]}}},"execution`, 200, nil},
		{"PUT", "state?dry_run=true", "one two", "root", `{"statements":["one","two"],"changes":0,`, 200, nil},
		{
			"PUT", "state", "one two", "root", `{"statements":["one","two"],"changes":4,`, 200,
			[]string{"root: one", "root: two"},
		},
		{
			"PUT", "state", "one refused two", "root", "statement 2 of 3, refused, failed", 403,
			[]string{"root: one", "root: refused"},
		},
		{"PUT", "state", "one DROP", "root", "this would run DROP USER ann", 400, nil},
		{"PUT", "state?drop=false", "DROP", "root", "drop=true", 400, nil},
		{"PUT", "state?drop=true", "DROP", "root", "DROP USER ann", 200, []string{"root: DROP USER ann"}},
		{"PUT", "state?drop=true&dry_run=true", "DROP", "root", "DROP USER ann", 200, nil},
		{"PUT", "state?drop=yes", "DROP", "root", "drop", 400, nil},
		{"PUT", "state", "", "root", `{"statements":[],"changes":0,`, 200, nil},
		{"PUT", "state", strings.Repeat("x ", 1001), "root", "1001 statements; at most 1000", 400, nil},
		{"PUT", "state?dry_run=maybe", "one", "root", "dry_run", 400, nil},
		{"PUT", "state?dry=true", "one", "root", "dry", 400, nil},
		{"PUT", "state", strings.Repeat("x", 1<<20+1), "root", "", 413, nil},
		{"GET", "state", "", "reader", "", 403, nil},
		{"PUT", "state", "one", "reader", "", 403, nil},
	} {
		fake.ran = nil
		a := f.call(tt.method, "/v1/access/"+tt.path, tt.body, "Authorization", headers[tt.user])
		if a.Code != tt.status || !strings.Contains(a.Body.String(), tt.answer) || !slices.Equal(fake.ran, tt.ran) {
			t.Errorf("%s %s as %s: %d %.200s; ran %q", tt.method, tt.path, tt.user, a.Code, a.Body, fake.ran)
		}
	}
}
