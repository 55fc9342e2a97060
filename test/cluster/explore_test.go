package cluster

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// explored is the part of answers of /v1/explore that tests check.
type explored struct {
	Code  int
	Error string
	Range struct{ From, To *string }
	Rows  []exploredRow
	Next  *string
}

type exploredRow struct {
	ID, Time, Table string
	V               map[string]any
	Cut             map[string]int
}

func (r *exploredRow) key() string { return r.Table + " " + r.ID }

// explore sends a request to an endpoint of /v1/explore, and decodes the answer, which must have
// the given status.
func explore(t *testing.T, n *Node, what string, req map[string]any, status int, to any) {
	t.Helper()
	body, err := json.Marshal(req)
	if err != nil {
		t.Fatal(err)
	}
	a, err := n.Do("POST", "/v1/explore/"+what, bytes.NewReader(body), "Content-Type", "application/json")
	if err != nil || a.Status != status {
		t.Fatalf("%s %s: %v, %v, want %d", what, body, a, err, status)
	}
	if err := json.Unmarshal(a.Body, to); err != nil {
		t.Fatalf("%s %s: %v: %s", what, body, err, a.Body)
	}
}

// with returns a request with additional members.
func with(req map[string]any, more ...any) map[string]any {
	out := map[string]any{}
	for name, value := range req {
		out[name] = value
	}
	for i := 0; i < len(more); i += 2 {
		out[more[i].(string)] = more[i+1]
	}
	return out
}

// insertRows stores rows. Many of them have the same time, and some are equal.
func insertRows(t *testing.T, n *Node, table string, r *rand.Rand, rows int) {
	t.Helper()
	var b strings.Builder
	b.WriteString("INSERT INTO " + table + " (ts, level, n) VALUES ")
	for i := range rows {
		if i > 0 {
			b.WriteString(", ")
		}
		second := r.IntN(60)
		if r.IntN(3) == 0 {
			second = 7 // the time of a third of the rows
		}
		fmt.Fprintf(&b, "('2026-01-05 10:00:%02d', '%s', %d)", second, []string{"info", "error"}[r.IntN(2)], r.IntN(50))
	}
	run(t, n, b.String())
}

// pages reads all rows page by page. between is called between pages.
func pages(t *testing.T, n *Node, req map[string]any, between func()) []exploredRow {
	t.Helper()
	var all []exploredRow
	for page := 0; ; page++ {
		var a explored
		explore(t, n, "rows", req, 200, &a)
		all = append(all, a.Rows...)
		if a.Next == nil {
			return all
		}
		if page > 1000 || len(a.Rows) == 0 {
			t.Fatalf("page %d has %d rows, and there are more", page, len(a.Rows))
		}
		req = with(req, "cursor", *a.Next)
		delete(req, "at")
		between()
	}
}

// TestExploreDroppedColumn changes the columns of a table between two pages of rows with the same time. New columns
// change nothing. If a column is dropped, the rows are in another order, so the cursor is refused.
func TestExploreDroppedColumn(t *testing.T) {
	t.Parallel()
	n := New(t)
	n.Start()
	run(t, n, "CREATE TABLE app (ts TIMESTAMP(0) TIME INDEX, n BIGINT, old STRING) WITH (append_mode = 'true')")
	var values []string
	for i := range 300 {
		values = append(values, fmt.Sprintf("('2026-01-05 10:00:00', %d, 'x')", i))
	}
	run(t, n, "INSERT INTO app VALUES "+strings.Join(values, ", "))
	scope := map[string]any{"tables": []string{"app"}, "limit": 100}
	seen := map[float64]bool{}
	var page explored
	explore(t, n, "rows", scope, 200, &page)
	for i, change := range []string{"ADD COLUMN new STRING", "DROP COLUMN old"} {
		for _, row := range page.Rows {
			seen[row.V["n"].(float64)] = true
		}
		if len(seen) != 100*(i+1) || page.Next == nil {
			t.Fatalf("%d rows on %d pages", len(seen), i+1)
		}
		run(t, n, "ALTER TABLE app "+change)
		next, status := with(scope, "cursor", *page.Next), []int{200, 400}[i]
		page = explored{}
		explore(t, n, "rows", next, status, &page)
	}
	if !strings.Contains(page.Error, "a column of the table was dropped") {
		t.Error(page.Error)
	}
}

