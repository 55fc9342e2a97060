package httpapi

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"cordwood/meta/metaclient"
	"cordwood/proto/metapb"
	"cordwood/proto/rights"
	"cordwood/router/access"
	"cordwood/router/access/token"
	"cordwood/router/httpapi/auth"
)

// senders returns the header Authorization of each kind of sender in TestEveryRouteAsEverySender.
func senders(t *testing.T) (users *auth.Provider, headers map[string]string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "users")
	if err := os.WriteFile(file, []byte("root=pw\nreader:ro=pw\nwriter:wo=pw\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	users, err := auth.Open(auth.Config{UserFile: file})
	if err != nil {
		t.Fatal(err)
	}
	basic := func(user string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":pw")) }
	headers = map[string]string{
		"nobody": "", "root": basic("root"), "reader": basic("reader"), "writer": basic("writer"),
	}
	on := func(privileges rights.Set, database, table string) *metapb.AccessGrant {
		return &metapb.AccessGrant{
			Kind: uint32(rights.Tables), Database: database, Name: table, Privileges: uint32(privileges),
		}
	}
	for name, one := range map[string]*metapb.AccessToken{
		"nothing": {User: "plain"}, "inserts": {Grants: []*metapb.AccessGrant{on(rights.Insert, "public", "web")}},
		"ingests": {IngestOnly: true, Grants: []*metapb.AccessGrant{on(rights.Insert|rights.Create, "public", "web")}},
		"other":   {Grants: []*metapb.AccessGrant{on(rights.OfTables, "other", "*")}},
	} {
		text, id := token.New()
		hash := token.Hash(text)
		one.Name, one.Id, one.Hash = name, id, hash[:]
		users.Apply(metaclient.AccessChanges{
			Principals: []*metapb.AccessPrincipal{{Name: "plain"}}, Tokens: []*metapb.AccessToken{one},
		})
		headers[name] = "Bearer " + text
	}
	return users, headers
}

// reaches says which senders reach the handler of a route that needs a privilege. Handlers check the objects of the
// request in addition.
var reaches = map[access.Privilege]string{
	access.Open:          "nobody nothing inserts ingests other reader writer root",
	access.SignedIn:      "nothing inserts ingests other reader writer root",
	access.PipelineTry:   "nothing inserts other reader root",
	access.Insert:        "inserts ingests other writer root",
	access.Select:        "other reader root",
	access.Delete:        "other root",
	access.PipelineRead:  "reader root",
	access.PipelineWrite: "root",
	access.Monitor:       "reader root",
	access.Operate:       "root",
	access.Backup:        "reader root",
	access.Query:         "nothing inserts other reader root",
	access.ManageAccess:  "root",
	access.ReadAudit:     "root",
}

var pathVariable = regexp.MustCompile(`\{\w+(:[^}]*)?\}`)

// TestEveryRouteAsEverySender sends a request to each route, with each of its methods, as each kind of sender. It takes
// the routes from the table, so it includes new ones.
func TestEveryRouteAsEverySender(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // refusals of some protocols wait for a second
		users, headers := senders(t)
		f := newWhole(t, func(c *Config) { c.Auth = users })
		const reached = 299
		stubbed := make([]route, len(f.table))
		for i, rt := range f.table {
			rt.handler = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(reached) }
			stubbed[i] = rt
		}
		h, err := f.build(stubbed, protocolUnder)
		if err != nil {
			t.Fatal(err)
		}
		asked := 0
		for _, rt := range stubbed {
			may, known := reaches[rt.needs]
			if !known {
				t.Errorf("%s needs %s: say who reaches it", rt.path, rt.needs)
			}
			if strings.Contains(rt.path, "{key}") {
				continue // the key is a credential, and TestDatadogCredentials sends it
			}
			path := pathVariable.ReplaceAllString(rt.path, "web")
			for _, method := range rt.methods {
				for name, header := range headers {
					r := httptest.NewRequest(method, path, nil)
					if header != "" {
						r.Header.Set("Authorization", header)
					}
					w := httptest.NewRecorder()
					h.ServeHTTP(w, r)
					asked++
					want := strings.Contains(" "+may+" ", " "+name+" ")
					refused := w.Code == http.StatusUnauthorized || w.Code == http.StatusForbidden
					if (w.Code == reached) != want || !want && !refused {
						t.Errorf("%s %s (%s) as %s: %d %s", method, path, rt.needs, name, w.Code, w.Body)
					}
				}
			}
		}
		if asked < 1000 {
			t.Errorf("only %d requests", asked)
		}
	})
}
