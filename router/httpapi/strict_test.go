package httpapi

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"cordwood/router/access"
)

// TestParametersAreDescribed compares the parameters of each route with the description.
func TestParametersAreDescribed(t *testing.T) {
	f := newWhole(t)
	doc := described(t, f)
	checked := 0
	for _, rt := range f.table {
		if rt.refuse != nil || rt.page {
			continue // of another system, which describes its protocol, or of the page for browsers
		}
		for _, method := range rt.methods {
			item := doc.Paths.Value(rt.path)
			if item == nil || item.GetOperation(method) == nil {
				t.Fatalf("%s %s is not described", method, rt.path)
			}
			names := map[string]bool{}
			for _, p := range slices.Concat(item.Parameters, item.GetOperation(method).Parameters) {
				if p.Value.In == "query" {
					names[p.Value.Name] = true
				}
			}
			if !underV1(rt.path) {
				if len(rt.params) > 0 {
					t.Errorf("%s has parameters that nothing checks", rt.path)
				}
				continue
			}
			checked++
			takes := slices.Sorted(slices.Values(rt.params))
			if method == "POST" && rt.path == "/v1/sql" {
				names["sql"] = true // of a form; the query string may have it too
			}
			if got := slices.Sorted(maps.Keys(names)); !slices.Equal(got, takes) {
				t.Errorf("%s %s: parameters %v are described, but the route has %v", method, rt.path, got, takes)
			}
		}
	}
	if checked < 20 {
		t.Errorf("only %d routes were compared", checked)
	}
}

// TestUnknownParameters sends an unknown parameter to each of cordwood's paths. The request is refused, and the error
// suggests the most similar parameter.
func TestUnknownParameters(t *testing.T) {
	f := newWhole(t)
	for _, rt := range f.table {
		if !underV1(rt.path) || rt.refuse != nil {
			continue
		}
		path := strings.NewReplacer("{name}", "p", "{id}", "1", "{node}", "n", "{table}", "t", "{shard}",
			"1").Replace(rt.path)
		w := f.call(rt.methods[0], path+"?no_such_thing=1", "")
		refused := w.Code == 400 && strings.Contains(w.Body.String(), `unknown parameter \"no_such_thing\"`)
		if refused != (rt.needs != access.Open) {
			t.Errorf("%s %s: %d %s", rt.methods[0], path, w.Code, w.Body)
		}
	}
	for _, tt := range []struct{ path, want string }{
		{
			"/v1/ingest?tabel=t",
			`unknown parameter \"tabel\", did you mean \"table\"?; this path takes db, table, pipeline_name,`,
		},
		{
			"/v1/ingest?table=t&skip_erorr=true&nope",
			`unknown parameters \"skip_erorr\", did you mean \"skip_error\"?; \"nope\"; this path takes`,
		},
		{"/v1/sql?query=SELECT+1", `unknown parameter \"query\", did you mean \"sql\"?`},
		{"/v1/ingest?t%61bel=t", `unknown parameter \"tabel\", did you mean \"table\"?`},
		{"/v1/events/logs?Table=t", `unknown parameter \"Table\", did you mean \"table\"?`},
		{"/v1/pipelines/_dryrun?tracee=true", `did you mean \"trace\"?`},
		{"/v1/sql?qsl=SELECT+1", `did you mean \"sql\"?`},
	} {
		w := f.call("POST", tt.path, "")
		if w.Code != 400 || !strings.Contains(w.Body.String(), tt.want) {
			t.Errorf("%s: %d %s, want %s", tt.path, w.Code, w.Body, tt.want)
		}
	}
	// A user who may not use a path does not learn its parameters. Health probes are not refused.
	hidden := newWhole(t, func(c *Config) { c.Auth = byUser{} })
	if w := hidden.call("POST", "/v1/ingest?tabel=t", ""); w.Code != 401 || strings.Contains(w.Body.String(), "tabel") {
		t.Errorf("without a user: %d %s", w.Code, w.Body)
	}
	for _, path := range []string{"/health?x=1", "/v1/health?x=1", "/ready?x=1", "/metrics?collect=all"} {
		if w := f.call("GET", path, ""); w.Code == 400 {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

// TestUnknownHeaders sends unknown headers with the prefix x-svc-. The answer has a warning.
func TestUnknownHeaders(t *testing.T) {
	f := newWhole(t)
	w := f.call("GET", "/v1/pipelines", "", "x-svc-db-names", "web", "x-svc-timeout", "5s", "X-Request-Id", "a",
		"x-svc-hint-ttl", "1d", "x-svc-foo", "1")
	want := []string{
		`header "x-svc-db-names" is not known, and has no effect; did you mean "x-svc-db-name"?`,
		`header "x-svc-foo" is not known, and has no effect`,
	}
	if got := w.Header().Values("x-svc-warnings"); w.Code != 200 || !slices.Equal(got, want) {
		t.Errorf("%d %q, want %q", w.Code, got, want)
	}
	many := []string{}
	for c := range 20 {
		many = append(many, "x-svc-"+strings.Repeat(string(rune('a'+c)), 30), "1")
	}
	if got := f.call("GET", "/v1/pipelines", "", many...).Header().Values("x-svc-warnings"); len(got) != 9 ||
		!strings.HasPrefix(got[8], "12 more headers") {
		t.Errorf("%q", got)
	}
}
