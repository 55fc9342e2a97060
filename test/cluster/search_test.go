package cluster

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"

	"cordwood/proto/schema"
	"cordwood/router/explore/roles"
	"cordwood/router/explore/search"
)

const searchTable = `CREATE TABLE app (
	ts TIMESTAMP(3) TIME INDEX, level STRING, message STRING FULLTEXT INDEX, "error.message" STRING, host STRING,
	status BIGINT, took DOUBLE, ok BOOLEAN, extra JSON, "Order" STRING, at TIMESTAMP(9), n TINYINT UNSIGNED)`

// searched returns the table as searches use it.
func searched() *schema.Table {
	t := &schema.Table{Database: "public", Name: "app"}
	for i, c := range []struct {
		name string
		typ  schema.Type
	}{
		{"ts", schema.TimestampMillisecond},
		{"level", schema.String},
		{"message", schema.String},
		{"error.message", schema.String},
		{"host", schema.String},
		{"status", schema.Int64},
		{"took", schema.Float64},
		{"ok", schema.Boolean},
		{"extra", schema.JSON},
		{"Order", schema.String},
		{"at", schema.TimestampNanosecond},
		{"n", schema.Uint8},
	} {
		col := schema.Column{ID: uint32(i + 1), Name: c.name, Type: c.typ, Semantic: schema.Field}
		switch c.name {
		case "ts":
			col.Semantic = schema.Timestamp
		case "message":
			col.Index = &schema.Index{Kind: schema.FulltextIndex}
		}
		t.Columns = append(t.Columns, col)
	}
	return t.Index()
}

// someOf returns nil, or a random one of values.
func someOf(r *rand.Rand, values ...any) any {
	if i := r.IntN(len(values) + 1); i < len(values) {
		return values[i]
	}
	return nil
}

// searchRows returns a statement that inserts n random rows.
func searchRows(r *rand.Rand, n int) string {
	var b strings.Builder
	b.WriteString("INSERT INTO app VALUES ")
	for i := range n {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString("('" + fmt.Sprintf("2026-01-05 10:%02d:%02d.%03d", i/60%60, i%60, r.IntN(1000)) + "'")
		for _, value := range []any{
			someOf(r, "error", "ERR", "warn", "info", "loud", ""),
			someOf(r, "conn reset by peer", "Timeout: it's slow", `a "b" \ 100%`, "user=ann 12:30", "Ärger", ""),
			someOf(r, "conn refused", "timeouts"), someOf(r, "a", "b", "web-1", "web_2", "a*"), someOf(r, 200, 404, 500, -5),
			someOf(r, 0.5, 1.5, 1e9), someOf(r, true, false),
			someOf(r, `{"user":"ann","took":2.5}`, `{"user":{"id":"7"}}`), someOf(r, "x"),
			someOf(r, "2026-01-05 10:00:00.0001", "2026-01-06 00:00:00"), someOf(r, 0, 255),
		} {
			switch v := value.(type) {
			case nil:
				b.WriteString(", NULL")
			case string:
				b.WriteString(", " + schema.QuoteLiteral(v))
			default:
				fmt.Fprintf(&b, ", %v", v)
			}
		}
		b.WriteString(")")
	}
	return b.String()
}

// searchTerms are the terms that random searches consist of.
var searchTerms = []string{
	"conn", `"conn reset"`, "time*", "*out", "t*t", `~"re[sf]"`, "*:ann", "*:7", "host:a", "host=a*", "host:web*",
	"host:*_2", "host:~^web", "host:(a OR b)", "host:>b", "host:a..b", "host:*", "level:error", "level:>=warn",
	"level:other", "level=ERR", "level:loud", "status:500", "status:-5", "status:4*", "status:200..404",
	"took:>1", "took:<=1.5", "ok:true", "extra.user:ann", "extra.user.id:7", "extra.took:>2", "extra:ann",
	"extra.user:*", "order:x", "ts:>2026-01-05T10:10", "ts:2026-01-05T10:05..2026-01-05T10:15",
	"at:2026-01-05T10:00:00.0001Z", "at:<2026-01-06", "n:255", "12:30", "user=ann", "it's", `"\"b\" \\"`, "100%",
	"Ärger", "message:conn", "message=Ärger", `message:""`, "=", `"\\ "`, "message:~100%", "*",
}

func randomSearch(r *rand.Rand, deep int) string {
	switch r.IntN(5) {
	case 0:
		if deep > 0 {
			return "(" + randomSearch(r, deep-1) + " OR " + randomSearch(r, deep-1) + ")"
		}
	case 1:
		if deep > 0 {
			return "(" + randomSearch(r, deep-1) + " " + randomSearch(r, deep-1) + ")"
		}
	case 2:
		if deep > 0 {
			return "NOT (" + randomSearch(r, deep-1) + ")"
		}
	}
	return searchTerms[r.IntN(len(searchTerms))]
}

