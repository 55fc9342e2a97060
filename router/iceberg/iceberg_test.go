package iceberg

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gorilla/mux"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/httpapi/exchange"
)

// fake is a cluster with tables. Those without a location are not committed.
type fake struct {
	mu     sync.Mutex
	tables []Table
	// hidden are tables, as database.name, that the caller may not read.
	hidden []string
	files  map[string]string
	fail   error
	// reads are the requests of TableRead, and loads counts the files that were read.
	reads []string
	loads int
	// hold, if set, delays the reading of a file. begun is closed when the reading has begun.
	hold, begun chan struct{}
}

func (f *fake) Databases(context.Context) ([]string, error) {
	var out []string
	for _, t := range f.tables {
		if !slices.Contains(out, t.Database) {
			out = append(out, t.Database)
		}
	}
	slices.Sort(out)
	return out, nil
}

func (f *fake) list(database string) (list []*schema.Table, known bool) {
	for _, t := range f.tables {
		if t.Database != database {
			continue
		}
		known = true
		if slices.Contains(f.hidden, t.Database+"."+t.Name) {
			continue
		}
		options := map[string]string{"iceberg": "v2"}
		if strings.HasPrefix(t.Name, "plain") {
			options = nil
		}
		list = append(list, &schema.Table{Database: database, Name: t.Name, Options: options})
	}
	return list, known
}

func (f *fake) readable(database string) ([]*schema.Table, error) {
	list, known := f.list(database)
	if !known {
		return nil, errs.New(errs.DatabaseNotFound, "database %q does not exist", database)
	}
	return list, nil
}

func (f *fake) TableRead(_ context.Context, database, name, request string) (*schema.Table, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reads = append(f.reads, request)
	list, err := f.readable(database)
	if err != nil {
		return nil, err
	}
	if slices.Contains(f.hidden, database+"."+name) {
		return nil, errs.New(errs.PermissionDenied, "ann may not select %s.%s", database, name)
	}
	for _, t := range list {
		if t.Name == name {
			return t, nil
		}
	}
	return nil, errs.New(errs.TableNotFound, "table %s.%s does not exist", database, name)
}

// names has the methods of fake that have the same name as others.
type names struct{ *fake }

func (n names) Tables(_ context.Context, database string) ([]*schema.Table, error) {
	return n.readable(database)
}

func (f *fake) Table(_ context.Context, database, name string) (Table, bool, error) {
	for _, t := range f.tables {
		if t.Database == database && t.Name == name && t.Location != "" {
			return t, true, nil
		}
	}
	return Table{}, false, f.fail
}

func (f *fake) Tables(context.Context) ([]Table, error) {
	return slices.DeleteFunc(slices.Clone(f.tables), func(t Table) bool { return t.Location == "" }), f.fail
}

