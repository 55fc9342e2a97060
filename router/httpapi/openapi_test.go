package httpapi

import (
	"context"
	"encoding/json"
	"maps"
	"net"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/gorilla/mux"

	"cordwood/router/access"
	"cordwood/router/explore/scope"
	"cordwood/router/httpapi/about"
	"cordwood/router/httpapi/clusterapi"
	"cordwood/router/httpapi/dryrun"
	"cordwood/router/httpapi/explore"
)

// newWhole returns a server that has all routes.
func newWhole(t testing.TB, change ...func(*Config)) *pipelineFixture {
	explorer, err := explore.New(explore.Config{Source: struct{ scope.Source }{}})
	if err != nil {
		t.Fatal(err)
	}
	nothing := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	return newPipelineFixture(t, append([]func(*Config){func(c *Config) {
		c.Cluster, c.SQL, c.LogQuery, c.Tail = &fakeCluster{}, nothing, nothing, nothing
		c.Saved = &fakeSaved{}
		c.Explore, c.Page = explorer, nothing
		c.Tunnel = func(conn net.Conn, _ *access.Caller) { conn.Close() }
	}}, change...)...)
}

// described returns the document as the server serves it.
func described(t testing.TB, f *pipelineFixture) *openapi3.T {
	t.Helper()
	w := f.call("GET", "/v1/openapi.json", "")
	if w.Code != 200 || w.Header().Get("Content-Type") != "application/json" {
		t.Fatalf("%d %v", w.Code, w.Header())
	}
	doc, err := openapi3.NewLoader().LoadFromData(w.Body.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// TestRoutesAreDescribed compares the routes that there are with the description, method
// for method, and who may use them.
func TestRoutesAreDescribed(t *testing.T) {
	f := newWhole(t)
	doc := described(t, f)
	// The paths of other systems' protocols are left out: those systems describe them. So is the page for browsers.
	ours := slices.DeleteFunc(slices.Clone(f.table), func(r route) bool {
		return r.refuse != nil && r.path != logsPath || r.page
	})
	d, err := f.gate.dispatch(ours, protocolUnder)
	if err != nil {
		t.Fatal(err)
	}
	needs := map[string]access.Privilege{}
	for _, r := range ours {
		for _, m := range r.methods {
			needs[m+" "+r.path] = r.needs
		}
	}
	routed := map[string]bool{}
	err = d.Walk(func(r *mux.Route, _ *mux.Router, _ []*mux.Route) error {
		path, err := r.GetPathTemplate()
		if err != nil {
			return err
		}
		methods, _ := r.GetMethods() // none: it refuses the others
		for _, m := range methods {
			routed[m+" "+path] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(routed) < 40 || len(routed) != len(needs) {
		t.Fatalf("%d routes were found, of %d", len(routed), len(needs))
	}
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			key := method + " " + path
			if !routed[key] {
				t.Errorf("%s is described, and there is no such route", key)
				continue
			}
			delete(routed, key)
			if got := op.Extensions["x-permission"]; got != needs[key].String() {
				t.Errorf("%s is for %v, it says; the route is for %s", key, got, needs[key])
			}
			// Whoever is asked for a user learns so by the list of ways to say it.
			asked := op.Security == nil || len(*op.Security) > 0
			if asked != (needs[key] != access.Open) && path != "/config" {
				t.Errorf("%s: security is %v, and the route is for %s", key, op.Security, needs[key])
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(routed)) {
		t.Errorf("%s is not described: add it to router/httpapi/openapi/document", key)
	}
}

// TestForeignPathsAreNamed: the description names each path at which another system's protocol is taken, and no other.
func TestForeignPathsAreNamed(t *testing.T) {
	f := newWhole(t)
	text := described(t, f).Info.Description
	_, table, _ := strings.Cut(text, "**Protocols of other systems**")
	named := map[string]bool{}
	for i, part := range strings.Split(table, "`") {
		if i%2 == 1 {
			named[part] = true
		}
	}
	for _, r := range f.table {
		if r.refuse == nil || r.needs != access.Insert && r.path != logsPath {
			continue
		}
		path := strings.ReplaceAll(r.path, index, "/{index}")
		if !named[path] {
			t.Errorf("%s is not named in router/httpapi/openapi/document/0_head.yaml", path)
		}
		delete(named, path)
		named[path+" "] = true
	}
	for path := range named {
		if !strings.HasSuffix(path, " ") {
			t.Errorf("%s is named, and there is no such path", path)
		}
	}
}

// TestUndeclaredRoute has a route refused that does not say who may use it.
func TestUndeclaredRoute(t *testing.T) {
	f := newFixture(t)
	_, err := f.gate.dispatch([]route{{methods: get, path: "/v1/new", handler: f.handlers.about.Index}}, protocolUnder)
	if err == nil || !strings.Contains(err.Error(), "/v1/new does not say who may use it") {
		t.Error(err)
	}
}

// TestSchemasOfStructs compares the schemas of answers that are made from structs with
// these: the names, and which may be missing.
func TestSchemasOfStructs(t *testing.T) {
	doc := described(t, newWhole(t))
	for name, value := range map[string]any{
		"ClusterStatus": clusterapi.Status{}, "ClusterProblem": clusterapi.Problem{}, "ClusterNode": clusterapi.Node{},
		"ClusterShard":     clusterapi.Shard{},
		"ClusterOperation": clusterapi.Operation{}, "ClusterAnswer": clusterapi.Answer{}, "ClusterPlan": clusterapi.Plan{},
		"ClusterLoad": clusterapi.Load{},
		"ClusterMove": clusterapi.Move{}, "Status": about.Status{}, "DryRunForm": dryrun.Form{},
		"ClusterRequest": clusterapi.Request{}, "Session": Session{},
	} {
		schema := doc.Components.Schemas[name]
		if schema == nil {
			t.Errorf("%s is not described", name)
			continue
		}
		var names, always []string
		of := reflect.TypeOf(value)
		for i := range of.NumField() {
			field, rest, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
			names = append(names, field)
			if rest == "" {
				always = append(always, field)
			}
		}
		slices.Sort(names)
		if got := slices.Sorted(maps.Keys(schema.Value.Properties)); !slices.Equal(got, names) {
			t.Errorf("%s: described are %v, and there are %v", name, got, names)
		}
		if name == "DryRunForm" {
			continue // its members are required by other rules
		}
		slices.Sort(always)
		if required := slices.Sorted(slices.Values(schema.Value.Required)); !slices.Equal(required, always) {
			t.Errorf("%s: %v are required, and there are always %v", name, required, always)
		}
	}
}

// TestDocumentNeedsUser has the description shown to users only, as which paths there are.
func TestDocumentNeedsUser(t *testing.T) {
	f := newWhole(t, func(c *Config) { c.Auth = byUser{} })
	if w := f.call("GET", "/v1/openapi.json", ""); w.Code != 401 {
		t.Errorf("without a user: %d", w.Code)
	}
	for _, user := range []string{"rw", "ro", "wo"} {
		w := f.call("GET", "/v1/openapi.json", "", "Authorization", user)
		if w.Code != 200 || !json.Valid(w.Body.Bytes()) {
			t.Errorf("%s: %d", user, w.Code)
		}
	}
	if err := described(t, newWhole(t)).Validate(context.Background()); err != nil {
		t.Error(err)
	}
}

// TestLiteralPaths has words of the API be no names of pipelines, whatever the method.
func TestLiteralPaths(t *testing.T) {
	f := newWhole(t)
	for _, path := range []string{"/v1/pipelines/_dryrun", "/v1/events/pipelines/dryrun"} {
		for _, method := range []string{"GET", "HEAD", "DELETE", "PUT", "OPTIONS"} {
			if w := f.call(method, path, ""); w.Code != 405 || w.Header().Get("Allow") != "POST" {
				t.Errorf("%s %s: %d, Allow %q", method, path, w.Code, w.Header().Get("Allow"))
			}
		}
	}
	long := "/v1/" + strings.Repeat("x", 5000)
	if w := f.call("GET", long, ""); w.Code != 404 || w.Body.Len() > 500 {
		t.Errorf("a path of %d bytes: %d, answer of %d bytes", len(long), w.Code, w.Body.Len())
	}
}
