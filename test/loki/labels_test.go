package loki

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestLabelSets checks the label sets and values of a table whose service has several columns, with empty texts, nulls
// and numbers, and of a table without labels.
func TestLabelSets(t *testing.T) {
	t.Parallel()
	s := start(t)
	for table, body := range map[string]string{
		"rows": `[{"service":"s1","app":"a1","n":1,"message":"x"},{"service":"","app":"a1","n":2,"message":"x"},` +
			`{"app":"a2","message":"x"},{"message":"x"},{"service":"s1","app":"a1","n":1,"message":"y"}]`,
		"bare": `[{"message":"x"},{"message":"y"}]`,
	} {
		res, err := http.Post(s.HTTP+"/v1/ingest?table="+table+"&pipeline_name=svc_identity", "application/json",
			strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusOK {
			t.Fatal(res.StatusCode)
		}
	}
	s.sql(`ALTER TABLE rows SET 'loki_labels' = 'service,app,n'`)
	for _, tt := range []struct {
		path, want string
		params     []string
	}{
		{"label/service_name/values", `["a1","a2","bare","rows","s1"]`, nil},
		{"label/service_name/values", `["a1","s1"]`, []string{"query", `{table="rows", app="a1"}`}},
		{"label/app/values", `["a1","a2"]`, nil},
		{"label/n/values", `["1","2"]`, nil},
		{"label/table/values", `["bare","rows"]`, nil},
		{"label/table/values", `["rows"]`, []string{"query", `{n="2"}`}},
		{"series", `[{"service_name":"bare","table":"bare"}]`, []string{"match[]", `{table="bare"}`}},
		{
			"series", `[{"app":"a1","n":"1","service":"s1","service_name":"s1","table":"rows"},` +
				`{"app":"a1","n":"2","service_name":"a1","table":"rows"},{"app":"a2","service_name":"a2","table":"rows"},` +
				`{"service_name":"rows","table":"rows"}]`, []string{"match[]", `{table="rows"}`},
		},
		{"series", `[{"app":"a2","service_name":"a2","table":"rows"}]`, []string{"match[]", `{service_name="a2"}`}},
	} {
		status, body := s.get(tt.path, nil, tt.params...)
		want := fmt.Sprintf(`{"status":"success","data":%s}`, tt.want)
		if got := strings.TrimSpace(string(body)); status != http.StatusOK || got != want {
			t.Errorf("%s %q: %d %s\nwant %s", tt.path, tt.params, status, got, want)
		}
	}
}
