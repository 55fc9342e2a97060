package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
)

// fakeSaved stores saved values, with the features that a handler needs.
type fakeSaved struct {
	mu      sync.Mutex
	list    []*metapb.ReadSavedResponse
	last    uint64
	touched int
	manage  bool // of the last change
}

func (f *fakeSaved) Propose(_ context.Context, cmd *metapb.Command) (*metapb.Result, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	at := func(kind, name string) int {
		for i, s := range f.list {
			if s.Saved.Kind == kind && s.Saved.Name == name {
				return i
			}
		}
		return -1
	}
	version := func(i int) uint64 {
		if i < 0 {
			return 0
		}
		return f.list[i].Saved.Version
	}
	stale := errs.New(errs.IllegalState, "it was changed meanwhile")
	switch op := cmd.Op.(type) {
	case *metapb.Command_TouchSaved:
		f.touched++
	case *metapb.Command_PutSaved:
		f.manage = op.PutSaved.Manage
		s := op.PutSaved.Saved
		i := at(s.Kind, s.Name)
		if s.Kind == "link" && i >= 0 {
			return &metapb.Result{Saved: f.list[i].Saved}, nil
		}
		if version(i) != op.PutSaved.IfVersion {
			return nil, stale
		}
		if i < 0 {
			i = len(f.list)
			f.list = append(f.list, nil)
		}
		f.last++
		s.Version = f.last
		f.list[i] = &metapb.ReadSavedResponse{Saved: s, Value: op.PutSaved.Value}
		return &metapb.Result{Saved: s}, nil
	case *metapb.Command_DropSaved:
		f.manage = op.DropSaved.Manage
		i := at(op.DropSaved.Kind, op.DropSaved.Name)
		if i < 0 || version(i) != op.DropSaved.IfVersion {
			return nil, stale
		}
		s := f.list[i].Saved
		f.list = append(f.list[:i], f.list[i+1:]...)
		return &metapb.Result{Saved: s}, nil
	}
	return &metapb.Result{}, nil
}

func (f *fakeSaved) ReadSaved(_ context.Context, req *metapb.ReadSavedRequest) ([]*metapb.ReadSavedResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []*metapb.ReadSavedResponse
	for _, s := range f.list {
		if (req.Kind == "" || s.Saved.Kind == req.Kind) && (req.Name == "" || s.Saved.Name == req.Name) &&
			(s.Saved.Shared || s.Saved.Owner == req.GetOwner()) {
			out = append(out, s)
		}
	}
	return out, nil
}

func TestSaved(t *testing.T) {
	kept := &fakeSaved{}
	f := newPipelineFixture(t, func(c *Config) { c.Saved = kept })
	for _, tt := range []struct {
		method, path, body, header, value string
		status                            int
		want                              string
	}{
		{"PUT", "/v1/saved/search/a%20b", `{"q":"x"}`, "If-None-Match", "*", 200, `"name":"a b","version":1,`},
		{"PUT", "/v1/saved/search/a%20b", `{"q":"y"}`, "If-None-Match", "*", 412, "changed meanwhile"},
		{"PUT", "/v1/saved/search/a%20b", `{"q":"y"}`, "If-Match", `"1"`, 200, `"version":2,`},
		{"PUT", "/v1/saved/search/a%20b", `{"q":"z"}`, "If-Match", `"1"`, 412, "changed meanwhile"},
		{"PUT", "/v1/saved/search/a%20b", `{"q":"z"}`, "X-A", "b", 400, "If-Match"},
		{"PUT", "/v1/saved/search/a%20b", `{"q":"z"}`, "If-Match", "2", 400, "If-Match"},
		{"PUT", "/v1/saved/search/a%20b", `{"q":`, "If-Match", `"2"`, 400, "not JSON"},
		{
			"PUT", "/v1/saved/search/c", `"` + strings.Repeat("x", 64<<10) + `"`, "If-None-Match", "*", 413,
			"65536 bytes",
		},
		{"PUT", "/v1/saved/link/c", `1`, "If-None-Match", "*", 400, "POST /v1/saved/link"},
		{"PUT", "/v1/saved/sql/c?shared=true", `"SELECT 1"`, "If-None-Match", "*", 200, `"shared":true`},
		{"GET", "/v1/saved/search/a%20b", "", "", "", 200, `"value":{"q":"y"}`},
		{"GET", "/v1/saved/search/nope", "", "", "", 404, "no saved search"},
		{"GET", "/v1/saved?kind=sql", "", "", "", 200, `"value":"SELECT 1"`},
		{"GET", "/v1/saved?knd=sql", "", "", "", 400, "knd"},
		{"GET", "/v1/saved?kind=nope", "", "", "", 400, "search, sql, view, link"},
		{"DELETE", "/v1/saved/search/a%20b", "", "If-None-Match", "*", 400, "If-Match"},
		{"DELETE", "/v1/saved/search/a%20b", "", "If-Match", `"1"`, 412, "changed meanwhile"},
		{"DELETE", "/v1/saved/search/a%20b", "", "If-Match", `"2"`, 200, `"version":2`},
		{"POST", "/v1/saved/search/x", "1", "", "", 405, "PUT"},
		{"PUT", "/v1/saved/search/%ff", "1", "If-None-Match", "*", 400, "UTF-8"},
		{"GET", "/v1/saved/%C3/x", "", "", "", 400, "UTF-8"},
	} {
		var headers []string
		if tt.header != "" {
			headers = []string{tt.header, tt.value}
		}
		w := f.call(tt.method, tt.path, tt.body, headers...)
		if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) {
			t.Errorf("%s %s %.40s: %d %.300s, want %d with %s", tt.method, tt.path, tt.body, w.Code, w.Body, tt.status, tt.want)
		}
	}
	if !kept.manage {
		t.Error("without users, the sender of a change does not have all rights")
	}
}