// TestExploreRows reads tables page by page, in both orders, while rows are added. Every existing row must be
// returned once, in one order, including rows with the same time.
func TestExploreRows(t *testing.T) {
	t.Parallel()
	n := New(t)
	n.Start()
	r := rand.New(rand.NewPCG(3, 4)) //nolint:gosec // choices of a test
	for _, table := range []string{"app_a", "app_b"} {
		run(t, n, "CREATE TABLE "+table+" (ts TIMESTAMP(0) TIME INDEX, level STRING, n BIGINT)")
		insertRows(t, n, table, r, 600)
	}
	scope := map[string]any{"tables": []string{"app_*"}, "from": "2026-01-05T00:00:00Z", "to": "2026-01-06T00:00:00Z"}
	before := pages(t, n, with(scope, "limit", 1000), func() {})
	if len(before) != 1200 {
		t.Fatalf("%d rows, want 1200", len(before))
	}
	for _, limit := range []int{1, 7, 100, 1000} {
		for _, order := range []string{"newest", "oldest"} {
			for _, tables := range [][]string{{"app_a"}, {"app_a", "app_b"}} {
				if limit == 1 && (order == "oldest" || len(tables) == 2) {
					continue // that would take many requests and test nothing new
				}
				checkPages(t, n, r, with(scope, "tables", tables, "limit", limit, "order", order))
			}
		}
	}
	checkAt(t, n, scope)
	checkTail(t, n, before)
	checkCursors(t, n, scope)
}

func checkPages(t *testing.T, n *Node, r *rand.Rand, req map[string]any) {
	t.Helper()
	name := fmt.Sprint(req["tables"], req["order"], req["limit"])
	existed := map[string]bool{}
	for _, row := range pages(t, n, with(req, "limit", 1000), func() {}) {
		existed[row.key()] = true
	}
	seen := map[string]bool{}
	added := 0
	rows := pages(t, n, req, func() {
		if added++; added < 4 {
			insertRows(t, n, "app_a", r, 3)
		}
	})
	for i, row := range rows {
		if seen[row.key()] {
			t.Fatalf("%s: row %s is returned twice", name, row.key())
		}
		seen[row.key()] = true
		if i > 0 && (req["order"] == "newest" && row.Time > rows[i-1].Time ||
			req["order"] == "oldest" && row.Time < rows[i-1].Time) {
			t.Fatalf("%s: row %d is of %s, the one before of %s", name, i, row.Time, rows[i-1].Time)
		}
	}
	for key := range existed {
		if !seen[key] {
			t.Fatalf("%s: row %s is missing among %d", name, key, len(rows))
		}
	}
}

// checkAt starts pages at a row, in either direction, and finds each row by its id, also rows that
// are equal.
func checkAt(t *testing.T, n *Node, scope map[string]any) {
	t.Helper()
	scope = with(scope, "tables", []string{"app_a"})
	all := pages(t, n, with(scope, "limit", 1000), func() {})
	equal := slices.IndexFunc(all, func(r exploredRow) bool { return strings.Count(r.ID, "-") == 2 })
	if equal < 0 {
		t.Fatal("no two rows are equal")
	}
	for _, i := range []int{0, equal, len(all) / 2, len(all) - 1} {
		want := all[i]
		var newer, older explored
		explore(t, n, "rows", with(scope, "at", want.ID, "limit", 1000), 200, &older)
		explore(t, n, "rows", with(scope, "at", want.ID, "limit", 1000, "order", "oldest"), 200, &newer)
		if len(older.Rows) == 0 || older.Rows[0].ID != want.ID || len(newer.Rows) == 0 || newer.Rows[0].ID != want.ID {
			t.Fatalf("pages at %s do not begin there", want.ID)
		}
		seen := map[string]bool{}
		for _, r := range slices.Concat(older.Rows, newer.Rows) {
			seen[r.ID] = true
		}
		if missing := len(all) - len(seen); missing > strings.Count(want.ID, "-") {
			t.Errorf("at %s both pages have %d of %d rows", want.ID, len(seen), len(all))
		}
		var one exploredRow
		explore(t, n, "row", map[string]any{"table": "app_a", "id": want.ID}, 200, &one)
		if one.ID != want.ID || fmt.Sprint(one.V) != fmt.Sprint(want.V) {
			t.Errorf("row %s is %v, want %v", want.ID, one, want)
		}
	}
	var gone explored
	explore(t, n, "row", map[string]any{"table": "app_a", "id": "1767607200000000000-0123456789abcdef"}, 404, &gone)
}

