package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3filter"

	"cordwood/router/access/oidc/oidctest"
	"cordwood/test/cluster"
)

const asJSON = "application/json"

// sent is a request with the expected status.
type sent struct {
	request
	status int
	// wrong means that the request does not match the description.
	wrong bool
}

const pipelineText = `processors:
  - date: {field: t, formats: ['%Y-%m-%dT%H:%M:%SZ']}
transform:
  - {field: t, type: timestamp, index: timestamp}
  - {field: m, type: string}
`

// ingestion returns requests to a path that stores logs.
func ingestion(path string) []sent {
	to := path + "?table=logs&pipeline_name=svc_identity"
	post := func(path, kind, body string, header ...string) request {
		if kind != "" {
			header = append(header, "Content-Type", kind)
		}
		return request{method: "POST", path: path, body: body, header: header}
	}
	return []sent{
		{request: post(to, asJSON, `[{"a":1,"m":"x"},{"a":2}]`, "Idempotency-Key", "k1"), status: 200},
		{
			request: post(to, asJSON, `{"a":1}`, "x-svc-db-name", "public", "x-svc-hints", "ttl=7d",
				"x-svc-pipeline-params", "max_nested_levels=3"), status: 200,
		},
		{request: post(to, "application/x-ndjson", "{\"a\":3}\n"), status: 200},
		{request: post(to, "text/plain; charset=utf-8", "a line\n"), status: 200},
		{request: post(to, asJSON, "[]"), status: 200},
		{request: post(to+"&skip_error=true&on_reject=store", asJSON, `[{"a":1},{"a":"x"}]`), status: 200},
		{request: post(path+"?table=logs", asJSON, `[]`, "x-svc-pipeline-name", "svc_identity"), status: 200},
		{request: post(path+"?pipeline_name=svc_identity", asJSON, `[]`), status: 400, wrong: true},
		{request: post(to+"&skip_error=yes", asJSON, `[]`), status: 400, wrong: true},
		{request: post(to+"&on_reject=keep", asJSON, `[]`), status: 400, wrong: true},
		{request: post(to+"&custom_time_index=ts", asJSON, `[]`), status: 400, wrong: true},
		{request: post(to, asJSON, `[`), status: 400, wrong: true},
		{request: post(to, asJSON, `[{"a":"x"}]`), status: 400},
		{request: post(to+"&db=nowhere", asJSON, `[]`), status: 400},
		{request: post(path+"?table=logs&pipeline_name=none", asJSON, `[]`), status: 400},
		{request: post(path+"?table=a/b&pipeline_name=svc_identity", asJSON, `[]`), status: 400, wrong: true},
		{request: post(to, asJSON, `[]`, "Idempotency-Key", strings.Repeat("k", 256)), status: 400, wrong: true},
		{request: post(to, "image/png", `x`), status: 400, wrong: true},
		{request: post(to, "", `[]`), status: 400, wrong: true},
		{request: post(to, asJSON, `[]`, "x-svc-timeout", "soon"), status: 400},
		{request: post(to, asJSON, `[{"a":1}]`, "x-svc-timeout", "1ns"), status: 408},
		{request: post(to, asJSON, `[]`, "Content-Encoding", "lzma"), status: 415},
		{request: post(to, asJSON, `["`+strings.Repeat("x", 2<<20)+`"]`), status: 413},
	}
}

