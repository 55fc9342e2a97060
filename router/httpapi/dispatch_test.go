package httpapi

import (
	"cmp"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/gorilla/mux"
)

// inOneRouter returns a handler that finds routes as mux does: it compares all paths, also those without a variable,
// with regular expressions. The handlers answer with the path and the variables.
func inOneRouter(routes []route) http.Handler {
	router := mux.NewRouter().SkipClean(true).UseEncodedPath()
	sorted := slices.Clone(routes)
	slices.SortStableFunc(sorted, func(a, b route) int {
		if a.rest != b.rest {
			if a.rest {
				return 1
			}
			return -1
		}
		return cmp.Compare(strings.Count(a.path, "{"), strings.Count(b.path, "{"))
	})
	for i, rt := range sorted {
		router.Handle(rt.path, sayRoute(rt.path)).Methods(rt.methods...)
		if i+1 == len(sorted) || !slices.ContainsFunc(sorted[i+1:], func(r route) bool { return r.path == rt.path }) {
			router.Handle(rt.path, sayRoute("405 "+rt.path))
		}
	}
	return router
}

func sayRoute(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		names := []string{}
		for k, v := range mux.Vars(r) {
			names = append(names, k+"="+v)
		}
		slices.Sort(names)
		fmt.Fprint(w, name, names)
	}
}

// speaking replaces the handlers of a dispatcher by those of sayRoute.
func (d *dispatcher) speaking(t testing.TB) {
	replace := func(path string, of *resource) {
		for m := range of.methods {
			of.methods[m] = sayRoute(path)
		}
		of.refuse = sayRoute("405 " + path)
	}
	for path, of := range d.plain {
		replace(path, of)
	}
	err := d.router.Walk(func(r *mux.Route, _ *mux.Router, _ []*mux.Route) error {
		path, err := r.GetPathTemplate()
		if err == nil {
			replace(path, r.GetHandler().(*resource))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	d.router.NotFoundHandler = nil
}

// FuzzDispatch checks that the dispatcher finds the same route and variables as a router with all paths.
func FuzzDispatch(f *testing.F) {
	table := newWhole(f).table
	d, err := newWhole(f).gate.dispatch(table, protocolUnder)
	if err != nil {
		f.Fatal(err)
	}
	d.speaking(f)
	want := inOneRouter(table)
	for _, rt := range table {
		for _, path := range []string{
			rt.path, strings.NewReplacer("{", "", "}", "").Replace(rt.path), rt.path + "/", rt.path + "/a%2Fb",
			strings.ToUpper(rt.path), strings.Replace(rt.path, "v1", "%761", 1), "/" + rt.path,
		} {
			f.Add(cmp.Or(slices.Concat(rt.methods, []string{"GET"})[0], "GET"), path)
			f.Add("DELETE", path)
		}
	}
	f.Add("", "*")
	f.Fuzz(func(t *testing.T, method, path string) {
		u, err := url.ParseRequestURI(path)
		if err != nil {
			return
		}
		answer := func(h http.Handler) string {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, &http.Request{Method: method, URL: u, Header: http.Header{}})
			return fmt.Sprint(w.Code, " ", w.Body)
		}
		if got, want := answer(d), answer(want); got != want {
			t.Errorf("%s %s: got %s, want %s", method, path, got, want)
		}
	})
}
