package cluster

import (
	"net/http"
	"strings"
	"testing"
)

// TestLogQuery checks that the engine runs every condition and expression of structured queries, on
// columns of any type.
func TestLogQuery(t *testing.T) {
	t.Parallel()
	n := New(t, "--shards", "1")
	n.Start()
	const rows = `[{"at":"2026-01-05T10:00:00Z","level":"info","status":200,"took":1.5,"ok":true},` +
		`{"at":"2026-01-05T11:00:00.5Z","level":"error","status":500,"took":2.5,"ok":false,"why":"it's"}]`
	got, err := n.Do("POST", "/v1/ingest?table=app&pipeline_name=svc_identity&custom_time_index=at;rfc3339",
		strings.NewReader(rows), "Content-Type", "application/json")
	if err != nil || got.Status != http.StatusOK {
		t.Fatal(err, got)
	}
	on := func(column, conditions string) string {
		return `"filters":{"Single":{"expr":{"NamedIdent":"` + column + `"},"filters":[` + conditions + `]}}`
	}
	const whole = `{"start":"2026-01-05"}`
	for _, c := range []struct{ time, members, want string }{
		{whole, "", "500 200"},
		{whole, `"limit":{"fetch":1}`, "500"},
		{whole, `"limit":{"fetch":1,"skip":1}`, "200"},
		{`{"start":"2026-01-05T10:00:00Z","end":"2026-01-05T11:00:00.5Z"}`, "", "200"},
		{`{"start":"2026-01-05T10:00:00.000000001Z","span":3601}`, "", "500"},
		{`{"end":"2026-01-05","span":86400}`, "", "500 200"},
		{`{"start":"0001","end":"9999"}`, "", "500 200"},
		{`{"start":"0001"}`, "", ""},
		{`{"span":1}`, "", ""},
		{whole, on("level", `{"Exact":"info"}`), "200"},
		{whole, on("why", `{"Exact":"it's"}`), "500"},
		{whole, on("status", `{"Exact":"200"}`), "200"},
		{whole, on("level", `{"Prefix":"in"}`), "200"},
		{whole, on("level", `{"Postfix":"ror"}`), "500"},
		{whole, on("took", `{"Contains":".5"}`), "500 200"},
		{whole, on("level", `{"Regex":"^e.*r$"}`), "500"},
		{whole, on("why", `"Exist"`), "500"},
		{whole, on("ok", `"IsTrue"`), "200"},
		{whole, on("ok", `"IsFalse"`), "500"},
		{whole, on("status", `{"In":["200","404"]}`), "200"},
		{whole, on("status", `{"In":[500]}`), "500"},
		{whole, on("ok", `{"Equal":true}`), "200"},
		{whole, on("took", `{"GreatThan":{"value":"1.5","inclusive":true}},{"LessThan":{"value":2}}`), "200"},
		{whole, on("at", `{"Between":{"start":"2026-01-05T10:30:00Z","end":"2027-01-01"}}`), "500"},
		{whole, on("level", `{"Compound":[[{"Exact":"info"},{"Exact":"error"}],"Or"]}`), "500 200"},
		{whole, `"filters":{"Not":{"Or":[]}}`, "500 200"},
		{
			whole, `"filters":{"Single":{"expr":{"BinaryOp":{"left":{"NamedIdent":"status"},"op":"Modulo","right":` +
				`{"Literal":200}}},"filters":[{"Equal":{"Int":100}}]}}`, "500",
		},
		{
			whole, `"exprs":[{"AggrFunc":{"name":"max","args":[{"NamedIdent":"status"}],"by":[{"ScalarFunc":{"name":` +
				`"date_trunc","args":[{"Literal":"hour"},{"NamedIdent":"at"}]}}]}}]`,
			"2026-01-05T10:00:00Z,200 2026-01-05T11:00:00Z,500",
		},
		{whole, `"exprs":[{"AggrFunc":{"name":"count","args":[]}}]`, "2"},
		{
			whole, `"columns":["ok"],"exprs":[{"AggrFunc":{"name":"sum","args":[{"NamedIdent":"took"}]}}]`,
			"false,2.5 true,1.5",
		},
	} {
		query := `{"table":{"table_name":"app"},"time_filter":` + c.time
		if !strings.Contains(c.members, `"exprs"`) {
			query += `,"columns":["status"]`
		}
		if c.members != "" {
			query += "," + c.members
		}
		got, err := n.Do("POST", "/v1/logs?format=csv", strings.NewReader(query+"}"), "Content-Type", "application/json")
		if err != nil || got.Status != http.StatusOK || strings.Join(strings.Fields(string(got.Body)), " ") != c.want {
			t.Errorf("%s}: %v %+v, want %s", query, err, got, c.want)
		}
	}
	for query, status := range map[string]int{
		`{"table":{"table_name":"nope"},"time_filter":{"span":1}}`: 400,
		`{"table":{"table_name":"app"},"time_filter":{"span":1},"exprs":[{"ScalarFunc":{"name":"read_text","args":[` +
			`{"Literal":"/etc/passwd"}]}}]}`: 400,
		`{"table":{"schema_name":"information_schema","table_name":"tables"},"time_filter":{"span":1}}`: 400,
	} {
		got, err := n.Do("POST", "/v1/logs", strings.NewReader(query), "Content-Type", "application/json")
		if err != nil || got.Status != status {
			t.Errorf("%s: %v %+v", query, err, got)
		}
	}
}