// management returns requests to the paths of pipelines, below prefix.
func management(prefix, name, dryRun string) []sent {
	at := prefix + "/" + name
	yaml := []string{"Content-Type", "application/x-yaml"}
	form := []string{"Content-Type", "multipart/form-data; boundary=b"}
	dry := func(query, body string) request {
		return request{method: "POST", path: dryRun + query, body: body, header: []string{"Content-Type", asJSON}}
	}
	return []sent{
		{request: request{method: "POST", path: at, body: pipelineText, header: yaml}, status: 200},
		{
			request: request{
				method: "POST", path: at,
				body:   "dispatcher: {field: k, rules: [{value: v, table_suffix: s, pipeline: gone}]}",
				header: []string{"Content-Type", "text/plain"},
			}, status: 200,
		},
		{
			request: request{
				method: "POST", path: at, body: "--b\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\n" +
					pipelineText + "\r\n--b--\r\n", header: form,
			}, status: 200,
		},
		{request: request{method: "POST", path: at, body: "processors: [{nope: {}}]", header: yaml}, status: 400},
		{request: request{method: "POST", path: prefix + "/svc_x", body: pipelineText, header: yaml}, status: 400},
		{
			request: request{method: "POST", path: prefix + "/a%20b", body: pipelineText, header: yaml}, status: 400,
			wrong: true,
		},
		{request: request{method: "POST", path: at, header: yaml}, status: 400, wrong: true},
		{
			request: request{method: "POST", path: at, body: "{}", header: []string{"Content-Type", asJSON}}, status: 415,
			wrong: true,
		},
		{
			request: request{method: "POST", path: at, body: strings.Repeat("#", 2<<20), header: yaml}, status: 413,
			wrong: true,
		},
		{request: request{method: "GET", path: at}, status: 200},
		{request: request{method: "GET", path: at + "?version=" + url.QueryEscape("2020-01-02T03:04:05Z")}, status: 400},
		{request: request{method: "GET", path: at + "?version=old"}, status: 400, wrong: true},
		{
			request: request{method: "DELETE", path: at + "?version=" + url.QueryEscape("2020-01-02 03:04:05.123")},
			status:  200,
		},
		{request: request{method: "DELETE", path: at}, status: 400, wrong: true},
		{request: dry("", `{"pipeline_name":"`+name+`","data":"{\"t\":\"2024-01-01T00:00:00Z\",\"m\":\"x\"}"}`), status: 200},
		{
			request: dry("?trace=true&table=logs", `{"pipeline_name":"`+name+
				`","data":[{"t":"2024-01-01T00:00:00Z","m":"x"},{"t":1}]}`), status: 200,
		},
		{request: dry("?pipeline_name=svc_identity&skip_error=true", `[{"a":1},{"a":"x"}]`), status: 200},
		{request: dry("", `{"pipeline":"processors: [{nope: {}}]","data":"{}"}`), status: 400},
		{request: dry("?trace=yes", `{}`), status: 400, wrong: true},
		{
			request: request{method: "POST", path: dryRun, body: "x", header: []string{"Content-Type", "image/png"}},
			status:  400, wrong: true,
		},
	}
}

