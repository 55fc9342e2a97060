package httpapi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"cordwood/proto/errs"
	"cordwood/router/pipeline"
	"cordwood/router/pipelines"
	"cordwood/router/write"
)

// minimal and other are two pipelines.
const (
	minimal = "processors:\n  - date: {field: t}\n"
	other   = "# other \u00e9 <&>\nprocessors:\n  - date: {field: t}\n"
)

func TestUpload(t *testing.T) {
	long := minimal + "#" + strings.Repeat("x", 1<<20)
	form := func(parts ...string) (body, contentType string) {
		var b bytes.Buffer
		w := multipart.NewWriter(&b)
		for _, text := range parts {
			part, _ := w.CreateFormFile("file", "p.yaml")
			_, _ = part.Write([]byte(text))
		}
		_ = w.Close()
		return b.String(), w.FormDataContentType()
	}
	oneBody, oneType := form(minimal, "ignored: [")
	noneBody, noneType := form()
	emptyBody, emptyType := form("")
	for _, tt := range []struct {
		name        string
		path        string // after /v1/pipelines/; "edge" if empty
		contentType string // application/x-yaml if empty
		body        string
		status      int // 200 if 0
		text        string
	}{
		{name: "x-yaml", body: minimal},
		{name: "yaml", contentType: "application/yaml", body: minimal},
		{name: "text/yaml", contentType: "text/yaml", body: minimal},
		{name: "with a parameter", contentType: "application/x-yaml; charset=utf-8", body: minimal},
		{name: "in capitals", contentType: "APPLICATION/YAML", body: minimal},
		{name: "text/plain", contentType: "text/plain", body: minimal},
		{name: "no type", contentType: "-", body: minimal},
		{name: "a form", contentType: oneType, body: oneBody},
		{
			name: "a form without parts", contentType: noneType, body: noneBody, status: 400,
			text: "pipeline is required in body",
		},
		{
			name: "a form with an empty part", contentType: emptyType, body: emptyBody, status: 400,
			text: "pipeline is required in body",
		},
		{name: "a form without boundary", contentType: "multipart/form-data", body: oneBody, status: 400, text: "boundary"},
		{name: "a form that breaks off", contentType: oneType, body: oneBody[:30], status: 400},
		{name: "JSON", contentType: "application/json", body: "{}", status: 415, text: "application/x-yaml"},
		{name: "curl's own type", contentType: "application/x-www-form-urlencoded", body: minimal, status: 415},
		{name: "empty", body: "", status: 400, text: "pipeline is required in body"},
		{name: "blank", body: " \n", status: 400, text: "pipeline is required in body"},
		{name: "bad UTF-8", body: "# \xff\n" + minimal, status: 400, text: "UTF-8"},
		{name: "too long", body: long, status: 400, text: "1048576"},
		{name: "no YAML", body: "a: [", status: 400, text: "Failed to build pipeline"},
		{name: "an unknown processor", body: "processors: [{nope: {}}]", status: 400, text: "Unsupported nope processor"},
		{name: "a reserved name", path: "svc_x", body: minimal, status: 400, text: "pipeline_name cannot start with svc_"},
		{name: "a name with an escape", path: "a%3Ab", body: minimal},
		{name: "a bad name", path: "a%20b", body: minimal, status: 400, text: "Invalid pipeline name"},
		{name: "a slash in the name", path: "a%2Fb", body: minimal, status: 400, text: "Invalid pipeline name"},
		{name: "a long name", path: strings.Repeat("n", 129), body: minimal, status: 400, text: "Invalid pipeline name"},
		{name: "no name", path: "?db=x", body: minimal, status: 404},
		{name: "a database, which does not matter", path: "edge?db=nowhere", body: minimal},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newPipelineFixture(t)
			path := cmp.Or(tt.path, "edge")
			header := []string{"Content-Type", cmp.Or(tt.contentType, yamlType)}
			if tt.contentType == "-" {
				header = nil
			}
			w := f.call("POST", "/v1/pipelines/"+path, tt.body, header...)
			if tt.status != 0 {
				if tt.status == 415 {
					checkError(t, w, 415, errs.Unsupported)
				} else if text := checkError(t, w, tt.status, errs.InvalidArguments); !strings.Contains(text, tt.text) {
					t.Errorf("error %q, want one with %q", text, tt.text)
				}
				if n := len(f.store.Pipelines()); n != 0 {
					t.Errorf("%d pipelines were stored anyway", n)
				}
				return
			}
			if w.Code != 200 {
				t.Fatal(w.Code, w.Body)
			}
			got := answeredVersions(t, w)
			want := []answered{
				{Name: strings.NewReplacer("%3A", ":", "?db=nowhere", "").Replace(path), Version: "2024-07-04 08:31:00.987136"},
			}
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			if stored := string(f.store.texts[textKey(want[0].Name, 1720081860987136000)]); stored != minimal {
				t.Errorf("stored %q", stored)
			}
		})
	}
}

