package httpapi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
)

// fakePipelines stores pipelines like the metadata group.
type fakePipelines struct {
	mu    sync.Mutex
	list  []*metapb.PipelineVersion // by name and age
	texts map[string][]byte
	err   error
}

func textKey(name string, version int64) string { return fmt.Sprint(version, " ", name) }

func (f *fakePipelines) Propose(_ context.Context, cmd *metapb.Command) (*metapb.Result, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return nil, f.err
	}
	result := &metapb.Result{}
	if put := cmd.GetPutPipeline(); put != nil {
		p := &metapb.PipelineVersion{
			Name: put.Name, Version: cmd.TimeUnixNano, ContentType: put.ContentType, Size: uint32(len(put.Source)),
			Note: put.Note, By: put.By,
		}
		newest := int64(0)
		for _, have := range f.list {
			if have.Name == put.Name {
				newest = have.Version
			}
		}
		if put.BasedOn != nil && put.GetBasedOn() != newest {
			return nil, errs.New(errs.IllegalState, "Pipeline %s has a newer version", put.Name)
		}
		for _, have := range f.list {
			p.Version = max(p.Version, have.Version+1)
		}
		f.list = append(f.list, p)
		slices.SortFunc(f.list, func(a, b *metapb.PipelineVersion) int {
			return cmp.Or(strings.Compare(a.Name, b.Name), cmp.Compare(a.Version, b.Version))
		})
		f.texts[textKey(p.Name, p.Version)] = bytes.Clone(put.Source)
		result.Pipeline = p
	}
	if del := cmd.GetDeletePipeline(); del != nil {
		f.list = slices.DeleteFunc(f.list, func(p *metapb.PipelineVersion) bool {
			if p.Name == del.Name && p.Version == del.Version {
				result.Pipeline = p
			}
			return p == result.Pipeline
		})
	}
	return result, nil
}

func (f *fakePipelines) Pipelines() []*metapb.PipelineVersion {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.list)
}

func (f *fakePipelines) Pipeline(name string) (newest *metapb.PipelineVersion, ok bool) {
	for _, p := range f.Pipelines() {
		if p.Name == name {
			newest = p
		}
	}
	return newest, newest != nil
}

func (f *fakePipelines) PipelineVersion(name string, version int64) (*metapb.PipelineVersion, bool) {
	for _, p := range f.Pipelines() {
		if p.Name == name && p.Version == version {
			return p, true
		}
	}
	return nil, false
}

func (f *fakePipelines) PipelineText(_ context.Context, name string, version int64) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.texts[textKey(name, version)], f.err
}

// pipelineFixture is a server with stored pipelines. Its clock starts at 2024-07-04 08:31:00.987136 and advances
// by a millisecond at each reading.
type pipelineFixture struct {
	*fixture
	store *fakePipelines
}

func newPipelineFixture(t testing.TB, change ...func(*Config)) *pipelineFixture {
	store := &fakePipelines{texts: map[string][]byte{}}
	now := time.Date(2024, 7, 4, 8, 31, 0, 987136000, time.UTC)
	f := newFixture(t, append([]func(*Config){func(c *Config) {
		c.Pipelines = store
		c.Now = func() time.Time { at := now; now = now.Add(time.Millisecond); return at }
	}}, change...)...)
	return &pipelineFixture{f, store}
}

// call sends a request whose path may contain escapes.
func (f *pipelineFixture) call(method, target, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	f.Handler().ServeHTTP(w, r)
	return w
}

const yamlType = "application/x-yaml"

func (f *pipelineFixture) put(t testing.TB, name, text string) (version string) {
	t.Helper()
	w := f.call("POST", "/v1/pipelines/"+name, text, "Content-Type", yamlType)
	if w.Code != http.StatusOK {
		t.Fatalf("put %s: %d %s", name, w.Code, w.Body)
	}
	return answeredVersions(t, w)[0].Version
}

type answered struct{ Name, Version, Pipeline string }

func answeredVersions(t testing.TB, w *httptest.ResponseRecorder) []answered {
	t.Helper()
	var a struct {
		Pipelines []answered
		Time      *int `json:"execution_time_ms"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil || a.Time == nil {
		t.Fatalf("answer %s: %v", w.Body, err)
	}
	if h := w.Header(); h.Get("x-svc-format") != "svcdb_manage" || h.Get("x-svc-execution-time") == "" {
		t.Errorf("headers %v", h)
	}
	return a.Pipelines
}