func (f *fake) Metadata(ctx context.Context, t Table) ([]byte, error) {
	f.mu.Lock()
	f.loads++
	f.mu.Unlock()
	if f.hold != nil {
		close(f.begun)
		select {
		case <-f.hold:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	file, ok := f.files[t.Location]
	if !ok {
		return nil, errors.New("no such object")
	}
	return []byte(file), nil
}

const file = `{"format-version":2,"table-uuid":"u","current-snapshot-id":9007199254740993,
"snapshots":[{"snapshot-id":1},{"snapshot-id":9007199254740993,"summary":{"operation":"append"}}],
"refs":{"main":{"snapshot-id":9007199254740993,"type":"branch"}}}`

// cluster returns a cluster with tables.
func cluster() *fake {
	return &fake{
		tables: []Table{
			{"public", "web", "u", "s3://b/1-u.metadata.json"},
			{"public", "app.log", "v", "s3://b/2-v.metadata.json"},
			{"public", "waits", "", ""},
			{"public", "plain", "", ""},
			{"pay", "roll", "w", "s3://b/3-w.metadata.json"},
		},
		hidden: []string{"pay.roll"},
		files:  map[string]string{"s3://b/1-u.metadata.json": file, "s3://b/2-v.metadata.json": file},
	}
}

// sender sends a request. headers are pairs of name and value.
type sender func(method, path string, headers ...string) *httptest.ResponseRecorder

// serve returns a function that sends a request to a catalog.
func serve(t *testing.T, f *fake, properties map[string]string) sender {
	t.Helper()
	c, err := New(Config{Source: f, Names: names{f}, Properties: properties})
	if err != nil {
		t.Fatal(err)
	}
	router := mux.NewRouter().UseEncodedPath()
	for _, r := range c.Routes() {
		router.HandleFunc(r.Path, func(w http.ResponseWriter, req *http.Request) {
			exchange.Of(req).Route = r.Path
			r.Handler(w, req)
		}).Methods(r.Methods...)
	}
	return func(method, path string, headers ...string) *httptest.ResponseRecorder {
		r, w := httptest.NewRequestWithContext(t.Context(), method, path, nil), httptest.NewRecorder()
		for i := 0; i+1 < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		x, r := exchange.Begin(w, r, slog.New(slog.DiscardHandler))
		x.Refuse = Refuse
		router.ServeHTTP(x, r)
		return w
	}
}

func TestConfiguration(t *testing.T) {
	call := serve(t, cluster(), map[string]string{"s3.endpoint": "http://minio:9000"})
	var got struct {
		Defaults, Overrides map[string]string
		Endpoints           []string
	}
	w := call("GET", "/iceberg/v1/config?warehouse=any")
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != 200 {
		t.Fatal(w.Code, w.Body)
	}
	if got.Defaults["s3.endpoint"] != "http://minio:9000" || got.Overrides == nil || len(got.Overrides) != 0 {
		t.Error(w.Body)
	}
	for _, e := range got.Endpoints {
		method, path, _ := strings.Cut(e, " ")
		path = strings.NewReplacer("/{prefix}", "", "{namespace}", "public", "{table}", "web").Replace(path)
		if w := call(method, "/iceberg"+path); w.Code >= 300 {
			t.Errorf("%s is offered: %d %s", e, w.Code, w.Body)
		}
	}
	if len(got.Endpoints) != 6 {
		t.Error(got.Endpoints)
	}
}

func TestAnswers(t *testing.T) {
	call := serve(t, cluster(), nil)
	for _, c := range []struct {
		method, path string
		status       int
		want         string
	}{
		{"GET", "/namespaces", 200, `{"namespaces":[["pay"],["public"]],"next-page-token":null}`},
		{"GET", "/namespaces?parent=public", 200, `{"namespaces":[],"next-page-token":null}`},
		{"GET", "/namespaces?parent=nope", 404, `{"error":{"message":"namespace \"nope\" does not exist",` +
			`"type":"NoSuchNamespaceException","code":404}}`},
		{"GET", "/namespaces/public", 200, `{"namespace":["public"],"properties":{}}`},
		{"HEAD", "/namespaces/public", 204, ""},
		{"HEAD", "/namespaces/nope", 404, "NoSuchNamespaceException"},
		{"GET", "/namespaces/public%1Fweb", 404, `namespace \"public.web\" does not exist`},
		{"GET", "/namespaces/svc_private", 404, "tables of the server are not shown"},
		{"GET", "/namespaces/public/tables", 200, `{"identifiers":[{"namespace":["public"],"name":"app.log"},` +
			`{"namespace":["public"],"name":"web"}],"next-page-token":null}`},
		{"GET", "/namespaces/pay/tables", 200, `{"identifiers":[],"next-page-token":null}`},
		{"GET", "/namespaces/nope/tables", 404, "NoSuchNamespaceException"},
		{"HEAD", "/namespaces/public/tables/web", 204, ""},
		{"HEAD", "/namespaces/public/tables/app.log", 204, ""},
		{"GET", "/namespaces/public/tables/nope", 404, "NoSuchTableException"},
		{"HEAD", "/namespaces/public/tables/nope", 404, ""},
		{"GET", "/namespaces/nope/tables/web", 404, `does not exist","type":"NoSuchTableException"`},
		{"GET", "/namespaces/public%1Fweb/tables/files", 404, "NoSuchTableException"},
		{"GET", "/namespaces/nope/views/web", 404, "NoSuchViewException"},
		{"GET", "/namespaces/pay/tables/roll", 403, `"type":"ForbiddenException","code":403`},
		{"HEAD", "/namespaces/pay/tables/roll", 403, ""},
		{"GET", "/namespaces/public/tables/waits", 404, "has no commit yet"},
		{"GET", "/namespaces/public/tables/plain", 404, "has no option iceberg"},
		{"GET", "/namespaces/public/tables/web?snapshots=some", 400, `"type":"BadRequestException","code":400`},
		{"GET", "/namespaces/public/views", 200, `{"identifiers":[],"next-page-token":null}`},
		{"GET", "/namespaces/public/views/web", 404, "NoSuchViewException"},
		{"POST", "/namespaces", 406, `{"error":{"message":"POST /iceberg/v1/namespaces: the Iceberg catalog of cordwood ` +
			`can only be read. Rows come by ingestion and SQL, and ALTER TABLE changes a table; both appear with the next ` +
			`commit","type":"UnsupportedOperationException","code":406}}`},
		{"DELETE", "/namespaces/public", 406, "UnsupportedOperationException"},
		{"POST", "/namespaces/public/tables", 406, "UnsupportedOperationException"},
		{"POST", "/namespaces/public/tables/web", 406, "UnsupportedOperationException"},
		{"DELETE", "/namespaces/public/tables/web?purgeRequested=true", 406, "UnsupportedOperationException"},
		{"POST", "/namespaces/public/register", 406, "UnsupportedOperationException"},
		{"POST", "/namespaces/public/tables/web/metrics", 406, "UnsupportedOperationException"},
		{"POST", "/namespaces/public/tables/web/plan", 406, "UnsupportedOperationException"},
		{"POST", "/tables/rename", 406, "UnsupportedOperationException"},
		{"POST", "/transactions/commit", 406, "UnsupportedOperationException"},
		{"POST", "/oauth/tokens", 406, "property token"},
		{"GET", "/namespaces/public/functions", 404, `"type":"NotFoundException"`},
		{"GET", "/nope", 404, "no such path: GET /iceberg/v1/nope"},
	} {
		w := call(c.method, "/iceberg/v1"+c.path)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s %s: %d %s", c.method, c.path, w.Code, w.Body)
		}
		if w.Body.Len() > 0 && (!json.Valid(w.Body.Bytes()) || w.Header().Get("Content-Type") != "application/json") {
			t.Errorf("%s %s: %v %s", c.method, c.path, w.Header(), w.Body)
		}
	}
}

// loaded is the answer to a request for a table.
type loaded struct {
	Location string         `json:"metadata-location"`
	Metadata map[string]any `json:"metadata"`
	Config   map[string]string
}

func TestLoad(t *testing.T) {
	f := cluster()
	call := serve(t, f, nil)
	const path = "/iceberg/v1/namespaces/public/tables/web"
	load := func(query string) (out loaded, tag string) {
		t.Helper()
		w := call("GET", path+query)
		d := json.NewDecoder(w.Body)
		d.UseNumber()
		if err := d.Decode(&out); err != nil || w.Code != 200 {
			t.Fatal(w.Code, err)
		}
		return out, w.Header().Get("ETag")
	}
	all, tag := load("")
	want := map[string]any{}
	d := json.NewDecoder(strings.NewReader(file))
	d.UseNumber()
	if err := d.Decode(&want); err != nil {
		t.Fatal(err)
	}
	if all.Location != "s3://b/1-u.metadata.json" || all.Config == nil || !reflect.DeepEqual(all.Metadata, want) {
		t.Errorf("%+v", all)
	}
	refs, refsTag := load("?snapshots=refs")
	want["snapshots"] = want["snapshots"].([]any)[1:] // a snapshot id above 2^53 stays exact
	if !reflect.DeepEqual(refs.Metadata, want) {
		t.Errorf("%+v", refs)
	}
	if tag == "" || tag == refsTag {
		t.Errorf("tags %s, %s", tag, refsTag)
	}
	if f.loads != 1 {
		t.Errorf("the file was read %d times", f.loads)
	}
	for header, status := range map[string]int{
		tag: 304, "W/" + tag: 304, `"other", ` + tag: 304, refsTag: 200, `"other"`: 200, "": 200,
	} {
		if w := call("GET", path, "If-None-Match", header); w.Code != status || status == 304 && w.Body.Len() > 0 {
			t.Errorf("If-None-Match %s: %d, %d bytes", header, w.Code, w.Body.Len())
		}
	}
	// After a commit, the location is another.
	f.tables[0].Location = "s3://b/2-v.metadata.json"
	if w := call("GET", path, "If-None-Match", tag); w.Code != 200 || f.loads != 2 {
		t.Errorf("after a commit: %d, %d loads", w.Code, f.loads)
	}
	if got := f.reads[0]; got != "GET "+path {
		t.Errorf("the read is recorded as %q", got)
	}
}

// TestUnusableMetadata checks the answer if a metadata file is missing, damaged or too large. It is then read again.
func TestUnusableMetadata(t *testing.T) {
	f := cluster()
	call := serve(t, f, nil)
	for text, want := range map[string]string{
		"":                                     "no such object",
		"{":                                    "is not JSON",
		`{"format-version":2}`:                 "has no format-version or no table-uuid",
		strings.Repeat(" ", 32<<20) + "{}":     "are allowed",
		strings.Replace(file, "[{", `[7,{`, 1): "snapshots:",
	} {
		f.files["s3://b/1-u.metadata.json"] = text
		if text == "" {
			delete(f.files, "s3://b/1-u.metadata.json")
		}
		w := call("GET", "/iceberg/v1/namespaces/public/tables/web")
		if w.Code != 503 || !strings.Contains(w.Body.String(), want) || w.Header().Get("Retry-After") == "" ||
			w.Header().Get("ETag") != "" || w.Header().Get("X-Svc-Err-Code") != "4012" {
			t.Errorf("%.30s: %d %s %v", text, w.Code, w.Body, w.Header())
		}
	}
	f.files["s3://b/1-u.metadata.json"] = file
	if w := call("GET", "/iceberg/v1/namespaces/public/tables/web"); w.Code != 200 {
		t.Errorf("a good file: %d %s", w.Code, w.Body)
	}
	for _, fault := range []error{
		errs.New(errs.ShardNotReady, "the metadata group has no leader"), errors.New("this node has no object storage"),
	} {
		f.fail = fault
		for _, path := range []string{"/namespaces/public/tables", "/namespaces/public/tables/waits"} {
			if w := call("GET", "/iceberg/v1"+path); w.Code != 503 || !strings.Contains(w.Body.String(), fault.Error()) {
				t.Errorf("%s: %v: %d %s", path, fault, w.Code, w.Body)
			}
		}
	}
}

// TestSharedLoads checks that requests for one file read it once, also if the first of them ends before.
func TestSharedLoads(t *testing.T) {
	f := cluster()
	f.hold, f.begun = make(chan struct{}), make(chan struct{})
	c, err := New(Config{Source: f, Names: names{f}})
	if err != nil {
		t.Fatal(err)
	}
	first, cancel := context.WithCancel(t.Context())
	results := make(chan error, 3)
	go func() {
		_, err := c.file(first, f.tables[0])
		results <- err
	}()
	<-f.begun
	for range 2 {
		go func() {
			m, err := c.file(t.Context(), f.tables[0])
			if err == nil && string(m.file) != file {
				err = fmt.Errorf("file %s", m.file)
			}
			results <- err
		}()
	}
	cancel()
	if err := <-results; !errors.Is(err, context.Canceled) {
		t.Errorf("the request that ended: %v", err)
	}
	close(f.hold)
	for range 2 {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	if n := f.loaded(); n != 1 {
		t.Errorf("the file was read %d times", n)
	}
}

func (f *fake) loaded() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.loads
}