func TestUploadWarnsOfMissingTargets(t *testing.T) {
	f := newPipelineFixture(t)
	f.put(t, "known", minimal)
	w := f.call("POST", "/v1/pipelines/edge", minimal+`
dispatcher:
  field: kind
  rules:
    - {value: a, table_suffix: _a, pipeline: known}
    - {value: b, table_suffix: _b, pipeline: unknown}
    - {value: c, table_suffix: _c}
`, "Content-Type", yamlType)
	var a struct{ Warnings []string }
	if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil || w.Code != 200 || len(a.Warnings) != 1 ||
		!strings.Contains(a.Warnings[0], "pipeline unknown,") {
		t.Errorf("%d %s %v", w.Code, w.Body, err)
	}
}

// TestVersionsOverHTTP stores, lists, reads and deletes versions over HTTP.
func TestVersionsOverHTTP(t *testing.T) {
	for _, base := range []string{"/v1/pipelines/", "/v1/events/pipelines/"} {
		f := newPipelineFixture(t)
		get := func(query string) string {
			t.Helper()
			w := f.call("GET", base+"edge"+query, "")
			if w.Code != 200 {
				return checkError(t, w, 400, errs.InvalidArguments)
			}
			p := answeredVersions(t, w)[0]
			return p.Version + "|" + p.Pipeline
		}
		del := func(query string) string {
			t.Helper()
			w := f.call("DELETE", base+"edge"+query, "")
			if w.Code != 200 {
				return checkError(t, w, 400, errs.InvalidArguments)
			}
			var out []string
			for _, p := range answeredVersions(t, w) {
				out = append(out, p.Name+" "+p.Version)
			}
			return strings.Join(out, ",")
		}
		w := f.call("POST", base+"edge", minimal, "Content-Type", yamlType)
		first := answeredVersions(t, w)[0].Version
		w = f.call("POST", base+"edge", other, "Content-Type", yamlType)
		second := answeredVersions(t, w)[0].Version
		if first != "2024-07-04 08:31:00.987136" || second != "2024-07-04 08:31:00.988136" {
			t.Errorf("versions %s and %s", first, second)
		}
		for _, tt := range []struct{ do, want string }{
			{get(""), second + "|" + other},
			{get("?version=" + strings.ReplaceAll(first, " ", "+")), first + "|" + minimal},
			{get("?version=" + strings.ReplaceAll(first, " ", "%20")), first + "|" + minimal},
			{get("?version=2024-07-04T08:31:00.987136Z"), first + "|" + minimal},
			{get("?version=2024-07-04T10:31:00.987136%2B02:00"), first + "|" + minimal},
			{get("?version=2024-07-04T10:31:00.987136+02:00"), first + "|" + minimal},
			{get("?version=2024-07-04T08:31:00.987"), "Pipeline not found, name: edge, version: 2024-07-04 08:31:00.987"},
			{get("?version=yesterday"), "Invalid pipeline version format: yesterday"},
			{del(""), "version is required"},
			{del("?version="), "version is required"},
			{del("?version=yesterday"), "Invalid pipeline version format: yesterday"},
			{del("?version=2020-01-01T00:00:00"), ""},
			{del("?version=" + strings.ReplaceAll(second, " ", "+")), "edge " + second},
			{del("?version=" + strings.ReplaceAll(second, " ", "+")), ""},
			{get(""), first + "|" + minimal},
			{del("?version=" + strings.ReplaceAll(first, " ", "+")), "edge " + first},
			{get(""), "Pipeline not found, name: edge, version: latest"},
		} {
			if tt.do != tt.want {
				t.Errorf("%s: %q, want %q", base, tt.do, tt.want)
			}
		}
	}
}

func TestBuiltInsAreNotStored(t *testing.T) {
	f := newPipelineFixture(t)
	w := f.call("GET", "/v1/pipelines/svc_identity", "")
	if text := checkError(t, w, 400, errs.InvalidArguments); text !=
		"Pipeline not found, name: svc_identity, version: latest" {
		t.Error(text)
	}
	w = f.call("DELETE", "/v1/pipelines/svc_identity?version=2020-01-01T00:00:00", "")
	if text := checkError(t, w, 400, errs.InvalidArguments); !strings.Contains(text, "svc_") {
		t.Error(text)
	}
}

