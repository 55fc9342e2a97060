package cluster

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// bulk sends documents to an index of database a, and returns the status of the answer and of each item.
func (n *Node) bulk(t *testing.T, documents ...string) (status int, items []int) {
	t.Helper()
	answer, err := n.Do(http.MethodPost, "/v1/elasticsearch/_bulk", strings.NewReader(strings.Join(documents, "\n")+"\n"),
		"Content-Type", "application/x-ndjson", "x-svc-db-name", "a")
	if err != nil {
		t.Fatal(err)
	}
	var result struct {
		Items []map[string]struct {
			Status int
			Error  struct{ Type, Reason string }
		}
	}
	if err := json.Unmarshal(answer.Body, &result); err != nil {
		t.Fatalf("%s: %v", answer.Body, err)
	}
	for _, item := range result.Items {
		for _, of := range item {
			items = append(items, of.Status)
			if of.Status == http.StatusTooManyRequests &&
				(of.Error.Type != "es_rejected_execution_exception" || !strings.Contains(of.Error.Reason, "quota.")) {
				t.Errorf("%+v", of)
			}
		}
	}
	if (answer.Header.Get("Retry-After") != "") != strings.Contains(fmt.Sprint(items), "429") {
		t.Errorf("%d with items %d has Retry-After %q", answer.Status, items, answer.Header.Get("Retry-After"))
	}
	return answer.Status, items
}

// TestQuotasOfRecords: a bulk request stores the documents that fit the quotas of tables and columns of the database,
// and only the others get 429.
func TestQuotasOfRecords(t *testing.T) {
	t.Parallel()
	n := New(t, "--on-reject", "store")
	n.Start()
	for _, sql := range []string{
		"CREATE DATABASE a", "ALTER DATABASE a SET 'quota.tables' = '3', 'quota.columns' = '4'",
	} {
		n.Rows(t, sql)
	}
	// A document goes to an index, and there to a table with a suffix.
	doc := func(index, suffix, fields string) []string {
		return []string{
			fmt.Sprintf(`{"create":{"_index":%q}}`, index),
			fmt.Sprintf(`{"svc_table_suffix":%q,"m":"text"%s}`, suffix, fields),
		}
	}
	documents := func(list ...[]string) (out []string) {
		for _, d := range list {
			out = append(out, d...)
		}
		return out
	}
	for i, step := range []struct {
		documents []string
		status    int
		items     string
	}{
		{documents(doc("app", "_x", ""), doc("app", "_y", "")), 200, "[201 201]"},
		{documents(doc("app", "_x", ""), doc("web", "", ""), doc("app", "_y", "")), 200, "[201 201 201]"},
		// The quota of tables is used up. The first request finds it out from the metadata, the second knows it.
		{
			documents(doc("app", "_x", ""), doc("app", "_z", ""), doc("web", "", ""), doc("new", "", "")), 200,
			"[201 429 201 429]",
		},
		{
			documents(doc("app", "_z", ""), doc("app", "_x", ""), doc("app", "_u", ""), doc("app", "_y", "")), 200,
			"[429 201 429 201]",
		},
		{documents(doc("new", "", ""), doc("app", "_z", "")), 503, "[429 429]"},
		// Of four columns, two are used.
		{documents(doc("app", "_x", `,"a":1,"b":2`), doc("app", "_x", `,"c":3`), doc("app", "_x", "")), 200, "[201 429 201]"},
		{documents(doc("app", "_y", `,"a":1,"b":2,"c":3,"d":4`), doc("app", "_y", "")), 200, "[429 201]"},
	} {
		if status, items := n.bulk(t, step.documents...); status != step.status || fmt.Sprint(items) != step.items {
			t.Errorf("step %d: status %d, items %d; want %d and %s", i, status, items, step.status, step.items)
		}
	}
	for table, want := range map[string]int{"app_x": 6, "app_y": 4, "web": 2} {
		if got := fmt.Sprint(n.Rows(t, "SELECT count(*) FROM a."+table)); got != fmt.Sprintf("[[%d]]", want) {
			t.Errorf("%s has %s rows, want %d", table, got, want)
		}
	}
	if rejects, err := n.Query("SELECT count(*) FROM svc_private.rejects"); err == nil && fmt.Sprint(rejects) != "[[0]]" {
		t.Errorf("%v documents that the client sends again are kept as rejects", rejects)
	}
}