// everything returns requests to every operation, in order.
func everything() []sent {
	out := slices.Concat(
		ingestion("/v1/ingest"), ingestion("/v1/events/logs"),
		management("/v1/pipelines", "edge", "/v1/pipelines/_dryrun"),
		management("/v1/events/pipelines", "old", "/v1/events/pipelines/dryrun"),
	)
	get := func(path string, status int, wrong bool, header ...string) {
		out = append(out, sent{request{method: "GET", path: path, header: header}, status, wrong})
	}
	post := func(path, kind, body string, status int, wrong bool) {
		r := request{method: "POST", path: path, body: body}
		if kind != "" {
			r.header = []string{"Content-Type", kind}
		}
		out = append(out, sent{r, status, wrong})
	}
	post("/v1/events/pipelines/_dryrun?pipeline_name=edge", "application/x-ndjson", `{"t":"2024-01-01T00:00:00Z"}`, 200,
		false)
	post("/v1/events/pipelines/_dryrun", asJSON, `{}`, 400, false)
	get("/v1/pipelines", 200, false)
	get("/v1/pipelines?name=edge", 200, false)
	get("/v1/pipelines?name=a&name=b", 400, false)
	get("/v1/pipelines/edge/ddl?table=x", 200, false)
	get("/v1/pipelines/edge/ddl", 400, true)
	get("/v1/pipelines/svc_identity/ddl?table=x", 400, false)

	query := "/v1/sql?sql=" + url.QueryEscape("SELECT * FROM logs")
	for _, form := range []string{
		"svcdb_v1", "ndjson", "csv", "csvWithNames", "csvWithNamesAndTypes", "table", "arrow",
		"parquet",
	} {
		get(query+"&format="+form, 200, false)
	}
	get(query+"&limit=2&allow_partial=true&db=public", 200, false, "x-svc-timezone", "UTC", "x-svc-timeout", "10s")
	get("/v1/sql?sql="+url.QueryEscape("SHOW DATABASES; DESC logs"), 200, false)
	for _, status := range []int{200, 422} {
		insert := "INSERT INTO logs (a) VALUES (" + fmt.Sprint(status) + ")"
		out = append(out, sent{
			request: request{
				method: "POST", path: "/v1/sql", body: insert,
				header: []string{"Content-Type", "application/sql", "Idempotency-Key", "k2"},
			}, status: status,
		})
	}
	get("/v1/sql?sql="+url.QueryEscape("CREATE DATABASE IF NOT EXISTS shop"), 405, false)
	post("/v1/sql?sql="+url.QueryEscape("CREATE DATABASE IF NOT EXISTS shop; SHOW DATABASES"), "", "", 200, false)
	get("/v1/sql", 400, true)
	get(query+"&format=xml", 400, true)
	get(query+"&limit=-1", 400, true)
	get(query+"&allow_partial=perhaps", 400, true)
	get("/v1/sql?sql=SELEC", 400, false)
	get("/v1/sql?sql="+url.QueryEscape("SELECT * FROM nowhere"), 400, false)
	get("/v1/sql?sql="+url.QueryEscape("SELECT 'x'::INT"), 400, false)
	get(query, 408, false, "x-svc-timeout", "1ns")
	post("/v1/sql", "application/sql", "SELECT 1", 200, false)
	post("/v1/sql?format=csv", "text/plain", "SELECT 1", 200, false)
	post("/v1/sql", "application/x-www-form-urlencoded", "sql=SELECT+1&limit=3", 200, false)
	post("/v1/sql?sql=SELECT+1", "application/sql", "SELECT 1", 400, false)
	post("/v1/sql", asJSON, `{"sql":"SELECT 1"}`, 400, true)
	post("/v1/sql", "", "", 400, false)
	out = append(out, sent{
		request{
			method: "POST", path: "/v1/sql", body: "x",
			header: []string{"Content-Encoding", "lzma", "Content-Type", "application/sql"},
		}, 415, false,
	})
	post("/v1/sql", "application/sql", strings.Repeat(" ", 2<<20), 413, false)

	const structured = `{"table":{"table_name":"logs"},"time_filter":{"span":3600}}`
	get("/v1/logs?query="+url.QueryEscape(structured), 200, false)
	get("/v1/logs?format=csv&query="+url.QueryEscape(structured), 200, false)
	get("/v1/logs", 400, true)
	get("/v1/logs?query=%7B%7D", 400, false)
	post("/v1/logs", asJSON, structured, 200, false)
	post("/v1/logs", asJSON, `{"table":1}`, 400, true)
	post("/v1/logs", asJSON, structured[:len(structured)-1]+strings.Repeat(" ", 2<<20)+"}", 413, false)

	for what, body := range map[string]string{
		"fields": "", "compile": `,"plan":true`, "rows": `,"limit":1`, "hits": `,"by":"a"`, "facets": `,"fields":["a"]`,
		"values": `,"field":"a"`, "patterns": `,"field":"m","before":true`,
	} {
		path := "/v1/explore/" + what
		post(path, asJSON, `{"tables":["logs"],"from":"-1h","query":"-a:9"`+body+`}`, 200, false)
		post(path, asJSON, `{"tables":["nowhere"]`+body+`}`, 400, false)
		post(path, asJSON, `{"tables":["logs"],"query":"(a"`+body+`}`, 400, false)
		post(path, asJSON, `{"tables":[]`+body+`}`, 400, true)
		post(path, asJSON, `{"tables":["logs"],"query":"`+strings.Repeat("x", 70_000)+`"`+body+`}`, 413, true)
	}
	post("/v1/explore/compare", asJSON, `{"a":{"tables":["logs"],"query":"a:1"},"b":{"tables":["logs"]},"rest":true}`, 200,
		false)
	post("/v1/explore/compare", asJSON, `{"a":{"tables":["logs"]},"b":{"tables":["none"]}}`, 400, false)
	post("/v1/explore/compare", asJSON, `{"a":{"tables":["logs"]}}`, 400, true)
	const row = `{"table":"logs","id":"1767607201000000000-01d7249fa549a69e"`
	post("/v1/explore/row", asJSON, row+`}`, 404, false)
	post("/v1/explore/row", asJSON, `{"table":"logs","id":"x"}`, 400, false)
	post("/v1/explore/context", asJSON, row+`,"before":1}`, 404, false)
	post("/v1/explore/context", asJSON, row+`,"before":201}`, 400, true)

	out = append(out, forPages()...)

	get("/v1/access/whoami", 200, false)
	get("/v1/access/whoami", 400, false, "x-svc-timeout", "soon")
	get("/v1/access/state", 400, false, "x-svc-timeout", "soon")
	post("/v1/access/check", asJSON, `[{"privilege":"SELECT","object":"app.web"}]`, 200, false)
	post("/v1/access/check", asJSON, `[{"privilege":"FLY","object":"app.web"}]`, 400, false)
	post("/v1/access/check", asJSON, `{}`, 400, true)
	const first = `{"token":"cwb_x","name":"boss","password":"correct horse battery"}`
	post("/v1/access/bootstrap", asJSON, first, 401, false)
	post("/v1/access/bootstrap", asJSON, `{"token":"cwb_x","name":"boss"}`, 400, true)
	post("/v1/access/bootstrap", asJSON, `{"token":"`+strings.Repeat("x", 10_000)+`"}`, 413, true)
	out = append(out, aboutUsers()...)
	get("/v1/session", 200, false)
	get("/v1/session", 400, false, "x-svc-timeout", "soon")
	post("/v1/session", asJSON, `{"user":"query","password":"q"}`, 204, false)
	post("/v1/session", asJSON, `{"user":"query","password":"no"}`, 401, false)
	post("/v1/session", asJSON, `{"user":"nobody","password":"no"}`, 401, false)
	post("/v1/session", asJSON, `{"user":"query"}`, 400, true)
	post("/v1/session", asJSON, `{"user":"query","password":"`+strings.Repeat("x", 10_000)+`"}`, 413, false)
	out = append(out, sent{request{method: "DELETE", path: "/v1/session"}, 204, false})
	get("/v1/session/oidc/login?to=/dashboard/", 400, false) // the server has no OIDC provider
	get("/v1/session/oidc/callback?code=a&state=b", 400, false)

	get("/v1/tail?table=logs&since=1h&where="+url.QueryEscape("a >= 1"), 200, false, "x-svc-timeout", "1s")
	get("/v1/tail?table=logs", 200, false, "x-svc-timeout", "1s", "Accept", "text/event-stream")
	get("/v1/tail", 400, true)
	get("/v1/tail?table=none", 400, false)
	get("/v1/tail?table=logs&where=)", 400, false)
	get("/v1/tail?table=logs&since=yesterday", 400, false)

	get("/v1/cluster", 200, false)
	get("/v1/cluster", 400, false, "x-svc-timeout", "soon")
	get("/v1/cluster/plan", 200, false)
	get("/v1/cluster/plan", 400, false, "x-svc-timeout", "soon")
	operations := "/v1/cluster/operations"
	post(operations, asJSON, `{"kind":"shard-add","count":1}`, 200, false)
	post(operations, asJSON, `{"kind":"rebalance-pause"}`, 200, false)
	post(operations, asJSON, `{"kind":"shard-dance"}`, 400, true)
	post(operations, asJSON, `{"kind":"shard-add","colour":"red"}`, 400, true)
	post(operations, asJSON, `{"kind":"shard-add"} {}`, 400, false)
	post(operations, asJSON, "", 400, true)
	post(operations, asJSON, `{"kind":"`+strings.Repeat("x", 70_000)+`"}`, 413, true)
	get(operations, 200, false)
	get(operations, 400, false, "x-svc-timeout", "soon")
	get(operations+"/1000", 404, false)
	get(operations+"/one", 400, true)
	out = append(out, sent{request{method: "DELETE", path: operations + "/1000"}, 404, false})

	for _, path := range []string{"/health", "/v1/health", "/ready"} {
		get(path, 200, false)
		post(path, "", "", 200, false)
	}
	for _, path := range []string{"/", "/status", "/metrics", "/config", "/v1/openapi.json", "/ready?for=writes"} {
		get(path, 200, false)
	}
	get("/v1/openapi.json", 400, false, "x-svc-timeout", "soon")
	get("/config", 400, false, "x-svc-timeout", "soon")
	get("/admin/rpc", 426, true)
	get("/admin/rpc", 101, false, "Upgrade", "cordwood-rpc", "Connection", "Upgrade")
	return out
}