// TestSearches runs random searches: a search and its negation together must find each row once,
// and their conditions must never be null.
func TestSearches(t *testing.T) {
	t.Parallel()
	n := New(t)
	n.Start()
	run(t, n, searchTable)
	r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // choices of a test
	const rows = 2000
	for range 2 {
		run(t, n, searchRows(r, rows/2))
	}
	columns := search.NewColumns(searched(), roles.Chosen{})
	texts := append([]string{}, searchTerms...)
	for range 200 {
		texts = append(texts, randomSearch(r, 3))
	}
	found := 0
	for _, text := range texts {
		yes, no := conditionOf(t, text, columns), conditionOf(t, "-("+text+")", columns)
		got := counts(t, n, yes, no, "("+yes+") AND ("+no+")")
		if got[0]+got[1] != rows || got[2] != 0 {
			t.Errorf("%s finds %d of %d rows, its negation %d, both %d:\n%s\n%s", text, got[0], rows, got[1], got[2], yes, no)
		}
		if got[0] > 0 {
			found++
		}
	}
	if found < len(searchTerms) {
		t.Errorf("only %d of %d searches find any row", found, len(texts))
	}
	searchFinds(t, n, columns)
	tailSearch(t, n)
}

// run runs a statement that returns no rows.
func run(t *testing.T, n *Node, sql string) {
	t.Helper()
	a, err := n.ask("/v1/sql", "application/x-www-form-urlencoded", "sql="+url.QueryEscape(sql))
	if err != nil || a.Status != 200 {
		t.Fatalf("%.200s: %v, %v", sql, a, err)
	}
}

// counts returns the number of rows that meet each condition.
func counts(t *testing.T, n *Node, conditions ...string) []int64 {
	t.Helper()
	list := make([]string, len(conditions))
	for i, c := range conditions {
		list[i] = "count(*) FILTER (WHERE " + c + ")"
	}
	out := make([]int64, len(conditions))
	for i, v := range n.Rows(t, "SELECT "+strings.Join(list, ", ")+" FROM app")[0] {
		var err error
		if out[i], err = v.(json.Number).Int64(); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func conditionOf(t *testing.T, text string, columns *search.Columns) string {
	t.Helper()
	q, err := search.Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	sql, err := q.Condition(columns)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return sql
}

// searchFinds compares some searches with equivalent SQL conditions.
func searchFinds(t *testing.T, n *Node, columns *search.Columns) {
	t.Helper()
	for text, want := range map[string]string{
		"conn": `message = 'conn reset by peer' OR "error.message" = 'conn refused'`,
		"-conn": `message IS DISTINCT FROM 'conn reset by peer' AND ` +
			`"error.message" IS DISTINCT FROM 'conn refused'`,
		"time*":                    `message LIKE 'Timeout%' OR "error.message" = 'timeouts'`,
		"*out":                     `message LIKE 'Timeout%'`,
		"host:web*":                `host IN ('web-1', 'web_2')`,
		"host=a*":                  `host = 'a*'`,
		"-host:a":                  `host IS DISTINCT FROM 'a'`,
		"level:error":              `level IN ('error', 'ERR')`,
		"level:other":              `level IN ('loud', '')`,
		"status:4*":                `status = 404`,
		"extra.took:>2":            `extra->>'user' = 'ann'`,
		"*:7":                      `extra->'user'->>'id' = '7'`,
		`"\"b\" \\"`:               `message LIKE 'a "b"%'`,
		"user=ann":                 `message LIKE 'user=ann%'`,
		"at:<2026-01-06":           `at = '2026-01-05 10:00:00.0001'`,
		"level:warn..error host:*": `level IN ('error', 'ERR', 'warn') AND host IS NOT NULL`,
	} {
		sql := conditionOf(t, text, columns)
		got := counts(t, n, sql, want, "("+sql+") AND ("+want+")")
		if got[0] != got[1] || got[0] != got[2] || got[0] == 0 {
			t.Errorf("%s finds %d rows, %s %d, both %d", text, got[0], want, got[1], got[2])
		}
	}
}

// tailSearch tails a table with a search condition, through the server.
func tailSearch(t *testing.T, n *Node) {
	t.Helper()
	want := counts(t, n, "host = 'web-1' AND level = 'warn'")[0]
	a, err := n.Do("GET", "/v1/tail?table=app&since=100000h&search="+url.QueryEscape("host:web-1 level:warn"), nil,
		"x-svc-timeout", "3s")
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(string(a.Body), `"host":"web-1"`); a.Status != 200 || int64(got) != want || want == 0 {
		t.Errorf("the tail answers %d with %d rows, want %v", a.Status, got, want)
	}
	a, err = n.Do("GET", "/v1/tail?table=app&search=hots:a", nil)
	wrong := `"at":{"offset":0,"length":4},"nearest":["host"`
	if err != nil || a.Status != 400 || !strings.Contains(string(a.Body), wrong) {
		t.Errorf("a wrong search is answered %v, %v, want %s", a, err, wrong)
	}
}