// TestTokensSaveNothing checks that a token with a scope cannot store values, which would remain after the token.
func TestTokensSaveNothing(t *testing.T) {
	f, _, other := tokenFixture(t, func(c *Config) { c.Saved = &fakeSaved{} })
	for _, tt := range []struct{ method, path string }{{"PUT", "/v1/saved/view/x"}, {"POST", "/v1/saved/link"}} {
		w := f.call(tt.method, tt.path, "1", "If-None-Match", "*", "Authorization", "Bearer "+other)
		if w.Code != 403 || !strings.Contains(w.Body.String(), "may not save values") {
			t.Errorf("%s %s: %d %s", tt.method, tt.path, w.Code, w.Body)
		}
	}
}

// TestLinksOfOthers checks that a list has only the links of the caller, and that others can read them by their names.
func TestLinksOfOthers(t *testing.T) {
	f := newPipelineFixture(t, func(c *Config) { c.Saved, c.Auth = &fakeSaved{}, byUser{} })
	w := f.call(http.MethodPost, "/v1/saved/link", `{"q":"secret"}`, "Authorization", "rw")
	var link struct{ Name string }
	if err := json.Unmarshal(w.Body.Bytes(), &link); err != nil || link.Name == "" {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	for user, lists := range map[string]bool{"rw": true, "ro": false} {
		w := f.call(http.MethodGet, "/v1/saved", "", "Authorization", user)
		if w.Code != 200 || strings.Contains(w.Body.String(), "secret") != lists {
			t.Errorf("the list of %s: %d %s", user, w.Code, w.Body)
		}
		w = f.call(http.MethodGet, "/v1/saved/link/"+link.Name, "", "Authorization", user)
		if w.Code != 200 || !strings.Contains(w.Body.String(), "secret") {
			t.Errorf("the link, by %s: %d %s", user, w.Code, w.Body)
		}
	}
}

// TestLinks checks that a link's name is derived from its value, and that its use is reported once a day.
func TestLinks(t *testing.T) {
	kept := &fakeSaved{}
	f := newPipelineFixture(t, func(c *Config) { c.Saved = kept })
	name := func(body string) string {
		w := f.call(http.MethodPost, "/v1/saved/link", body)
		var one struct{ Name string }
		if err := json.Unmarshal(w.Body.Bytes(), &one); err != nil || w.Code != http.StatusOK || len(one.Name) != 12 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		return one.Name
	}
	first := name(`{"a":1}`)
	if again := name(`{"a":1}`); again != first {
		t.Errorf("the same value has the names %s and %s", first, again)
	}
	if other := name(`{"a":2}`); other == first {
		t.Error("two values have one name")
	}
	for used, want := range map[string]int{"long ago": 1, "now": 0} {
		kept.touched = 0
		kept.list[0].Saved.UsedUnixNano = 0
		if used == "now" {
			kept.list[0].Saved.UsedUnixNano = 1<<63 - 1
		}
		w := f.call(http.MethodGet, "/v1/saved/link/"+first, "")
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"value":{"a":1}`) || kept.touched != want {
			t.Errorf("used %s: %d %s, reported %d times, want %d", used, w.Code, w.Body, kept.touched, want)
		}
	}
	if got := fmt.Sprint(len(kept.list)); got != "2" {
		t.Errorf("%s links are kept", got)
	}
}