// aboutUsers returns requests about users, roles, grants and tokens.
func aboutUsers() []sent {
	var out []sent
	add := func(method, path, body string, status int, wrong bool) {
		var header []string
		if body != "" {
			header = []string{"Content-Type", asJSON}
		}
		r := request{method: method, path: "/v1/access/" + path, body: body, header: header}
		out = append(out, sent{r, status, wrong})
	}
	add("POST", "users", `{"name":"ann","password":"correct horse battery"}`, 200, false)
	add("POST", "users", `{"name":"ann"}`, 400, false)
	add("POST", "users", `{"name":1}`, 400, true)
	add("PUT", "users/ann", `{"disabled":false,"valid_until":"2030-01-31"}`, 200, false)
	add("PUT", "users/ann", `{}`, 400, false)
	add("POST", "roles", `{"name":"team"}`, 200, false)
	add("POST", "roles", `{}`, 400, true)
	add("PUT", "roles/team", `{"groups":["devs","ops"]}`, 200, false)
	add("GET", "state", "", 200, false)
	add("PUT", "state?dry_run=true", `{"roles":{"team":{"groups":["devs"]}}}`, 200, false)
	add("PUT", "state", `{"roles":{"team":{"groups":["devs","ops"]}}}`, 200, false)
	add("PUT", "state", `{"users":{"ann":{"grants":["FLY ON x.y"]}}}`, 400, false)
	add("PUT", "state", `{"people":{}}`, 400, true)
	add("PUT", "state", `{"users":{"x":{"database":"`+strings.Repeat("x", 1<<20)+`"}}}`, 413, false)
	add("PUT", "roles/team", `{"groups":["devs","devs"]}`, 400, false)
	add("PUT", "roles/team", `{}`, 400, true)
	add("POST", "grants", `{"privileges":["SELECT"],"on":["logs"],"principals":["ann","team"]}`, 200, false)
	add("POST", "grants", `{"roles":["team"],"principals":["ann"]}`, 200, false)
	add("POST", "grants", `{"roles":["team"],"principals":["nobody"]}`, 400, false)
	add("POST", "grants", `{"privileges":["FLY"],"on":["logs"],"principals":["ann"]}`, 400, false)
	add("POST", "tokens", `{"name":"t1","ingest_into":"logs","expires_in":"1d"}`, 200, false)
	add("POST", "tokens", `{"name":"t1","user":"ann"}`, 400, false)
	add("PUT", "tokens/t1", `{"from":["192.0.2.0/24"],"note":"one"}`, 200, false)
	add("PUT", "tokens/t1", `{"query_on":"logs"}`, 400, false)
	add("POST", "tokens/t1/rotate", `{"overlap":"1h"}`, 200, false)
	add("POST", "tokens/t1/rotate", `{"overlap":"1y"}`, 400, false)
	for _, list := range []string{"users", "roles", "tokens"} {
		add("GET", list+"?like=t%25&limit=10&offset=0", "", 200, false)
		add("GET", list+"?limit=0", "", 400, true)
	}
	add("GET", "grants?for=ann", "", 200, false)
	add("GET", "grants?for=nobody", "", 400, false)
	add("GET", "audit?action=grant&limit=10", "", 200, false)
	add("GET", "audit?limit=0", "", 400, true)
	for _, one := range []string{"tokens/t1", "roles/team", "users/ann"} {
		add("GET", one, "", 200, false)
		add("GET", one+"-not", "", 404, false)
		add("DELETE", one, "", 200, false)
		add("DELETE", one, "", 400, false)
	}
	return out
}

