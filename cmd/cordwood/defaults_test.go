package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	tokens "cordwood/router/access/token"
)

// TestDefaultsOfTheUser checks that commands without --db, --table or --pipeline use the defaults of the user or token:
// they leave the parameters out, or ask the server for the names.
func TestDefaultsOfTheUser(t *testing.T) {
	token, _ := tokens.New()
	var mu sync.Mutex
	var seen []string
	whoami := ""
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/access/whoami" {
			_, _ = io.WriteString(w, whoami)
			return
		}
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		q := r.URL.Query()
		seen = append(seen, "db="+strings.Join(q["db"], "+")+" table="+q.Get("table")+" pipeline="+q.Get("pipeline_name")+
			" "+string(body))
		w.WriteHeader(http.StatusBadRequest)
	}))
	defer s.Close()
	const user = `{"database":"team","table":"","pipeline":""}`
	for _, c := range []struct{ args, whoami, want string }{
		{"sql --user a:b SELECT", user, "db= table= pipeline= SELECT"},
		{"sql --db shop --user a:b SELECT", user, "db=shop table="},
		{"tail --user a:b app", user, "db= table=app "},
		{"pipeline dryrun --user a:b p --table app", user, "db= table=app "},
		{"table list --user a:b", user, "table_schema = 'team'"},
		{"table list", user, "table_schema = 'public'"},
		{"table list --db shop --user a:b", user, "table_schema = 'shop'"},
		{"table drop --yes --user a:b app", user, "db=team "},
		{"table move --user a:b app --to 2", user, `"team.app"`},
		{"ingest --user a:b --table app -", user, "db= table=app pipeline=svc_identity "},
		{
			"ingest --token " + token + " -", `{"database":"team","table":"web","pipeline":"nginx"}`,
			"db= table=web pipeline=nginx ",
		},
		{"ingest --token " + token + " --table app -", user, "db= table=app pipeline=svc_identity "},
	} {
		mu.Lock()
		seen, whoami = nil, c.whoami
		mu.Unlock()
		_, _, err := execute(t, "{}\n", append(strings.Fields(c.args), "--server", s.URL)...)
		if all := strings.Join(seen, "\n"); !strings.Contains(all, c.want) {
			t.Errorf("%s: the server saw %q, want %q; %v", c.args, all, c.want, err)
		}
	}
	seen, whoami = nil, user
	_, _, err := execute(t, "{}\n", "ingest", "--token", token, "--server", s.URL, "-")
	if err == nil || !strings.Contains(err.Error(), "--table TABLE: the token is not for one table") || seen != nil {
		t.Errorf("a token for several tables: %v, the server saw %q", err, seen)
	}
	whoami = `{"database":"team","table":"web","pipeline":"nginx"}`
	_, _, err = execute(t, "{}\n", "ingest", "--token", token, "--db", "shop", "--server", s.URL, "-")
	if err == nil || !strings.Contains(err.Error(), "team.web, and --db is shop") || seen != nil {
		t.Errorf("another database: %v, the server saw %q", err, seen)
	}
}
