package httpapi

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"cordwood/proto/errs"
	"cordwood/router/httpapi/clusterapi"
)

// fakeCluster records the requests that it receives.
type fakeCluster struct {
	request *clusterapi.Request
	user    string
	id      uint64
}

func (c *fakeCluster) Status(context.Context) (*clusterapi.Status, error) {
	return &clusterapi.Status{ClusterID: "c1", Health: "ok"}, nil
}

func (c *fakeCluster) Operations(context.Context) ([]clusterapi.Operation, error) {
	return []clusterapi.Operation{{ID: 7, Kind: "shard-add"}}, nil
}

func (c *fakeCluster) Start(_ context.Context, r *clusterapi.Request, user string) (*clusterapi.Answer, error) {
	c.request, c.user = r, user
	if r.Shard == 9 {
		return nil, errs.New(errs.InvalidArguments, "there is no shard 9")
	}
	return &clusterapi.Answer{Operation: &clusterapi.Operation{ID: 8}}, nil
}

func (c *fakeCluster) Cancel(_ context.Context, id uint64) (*clusterapi.Answer, error) {
	c.id = id
	return &clusterapi.Answer{Message: "it ends"}, nil
}

func (c *fakeCluster) Plan(context.Context) (*clusterapi.Plan, error) {
	return &clusterapi.Plan{Moves: []clusterapi.Move{{Shard: 3}}}, nil
}

func TestCluster(t *testing.T) {
	cluster := &fakeCluster{}
	f := newFixture(t, func(c *Config) { c.Cluster, c.Auth = cluster, byUser{} })
	for _, c := range []struct {
		method, path, body, user string
		status                   int
		want                     string
	}{
		{http.MethodGet, "/v1/cluster", "", "ro", 200, `"cluster_id":"c1","health":"ok"`},
		{http.MethodGet, "/v1/cluster", "", "wo", 403, `"code":7006`},
		{http.MethodGet, "/v1/cluster", "", "", 401, `"code":7003`},
		{http.MethodGet, "/v1/cluster/plan", "", "ro", 200, `"shard":3`},
		{http.MethodGet, "/v1/cluster/operations", "", "ro", 200, `{"operations":[{"id":7`},
		{http.MethodGet, "/v1/cluster/operations/7", "", "ro", 200, `"operation":{"id":7`},
		{http.MethodGet, "/v1/cluster/operations/9", "", "ro", 404, "there is no operation 9"},
		{http.MethodGet, "/v1/cluster/operations/x", "", "ro", 400, "is not an id of an operation"},
		{
			http.MethodPost, "/v1/cluster/operations", `{"kind":"shard-move","shard":3,"from":"a","to":"b"}`, "rw", 200,
			`{"operation":{"id":8`,
		},
		{http.MethodPost, "/v1/cluster/operations", `{"kind":"shard-move","shard":9}`, "rw", 400, "there is no shard 9"},
		{http.MethodPost, "/v1/cluster/operations", `{"kind":"shard-add"}`, "ro", 403, `"code":7006`},
		{http.MethodPost, "/v1/cluster/operations", `{"kind":"shard-add"}`, "wo", 403, `"code":7006`},
		{http.MethodPost, "/v1/cluster/operations", `{"kind":"shard-add","number":3}`, "rw", 400, "number"},
		{
			http.MethodPost, "/v1/cluster/operations", `{"kind":"shard-add","shard":"3"}`, "rw", 400,
			"the request cannot be read: shard must be a whole number",
		},
		{
			http.MethodPost, "/v1/cluster/operations", `{"kind":"shard-add"} {"kind":"shard-add"}`, "rw", 400,
			"there is text after its end",
		},
		{http.MethodPost, "/v1/cluster/operations", `[]`, "rw", 400, "it must be an object, but it is a JSON array"},
		{http.MethodPost, "/v1/cluster/operations", `{"kind":`, "rw", 400, "it is not complete"},
		{
			http.MethodPost, "/v1/cluster/operations", `nonsense`, "rw", 400,
			`an operation is, for example, {\"kind\":\"shard-add\"`,
		},
		{
			http.MethodPost, "/v1/cluster/operations", `{"kind":"` + strings.Repeat("x", 70<<10) + `"}`, "rw", 413,
			"more than 65536 bytes",
		},
		{http.MethodDelete, "/v1/cluster/operations/12", "", "rw", 200, `"message":"it ends"`},
		{http.MethodDelete, "/v1/cluster/operations/12", "", "ro", 403, `"code":7006`},
	} {
		var headers []string
		if c.user != "" {
			headers = []string{"Authorization", c.user}
		}
		cluster.request, cluster.user = nil, ""
		w := f.call(c.method, c.path, c.body, headers...)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s %s as %q: %d %.200s, want %d with %s", c.method, c.path, c.user, w.Code, w.Body, c.status, c.want)
		}
		if c.method == http.MethodPost && c.status == 403 && cluster.request != nil {
			t.Errorf("%s as %q was started", c.path, c.user)
		}
		if c.method == http.MethodPost && c.status == 200 &&
			(cluster.user != "rw" || cluster.request.From != "a" || cluster.request.To != "b") {
			t.Errorf("request %+v by %q", cluster.request, cluster.user)
		}
	}
	if cluster.id != 12 {
		t.Errorf("operation %d was cancelled", cluster.id)
	}
}