func TestListPipelines(t *testing.T) {
	f := newPipelineFixture(t)
	type listed struct {
		Name, Version string
		Versions      []struct{ Version string }
	}
	list := func(query string) (out []listed) {
		w := f.call("GET", "/v1/pipelines"+query, "")
		var a struct{ Pipelines []listed }
		if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil || w.Code != 200 || a.Pipelines == nil {
			t.Fatalf("%d %s %v", w.Code, w.Body, err)
		}
		return a.Pipelines
	}
	if got := list(""); len(got) != 0 {
		t.Error(got)
	}
	one := f.put(t, "edge", minimal)
	two := f.put(t, "edge", other)
	three := f.put(t, "app", minimal)
	type v = struct{ Version string }
	want := []listed{{"app", three, []v{{three}}}, {"edge", two, []v{{two}, {one}}}}
	if diff := gocmp.Diff(want, list("")); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	if diff := gocmp.Diff(want[1:], list("?name=edge")); diff != "" {
		t.Errorf("one (-want +got):\n%s", diff)
	}
}

func TestPipelinePermissions(t *testing.T) {
	f := newPipelineFixture(t, func(c *Config) { c.Auth = byUser{} })
	w := f.call("POST", "/v1/pipelines/edge", minimal, "Authorization", "rw", "Content-Type", yamlType)
	version := strings.ReplaceAll(answeredVersions(t, w)[0].Version, " ", "+")
	for _, tt := range []struct {
		method, path string
		write        bool
	}{
		{"GET", "/v1/pipelines", false},
		{"GET", "/v1/pipelines/edge", false},
		{"GET", "/v1/pipelines/edge/ddl?table=t", false},
		{"POST", "/v1/pipelines/_dryrun?pipeline_name=edge", false},
		{"POST", "/v1/events/pipelines/dryrun?pipeline_name=edge", false},
		{"GET", "/v1/events/pipelines/edge", false},
		{"POST", "/v1/pipelines/edge", true},
		{"POST", "/v1/events/pipelines/edge", true},
		{"DELETE", "/v1/pipelines/edge?version=" + version, true},
		{"DELETE", "/v1/events/pipelines/edge?version=" + version, true},
	} {
		refused, allowed := []string{"wo"}, []string{"ro", "rw"}
		if tt.write {
			refused, allowed = []string{"ro", "wo"}, []string{"rw"}
		}
		contentType := yamlType
		if strings.Contains(tt.path, "dryrun") {
			contentType = "application/json"
		}
		if w := f.call(tt.method, tt.path, "{}", "Content-Type", contentType); w.Code != 401 {
			t.Errorf("%s %s of nobody: %d", tt.method, tt.path, w.Code)
		}
		for _, user := range refused {
			w := f.call(tt.method, tt.path, "{}", "Authorization", user, "Content-Type", contentType)
			if w.Code != 403 || !strings.Contains(w.Body.String(), `"code":7006`) {
				t.Errorf("%s %s as %s: %d %s", tt.method, tt.path, user, w.Code, w.Body)
			}
		}
		for _, user := range allowed {
			if w := f.call(tt.method, tt.path, "{}", "Authorization", user, "Content-Type", contentType); w.Code == 401 ||
				w.Code == 403 {
				t.Errorf("%s %s as %s: %d %s", tt.method, tt.path, user, w.Code, w.Body)
			}
		}
	}
}

func TestWithoutStore(t *testing.T) {
	f := newFixture(t)
	if w := f.call("GET", "/v1/pipelines", ""); w.Code != 404 {
		t.Error(w.Code, w.Body)
	}
	w := f.call("POST", "/v1/ingest?table=t&pipeline_name=edge", "{}", "Content-Type", "application/json")
	if text := checkError(t, w, 400, errs.InvalidArguments); text != "Pipeline not found, name: edge, version: latest" {
		t.Error(text)
	}
}

func TestIngestThroughStored(t *testing.T) {
	f := newPipelineFixture(t)
	first := f.put(t, "edge", minimal)
	f.put(t, "edge", "processors: [{date: {field: at}}]\n")
	var columns []string
	f.writer.answer = func(_ context.Context, _ int, out *pipeline.Output) (res write.Result, err error) {
		columns = nil
		for _, table := range out.Tables {
			for _, c := range table.Rows.Cols() {
				columns = append(columns, table.Table+"."+c.Name)
			}
		}
		return res, nil
	}
	ingest := func(query string) string {
		t.Helper()
		w := f.call("POST", "/v1/ingest?table=web"+query, `{"t":"2024-01-01T00:00:00","at":"2024-01-02T00:00:00"}`,
			"Content-Type", "application/json")
		if w.Code != 200 {
			return checkError(t, w, 400, errs.InvalidArguments)
		}
		return strings.Join(columns, " ")
	}
	for _, tt := range []struct{ query, want string }{
		{"&pipeline_name=edge", "web.at web.t"},
		{"&pipeline_name=edge&version=" + strings.ReplaceAll(first, " ", "+"), "web.t web.at"},
		{"&pipeline_name=edge&version=2020-01-01+00:00:00", "Pipeline not found, name: edge, version: 2020-01-01 00:00:00"},
		{"&pipeline_name=edge&version=x", "Invalid pipeline version format: x"},
		{"&pipeline_name=nope", "Pipeline not found, name: nope, version: latest"},
		{"&pipeline_name=svc_nope", "Pipeline not found, name: svc_nope, version: latest"},
		{"", "pipeline_name is required: svc_identity stores records as they are"},
	} {
		if got := ingest(tt.query); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.query, got, tt.want)
		}
	}
	w := f.call("POST", "/v1/ingest?table=web&pipeline_name=edge&custom_time_index=t;epoch;s",
		`{"at":"2024-01-02T00:00:00"}`, "Content-Type", "application/json")
	if want := "custom_time_index has no effect: the pipeline edge defines the field with the time"; w.Header().
		Get("x-svc-warnings") != want {
		t.Errorf("%d, warnings %q, want %q", w.Code, w.Header()["X-Svc-Warnings"], want)
	}
}

