package api

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"cordwood/test/cluster"
)

// changing lists statements and parameters that would change something.
var changing = []string{
	"", "sql=DROP+TABLE+kept", "sql=CREATE+DATABASE+made", "sql=SELECT+1;TRUNCATE+TABLE+kept",
	"sql=INSERT+INTO+kept(a)+VALUES(2)",
	"table=made&pipeline_name=svc_identity", "version=1", "wait=0s", "level=debug", "kind=shard-add", "count=1",
	"_method=DELETE",
}

// TestReadsChangeNothing sends GET and HEAD, as a user with all permissions, to every path of the ports for users and
// administrators, with parameters and bodies with which other methods change something. Tables, rows, pipelines,
// operations, the log level and the node's readiness must not change.
func TestReadsChangeNothing(t *testing.T) {
	t.Parallel()
	addr := cluster.FreeAddr(t)
	s := start(t, "--admin-addr", addr)
	admin := &server{Node: &cluster.Node{HTTP: "http://" + addr}}
	admin.describe(t, "/openapi.json")
	for _, r := range []request{
		{
			method: "POST", path: "/v1/ingest?table=kept&pipeline_name=svc_identity", body: `[{"a":1}]`,
			header: []string{"Content-Type", asJSON},
		},
		{
			method: "POST", path: "/v1/pipelines/kept", body: pipelineText,
			header: []string{"Content-Type", "application/x-yaml"},
		},
	} {
		if a := s.send(t, r); a.status != 200 {
			t.Fatalf("%s: %d %s", r.path, a.status, a.body)
		}
	}
	before := s.state(t, admin)
	sent := 0
	for _, port := range []*server{s, admin} {
		for path := range port.doc.Paths.Map() {
			if strings.HasPrefix(path, "/debug/pprof/") && path != "/debug/pprof/" {
				continue // takes a long time
			}
			at := strings.NewReplacer("{name}", "kept", "{id}", "1").Replace(path)
			for _, method := range []string{"GET", "HEAD"} {
				for _, query := range changing {
					a := port.send(t, request{
						method: method, path: at + "?" + query, body: `{"kind":"shard-add","count":1}`,
						header: []string{"Content-Type", asJSON, "X-Http-Method-Override", "DELETE", "x-svc-timeout", "200ms"},
					})
					if sent++; a.status >= 500 && a.status != http.StatusGatewayTimeout {
						t.Errorf("%s %s?%s: %d %.200s", method, at, query, a.status, a.body)
					}
					if strings.Contains(query, "sql=") && path == "/v1/sql" && (a.status != 405 ||
						a.header.Get("Allow") != "POST" || a.header.Get("X-Svc-Err-Code") != "1001") {
						t.Errorf("%s %s?%s: %d %v", method, at, query, a.status, a.header)
					}
				}
			}
		}
	}
	if sent < 500 {
		t.Errorf("only %d requests were sent", sent)
	}
	if after := s.state(t, admin); after != before {
		t.Errorf("reads changed\n%s\nto\n%s", before, after)
	}
}

var volatile = regexp.MustCompile(`"execution_time_ms":\d+`)

// state returns, as text, everything that requests can change.
func (s *server) state(t *testing.T, admin *server) string {
	t.Helper()
	var out strings.Builder
	for _, sql := range []string{"SHOW DATABASES", "SHOW FULL TABLES", "SELECT a FROM kept", "SHOW CREATE TABLE kept"} {
		a := s.send(t, request{
			method: "POST", path: "/v1/sql", body: sql, header: []string{"Content-Type", "application/sql"},
		})
		if a.status != 200 || !json.Valid(a.body) {
			t.Fatalf("%s: %d %s", sql, a.status, a.body)
		}
		out.WriteString(sql + " " + volatile.ReplaceAllString(string(a.body), "") + "\n")
	}
	for _, path := range []string{"/v1/pipelines?name=kept", "/v1/cluster/operations"} {
		out.WriteString(path + " " +
			volatile.ReplaceAllString(string(s.send(t, request{method: "GET", path: path}).body), "") + "\n")
	}
	for _, path := range []string{"/ready", "/log-level"} {
		a := admin.send(t, request{method: "GET", path: path})
		out.WriteString(path + " " + http.StatusText(a.status) + " " + string(a.body) + "\n")
	}
	return out.String()
}
