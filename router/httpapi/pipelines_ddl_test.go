package httpapi

import (
	"encoding/json"
	"strings"
	"testing"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
)

func TestPipelineDDL(t *testing.T) {
	const transform = `
transform:
  - {field: t, type: time, index: timestamp}
  - {field: host, type: string, tag: true}
  - {field: msg, type: string, index: fulltext}
  - {field: n, type: int32}
`
	const create = `CREATE TABLE IF NOT EXISTS "web" (
  "t" TIMESTAMP(9) NOT NULL,
  "host" STRING NULL,
`
	for _, tt := range []struct {
		name, text, query string
		sql               []string
		message           string // "" for none
		fails             string
	}{
		{
			name: "columns", text: minimal + transform, query: "?table=web",
			sql: []string{
				create, "FULLTEXT INDEX", `"n" INT NULL`, `TIME INDEX ("t")`, `PRIMARY KEY ("host")`, "append_mode='true'",
			},
		},
		{
			name: "the table exists", text: minimal + transform, query: "?table=had", sql: []string{`"had"`},
			message: "Table had already exists",
		},
		{name: "in another database", text: minimal + transform, query: "?table=had&db=shop", sql: []string{`"had"`}},
		{
			name:  "a dispatcher",
			text:  minimal + transform + "dispatcher: {field: k, rules: [{value: a, table_suffix: _a}]}\n",
			query: "?table=web", sql: []string{create}, message: "dispatcher",
		},
		{
			name: "a suffix", text: minimal + transform + "table_suffix: _${host}\n", query: "?table=web",
			sql: []string{create}, message: "suffix",
		},
		{
			name: "version 2", text: "version: 2\n" + minimal + transform, query: "?table=web", sql: []string{create},
			message: "the data may add columns",
		},
		{name: "no table", text: minimal + transform, query: "", fails: "table is required"},
		{name: "an illegal table", text: minimal + transform, query: "?table=9", fails: "table name"},
		{name: "no transform list", text: minimal, query: "?table=web", fails: "no fixed table schema"},
		{
			name: "an unknown version", text: minimal + transform, query: "?table=web&version=2020-01-01T00:00:00",
			fails: "Pipeline not found, name: edge, version: 2020-01-01 00:00:00",
		},
		{
			name: "a bad version", text: minimal + transform, query: "?table=web&version=x",
			fails: "Invalid pipeline version format: x",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newPipelineFixture(t)
			f.catalog.tables["public.had"] = &schema.Table{Database: "public", Name: "had"}
			f.put(t, "edge", tt.text)
			w := f.call("GET", "/v1/pipelines/edge/ddl"+tt.query, "")
			if tt.fails != "" {
				if text := checkError(t, w, 400, errs.InvalidArguments); !strings.Contains(text, tt.fails) {
					t.Errorf("%q, want one with %q", text, tt.fails)
				}
				return
			}
			var a struct {
				SQL  struct{ SQL, Message string }
				Time *int `json:"execution_time_ms"`
			}
			if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil || w.Code != 200 || a.Time == nil {
				t.Fatalf("%d %s %v", w.Code, w.Body, err)
			}
			for _, part := range tt.sql {
				if !strings.Contains(a.SQL.SQL, part) {
					t.Errorf("%s\nlacks %s", a.SQL.SQL, part)
				}
			}
			if !strings.Contains(a.SQL.Message, tt.message) || tt.message == "" && a.SQL.Message != "" {
				t.Errorf("message %q", a.SQL.Message)
			}
		})
	}
	f := newPipelineFixture(t)
	w := f.call("GET", "/v1/pipelines/svc_identity/ddl?table=t", "")
	if text := checkError(t, w, 400, errs.InvalidArguments); !strings.Contains(text, "no fixed table schema") {
		t.Error(text)
	}
	w = f.call("GET", "/v1/pipelines/nope/ddl?table=t", "")
	if text := checkError(t, w, 400, errs.InvalidArguments); text != "Pipeline not found, name: nope, version: latest" {
		t.Error(text)
	}
}