// Dispatchers use the newest version of other stored pipelines.
func TestDispatchToStored(t *testing.T) {
	f := newPipelineFixture(t)
	f.put(t, "edge", "dispatcher: {field: kind, rules: [{value: web, table_suffix: _web, pipeline: web}, {value: "+
		"gone, table_suffix: _gone, pipeline: gone}]}\n")
	f.put(t, "web", minimal)
	send := func(kind string) *httptest.ResponseRecorder {
		return f.call("POST", "/v1/ingest?table=t&pipeline_name=edge&skip_error=true", `{"t":"2024-01-01T00:00:00","kind":"`+
			kind+`"}`, "Content-Type", "application/json")
	}
	if w := send("web"); w.Code != 200 || !slices.Equal(f.writer.tables, []string{"public.t_web"}) {
		t.Errorf("%d %s %v", w.Code, w.Body, f.writer.tables)
	}
	// A missing target fails the request even with skip_error.
	if text := checkError(t, send("gone"), 400, errs.InvalidArguments); !strings.Contains(text,
		"Pipeline not found, name: gone, version: latest") {
		t.Error(text)
	}
}

func TestUploadWhileGroupIsAway(t *testing.T) {
	f := newPipelineFixture(t)
	f.store.err = errs.New(errs.ShardNotReady, "no leader")
	w := f.call("POST", "/v1/pipelines/edge", minimal, "Content-Type", yamlType)
	checkError(t, w, 503, errs.ShardNotReady)
}

func TestNotFoundText(t *testing.T) {
	if got := pipelines.NotFound("X", "latest", nil).Error(); got != "Pipeline not found, name: X, version: latest" {
		t.Error(got)
	}
}

// The error for a pipeline that does not exist suggests the most similar name, if the sender may read pipelines.
func TestPipelineSuggestions(t *testing.T) {
	f := newPipelineFixture(t, func(c *Config) { c.Auth = byUser{} })
	if w := f.call("POST", "/v1/pipelines/nginx_edge", "processors: [{vrl: {source: .}}]", "Content-Type", yamlType,
		"Authorization", "rw"); w.Code != http.StatusOK {
		t.Fatal(w.Body)
	}
	const ingest, dryRun, read = "POST /v1/ingest?table=t&pipeline_name=", "POST /v1/pipelines/_dryrun?table=t&" +
		"pipeline_name=", "GET /v1/pipelines/"
	for _, tt := range []struct{ user, ask, want string }{
		{"rw", ingest + "svc_idenity", `name: svc_idenity, version: latest; did you mean "svc_identity"?`},
		{"wo", ingest + "identity", `name: identity, version: latest; did you mean "svc_identity"?`},
		{"rw", ingest + "nginx_egde", `version: latest; did you mean "nginx_edge"?`},
		{"wo", ingest + "nginx_egde", `name: nginx_egde, version: latest`},
		{"rw", dryRun + "nginx_egde", `; did you mean "nginx_edge"?`},
		{"rw", read + "nginx-edge", `; did you mean "nginx_edge"?`},
		{"rw", read + "nginx-edge/ddl?table=t", `; did you mean "nginx_edge"?`},
		{"rw", ingest + "nginx_edge&version=2024-01-01T00:00:00Z", `version: 2024-01-01 00:00:00`},
		{"rw", ingest + "elsewhere", `name: elsewhere, version: latest`},
	} {
		method, target, _ := strings.Cut(tt.ask, " ")
		w := f.call(method, target, "{}", "Content-Type", "application/json", "Authorization", tt.user)
		if text := checkError(t, w, 400, errs.InvalidArguments); !strings.HasSuffix(text, tt.want) {
			t.Errorf("%s as %s: %s, want %s", tt.ask, tt.user, text, tt.want)
		}
	}
}
