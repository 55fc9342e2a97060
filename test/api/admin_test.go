package api

import (
	"encoding/json"
	"strings"
	"testing"

	"cordwood/test/cluster"
)

// administration returns requests to the administrator's port.
func administration() []sent {
	get := func(path string) request { return request{method: "GET", path: path, user: "-"} }
	with := func(method, path, body string) request {
		return request{method: method, path: path, body: body, user: "-", header: []string{"Content-Type", "text/plain"}}
	}
	return []sent{
		{request: get("/"), status: 200},
		{request: get("/openapi.json"), status: 200},
		{request: get("/health"), status: 200},
		{request: get("/ready"), status: 200},
		{request: get("/metrics"), status: 200},
		{request: get("/log-level"), status: 200},
		{request: with("PUT", "/log-level", "loud"), status: 400, wrong: true},
		{request: with("PUT", "/log-level", strings.Repeat("debug", 20)), status: 400, wrong: true},
		{request: with("PUT", "/log-level", "Debug\n"), status: 200},
		{request: get("/log-level"), status: 200},
		{request: with("POST", "/drain?wait=soon", ""), status: 400, wrong: true},
		{request: with("POST", "/drain?wait=-1s", ""), status: 400, wrong: true},
		{request: with("POST", "/drain?wait=11m", ""), status: 400},
		{request: with("POST", "/drain?wait=1ms", ""), status: 200},
		{request: get("/ready"), status: 503},
		{request: get("/health"), status: 200},
		{request: with("POST", "/drain?wait=0", ""), status: 200},
		{request: with("DELETE", "/drain", ""), status: 200},
		{request: get("/ready"), status: 200},
		{request: get("/debug/pprof/"), status: 200},
		{request: get("/debug/pprof/goroutine?debug=1"), status: 200},
		{request: get("/debug/pprof/heap?gc=1"), status: 200},
		{request: get("/debug/pprof/nothing"), status: 404},
		{request: get("/debug/pprof/profile?seconds=1"), status: 200},
		{request: get("/debug/pprof/trace?seconds=0.01"), status: 200},
		{request: get("/debug/pprof/cmdline"), status: 200},
		{request: get("/debug/pprof/symbol?0x1"), status: 200},
	}
}

// TestAdminOpenAPI compares the administrator's port with its description, as TestOpenAPI does for
// the port for users.
func TestAdminOpenAPI(t *testing.T) {
	t.Parallel()
	registerDecoders()
	admin := cluster.FreeAddr(t)
	s := &server{Node: cluster.New(t, "--admin-addr", admin)}
	s.Start()
	s.HTTP = "http://" + admin
	s.describe(t, "/openapi.json")
	good, bad := map[string]bool{}, map[string]bool{}
	check := s.checker(t, good, bad)
	for _, c := range administration() {
		a := check(c)
		if c.path == "/" {
			for line := range strings.Lines(string(a.body)) {
				if f := strings.Fields(line); len(f) > 1 && strings.HasPrefix(f[1], "/") &&
					s.doc.Paths.Value(f[1]).GetOperation(f[0]) == nil {
					t.Errorf("the page at / lists %s %s, which is not described", f[0], f[1])
				}
			}
			for path := range s.doc.Paths.Map() {
				if !strings.HasPrefix(path, "/debug/pprof/") && path != "/" && !strings.Contains(string(a.body), " "+path+" ") {
					t.Errorf("the page at / does not list %s", path)
				}
			}
		}
		if c.path == "/openapi.json" && !json.Valid(a.body) {
			t.Errorf("the description is not JSON")
		}
	}
	for path, item := range s.doc.Paths.Map() {
		for method, op := range item.Operations() {
			key := method + " " + path
			if !good[key] {
				t.Errorf("%s got no valid request", key)
			}
			if op.Responses.Status(400) != nil && !bad[key] {
				t.Errorf("%s got no invalid request", key)
			}
		}
	}
}