// forPages returns requests for editors of pipelines, rejected records, and values that users save
// for a page.
func forPages() []sent {
	var out []sent
	add := func(method, path, body string, status int, wrong bool, header ...string) {
		if body != "" {
			header = append(header, "Content-Type", asJSON)
		}
		out = append(out, sent{request{method: method, path: path, body: body, header: header}, status, wrong})
	}
	for _, path := range []string{"/v1/pipelines/_schema", "/v1/vrl/functions", "/v1/saved"} {
		add("GET", path, "", 200, false)
		add("GET", path, "", 400, false, "x-svc-timeout", "soon")
	}
	add("POST", "/v1/rejects/replay", `{"db":"public","table":"logs","dry_run":true}`, 200, false)
	add("POST", "/v1/rejects/replay", `{"since":"yesterday"}`, 400, false)
	add("POST", "/v1/rejects/replay", `{"colour":"red"}`, 400, true)

	add("POST", "/v1/saved/link", `{"page":"explore","q":"a"}`, 200, false)
	add("POST", "/v1/saved/link", `{`, 400, true)
	one := "/v1/saved/search/late"
	add("PUT", one, `{"q":"level:error"}`, 200, false, "If-None-Match", "*")
	add("PUT", one, `{"q":"level:error"}`, 412, false, "If-None-Match", "*")
	add("PUT", one, `{"q":"level:error"}`, 400, false)
	add("GET", one, "", 200, false)
	add("GET", "/v1/saved/search/none", "", 404, false)
	add("DELETE", one, "", 412, false, "If-Match", `"9"`)
	add("DELETE", one, "", 200, false, "If-Match", `"2"`) // the link has version 1
	return out
}

