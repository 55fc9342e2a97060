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

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/access"
	"cordwood/router/explore/scope"
	"cordwood/router/httpapi/about"
	"cordwood/router/httpapi/clusterapi"
	"cordwood/router/httpapi/dryrun"
	"cordwood/router/httpapi/explore"
	"cordwood/router/httpapi/lokiapi"
	"cordwood/router/iceberg"
	"cordwood/router/loki"
)

// newWhole returns a server with all routes.
func newWhole(t testing.TB, change ...func(*Config)) *pipelineFixture {
	explorer, err := explore.New(explore.Config{Source: struct{ scope.Source }{}})
	if err != nil {
		t.Fatal(err)
	}
	reader, err := lokiapi.New(lokiapi.Config{Source: struct{ loki.Source }{}})
	if err != nil {
		t.Fatal(err)
	}
	catalog, err := iceberg.New(iceberg.Config{Source: struct{ iceberg.Source }{}, Names: &fakeNames{}})
	if err != nil {
		t.Fatal(err)
	}
	nothing := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	return newPipelineFixture(t, append([]func(*Config){func(c *Config) {
		c.Cluster, c.SQL, c.LogQuery, c.Tail = &fakeCluster{}, nothing, nothing, nothing
		c.Saved, c.Access = &fakeSaved{}, &fakeStatements{}
		c.Explore, c.Loki, c.Page, c.Iceberg = explorer, reader, nothing, catalog
		c.Tunnel = func(conn net.Conn, _ *access.Caller) { conn.Close() }
	}}, change...)...)
}

// fakeNames has no databases.
type fakeNames struct{}

func (*fakeNames) Databases(context.Context) ([]string, error) { return nil, nil }

func (*fakeNames) Tables(_ context.Context, database string) ([]*schema.Table, error) {
	return nil, errs.New(errs.DatabaseNotFound, "database %q does not exist", database)
}

func (f *fakeNames) TableRead(ctx context.Context, database, _, _ string) (*schema.Table, error) {
	_, err := f.Tables(ctx, database)
	return nil, err
}

// described returns the description that the server serves.
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

// TestRoutesAreDescribed compares all routes with the description: methods and privileges.
func TestRoutesAreDescribed(t *testing.T) {
	f := newWhole(t)
	doc := described(t, f)
	// Paths of other systems' protocols are left out because those systems describe them. The page for browsers
	// is left out too.
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
	for path, of := range d.plain {
		for m := range of.methods {
			routed[m+" "+path] = true
		}
	}
	err = d.router.Walk(func(r *mux.Route, _ *mux.Router, _ []*mux.Route) error {
		path, err := r.GetPathTemplate()
		if err != nil {
			return err
		}
		for m := range r.GetHandler().(*resource).methods {
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
				t.Errorf("%s is described, but is not a route", key)
				continue
			}
			delete(routed, key)
			if got := op.Extensions["x-permission"]; got != needs[key].String() {
				t.Errorf("%s: described privilege %v, the route has %s", key, got, needs[key])
			}
			// Operations that need a user list the ways to authenticate.
			asked := op.Security == nil || len(*op.Security) > 0
			if asked != (needs[key] != access.Open) && path != "/config" {
				t.Errorf("%s: security is %v, but the route has %s", key, op.Security, needs[key])
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(routed)) {
		t.Errorf("%s is not described: add it to router/httpapi/openapi/document", key)
	}
}

// TestForeignPathsAreNamed checks that the description contains each path of another system's protocol, and no other.
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
			t.Errorf("%s is described, but is not a path", path)
		}
	}
}

// TestRouteWithoutPrivilege checks that a route without a privilege is refused.
func TestRouteWithoutPrivilege(t *testing.T) {
	f := newFixture(t)
	_, err := f.gate.dispatch([]route{{methods: get, path: "/v1/new", handler: f.handlers.about.Index}}, protocolUnder)
	if err == nil || !strings.Contains(err.Error(), "/v1/new does not say who may use it") {
		t.Error(err)
	}
}

// TestSchemasOfStructs compares the described schemas with the structs of the answers: their members, and which
// of them may be missing.
func TestSchemasOfStructs(t *testing.T) {
	doc := described(t, newWhole(t))
	for name, value := range map[string]any{
		"ClusterStatus": clusterapi.Status{}, "ClusterProblem": clusterapi.Problem{}, "ClusterNode": clusterapi.Node{},
		"ClusterShard":         clusterapi.Shard{},
		"ClusterObjectStorage": clusterapi.ObjectStorage{}, "ClusterStorageLag": clusterapi.StorageLag{},
		"ClusterOperation": clusterapi.Operation{}, "ClusterAnswer": clusterapi.Answer{}, "ClusterPlan": clusterapi.Plan{},
		"ClusterLoad": clusterapi.Load{},
		"ClusterMove": clusterapi.Move{}, "Status": about.Status{}, "DryRunForm": dryrun.Form{},
		"ClusterRequest": clusterapi.Request{}, "Session": Session{},
		"Whoami": Whoami{}, "AccessCheck": AccessCheck{}, "AccessChecked": AccessChecked{},
		"AccessUser": AccessUser{}, "AccessRole": AccessRole{}, "AccessToken": AccessToken{},
		"AccessPrivileges": AccessPrivileges{}, "AccessRotation": AccessRotation{}, "AccessGrant": AccessGrant{},
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
			t.Errorf("%s: described members %v, the struct has %v", name, got, names)
		}
		if name == "DryRunForm" {
			continue // other rules decide which of its members are required
		}
		slices.Sort(always)
		if required := slices.Sorted(slices.Values(schema.Value.Required)); !slices.Equal(required, always) {
			t.Errorf("%s: %v are described as required, the struct always has %v", name, required, always)
		}
	}
}

// TestDocumentNeedsUser checks that only users can read the description, because it lists all paths.
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

// TestLiteralPaths checks that, with every method, words of the API are not treated as names of pipelines.
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