// checkTail checks that a tail sends rows in the form of pages, with the same ids.
func checkTail(t *testing.T, n *Node, rows []exploredRow) {
	t.Helper()
	a, err := n.Do("GET", "/v1/tail?table=app_a&shape=row&max_value_bytes=2&since=100000h", nil, "x-svc-timeout", "2s")
	if err != nil || a.Status != 200 {
		t.Fatal(a, err)
	}
	sent := map[string]bool{}
	for line := range bytes.Lines(a.Body) {
		var r exploredRow
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		sent[r.key()] = true
		if level, ok := r.V["level"].(string); !ok || len(level) != 2 || r.Cut["level"] < 4 {
			t.Fatalf("%s: the level is not cut to 2 bytes", line)
		}
	}
	for _, r := range rows {
		if r.Table == "app_a" && !sent[r.key()] {
			t.Fatalf("row %s was not sent, among %d", r.key(), len(sent))
		}
	}
}

func checkCursors(t *testing.T, n *Node, scope map[string]any) {
	t.Helper()
	var a, refused explored
	explore(t, n, "rows", with(scope, "limit", 5), 200, &a)
	for _, more := range [][]any{
		{"query", "level:error"},
		{"order", "oldest"},
		{"tables", []string{"app_a"}},
		{"where", "n > 1"},
		{"at", a.Rows[0].ID},
		{"cursor", *a.Next + "A"},
		{"cursor", "x"},
	} {
		explore(t, n, "rows", with(with(scope, "cursor", *a.Next, "limit", 5), more...), 400, &refused)
	}
	// The range of the first page applies to all pages, whatever range is sent with a cursor.
	var next explored
	explore(t, n, "rows", with(scope, "cursor", *a.Next, "from", "-1h", "to", nil), 200, &next)
	if len(next.Rows) != 200 || *next.Range.From != "2026-01-05T00:00:00Z" {
		t.Errorf("the second page has %d rows from %s on", len(next.Rows), *next.Range.From)
	}
}

// TestExploreContext requests the rows around a row: rows from the same source, from old to new, and further pages.
func TestExploreContext(t *testing.T) {
	t.Parallel()
	n := New(t)
	n.Start()
	run(t, n, "CREATE TABLE app (ts TIMESTAMP(9) TIME INDEX, host STRING, n BIGINT, at TIMESTAMP(3), "+
		"x DOUBLE, ok BOOLEAN)")
	var b strings.Builder
	b.WriteString("INSERT INTO app VALUES ")
	for i := range 100 {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "('%s', 'h%d', %d, '2026-01-05 10:00:00.5', 0.1, true)",
			time.Date(2026, 1, 5, 10, 0, 0, i, time.UTC).Format("2006-01-02 15:04:05.999999999"), i%2, i)
	}
	run(t, n, b.String())
	var a explored
	explore(t, n, "rows", map[string]any{"tables": []string{"app"}, "query": "n:50"}, 200, &a)
	type around struct {
		Before, After []exploredRow
		Row           exploredRow
		Same          []string
		Cursors       map[string]string
	}
	numbers := func(rows []exploredRow) (out []int) {
		for _, r := range rows {
			out = append(out, int(r.V["n"].(float64)))
		}
		return out
	}
	place := map[string]any{"table": "app", "id": a.Rows[0].ID, "before": 3, "after": 2}
	for _, c := range []struct {
		same []string
		want string
	}{
		{nil, "[44 46 48] 50 [52 54] [host]"},
		{[]string{}, "[47 48 49] 50 [51 52] []"},
		{[]string{"at", "x", "ok"}, "[47 48 49] 50 [51 52] [at x ok]"},
		{[]string{"n"}, "[] 50 [] [n]"},
	} {
		var got around
		explore(t, n, "context", with(place, "same", c.same), 200, &got)
		text := fmt.Sprint(numbers(got.Before), numbers([]exploredRow{got.Row})[0], numbers(got.After), got.Same)
		if text != c.want {
			t.Errorf("same %v: %s, want %s", c.same, text, c.want)
		}
		if c.same == nil {
			var more around
			explore(t, n, "context", with(place, "same", []string{"host"}, "cursors",
				map[string]string{"before": got.Cursors["before"]}), 200, &more)
			if text := fmt.Sprint(numbers(more.Before), numbers(more.After)); text != "[38 40 42] []" {
				t.Errorf("further rows are %s", text)
			}
		}
	}
	var refused explored
	explore(t, n, "context", with(place, "same", []string{"gone"}), 400, &refused)
	explore(t, n, "context", with(place, "before", 201), 400, &refused)
}