// TestOpenAPI sends these requests, and compares requests and answers with the description. Every
// operation must get a valid and an invalid request.
func TestOpenAPI(t *testing.T) {
	t.Parallel()
	s := start(t, "--http-body-limit", "1MiB")
	good, bad := map[string]bool{}, map[string]bool{}
	check := s.checker(t, good, bad)
	for _, c := range everything() {
		a := check(c)
		if in, err := s.described(c.request); c.method == "GET" && err == nil &&
			s.doc.Paths.Value(in.Route.Path).Head != nil {
			c.method = "HEAD"
			if head := check(c); len(head.body) > 0 || head.header.Get("Content-Type") != a.header.Get("Content-Type") {
				t.Errorf("HEAD %s: %d bytes of type %q; GET has %q", c.path, len(head.body),
					head.header.Get("Content-Type"), a.header.Get("Content-Type"))
			}
		}
	}
	s.checkOperation(t, check, good)
	s.checkRow(t, check)
	s.checkBootstrap(t, good, bad)
	s.checkOIDC(t, good, bad)
	for path, item := range s.doc.Paths.Map() {
		for method, op := range item.Operations() {
			key := method + " " + path
			if !good[key] {
				t.Errorf("%s got no valid request", key)
			}
			if !bad[key] && op.Extensions["x-permission"] != "open" {
				t.Errorf("%s got no invalid request", key)
			}
		}
	}
	if t.Failed() {
		t.Logf("%d operations got requests", len(slices.Collect(maps.Keys(good))))
	}
}

// checker returns a function that sends a request, and compares the request and its answer with the
// description. It records in good and bad which operations succeeded and failed.
func (s *server) checker(t *testing.T, good, bad map[string]bool) func(sent) answer {
	return func(c sent) answer {
		t.Helper()
		name := fmt.Sprintf("%s %.120s %.60q %q", c.method, c.path, c.body, c.header)
		in, err := s.described(c.request)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return answer{}
		}
		err = openapi3filter.ValidateRequest(context.Background(), in)
		if (err != nil) != c.wrong {
			t.Errorf("%s: the request does not match the description: %v", name, err)
		}
		// The validation has consumed the body.
		if in, err = s.described(c.request); err != nil {
			t.Fatal(err)
		}
		a := s.send(t, c.request)
		if a.status != c.status {
			t.Errorf("%s: status %d, want %d: %.300s", name, a.status, c.status, a.body)
			return a
		}
		if err := checkAnswer(in, a); err != nil {
			t.Errorf("%s: %d: %v", name, a.status, err)
		}
		key := c.method + " " + in.Route.Path
		good[key] = good[key] || a.status < 400
		bad[key] = bad[key] || a.status >= 400
		return a
	}
}

// checkBootstrap creates the first administrator of another server, whose cluster has none, and then fails to create a
// second one.
func (s *server) checkBootstrap(t *testing.T, good, bad map[string]bool) {
	t.Helper()
	dir := t.TempDir()
	other := &server{Node: cluster.NewAt(t, dir, "--auth", "on"), doc: s.doc, router: s.router}
	other.Start()
	token, err := os.ReadFile(filepath.Join(dir, "bootstrap-token"))
	if err != nil {
		t.Fatal(err)
	}
	r := request{
		method: "POST", path: "/v1/access/bootstrap", header: []string{"Content-Type", asJSON}, user: "-",
		body: fmt.Sprintf(`{"token":%q,"name":"boss","password":"correct horse battery"}`, strings.TrimSpace(string(token))),
	}
	check := other.checker(t, good, bad)
	check(sent{r, 200, false})
	check(sent{r, 409, false})
}

// checkOIDC signs in with the OIDC provider of a server.
func (s *server) checkOIDC(t *testing.T, good, bad map[string]bool) {
	t.Helper()
	provider := oidctest.New(t, oidctest.EC(t, "k1"))
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(oidctest.Secret), 0o600); err != nil {
		t.Fatal(err)
	}
	other := &server{doc: s.doc, router: s.router, Node: cluster.New(t, "--user-provider", users, "--oidc-issuer",
		provider.URL, "--oidc-client-id", oidctest.ClientID, "--oidc-client-secret-file", secret)}
	other.Start()
	check := other.checker(t, good, bad)
	asAdmin := func(method, path, body string) {
		check(sent{request{
			method: method, path: "/v1/access/" + path, body: body, header: []string{"Content-Type", asJSON},
		}, 200, false})
	}
	asAdmin("POST", "roles", `{"name":"team"}`)
	asAdmin("POST", "grants", `{"privileges":["SELECT"],"on":["logs"],"principals":["team"]}`)
	asAdmin("PUT", "roles/team", `{"groups":["devs"]}`)
	for _, method := range []string{"GET", "HEAD"} {
		a := check(sent{request{method: method, path: "/v1/session/oidc/login", user: "-"}, 303, false})
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.header.Get("Location"), nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultTransport.RoundTrip(r) // without following the redirect
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		back, err := url.Parse(resp.Header.Get("Location"))
		if err != nil {
			t.Fatal(err)
		}
		cookie, _, _ := strings.Cut(a.header.Get("Set-Cookie"), ";")
		returns := request{method: method, path: back.RequestURI(), user: "-", header: []string{"Cookie", cookie}}
		check(sent{returns, 303, false})
	}
}

// checkRow requests an existing row, and the rows around it.
func (s *server) checkRow(t *testing.T, check func(sent) answer) {
	t.Helper()
	post := func(what, body string) answer {
		return check(sent{
			request: request{
				method: "POST", path: "/v1/explore/" + what, body: body, header: []string{"Content-Type", asJSON},
			}, status: 200,
		})
	}
	var page struct{ Rows []struct{ ID string } }
	if err := json.Unmarshal(post("rows", `{"tables":["logs"]}`).body, &page); err != nil || len(page.Rows) == 0 {
		t.Fatalf("no row: %v", err)
	}
	place := `{"table":"logs","id":"` + page.Rows[0].ID + `"}`
	post("row", place)
	post("context", place)
}

// checkOperation requests an existing operation and cancels it. If the operation has ended, it answers 409 to a valid
// request, which also counts as good.
func (s *server) checkOperation(t *testing.T, check func(sent) answer, good map[string]bool) {
	t.Helper()
	a := check(sent{request: request{method: "GET", path: "/v1/cluster/operations"}, status: 200})
	var list struct {
		Operations []struct {
			ID json.Number `json:"id"`
		} `json:"operations"`
	}
	d := json.NewDecoder(bytes.NewReader(a.body))
	if err := d.Decode(&list); err != nil || len(list.Operations) == 0 {
		t.Fatalf("no operation: %v: %s", err, a.body)
	}
	at := "/v1/cluster/operations/" + list.Operations[0].ID.String()
	check(sent{request: request{method: "GET", path: at}, status: 200})
	check(sent{request: request{method: "HEAD", path: at}, status: 200})
	in, err := s.described(request{method: "DELETE", path: at})
	if err != nil {
		t.Fatal(err)
	}
	if a := s.send(t, request{method: "DELETE", path: at}); a.status == 200 {
		check(sent{request: request{method: "DELETE", path: at}, status: 200})
	} else if err := checkAnswer(in, a); err != nil {
		t.Errorf("DELETE %s: %v", at, err)
	} else if a.status == 409 {
		good[in.Route.Method+" "+in.Route.Path] = true
	}
}
