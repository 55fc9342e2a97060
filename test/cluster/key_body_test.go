package cluster

import (
	"fmt"
	"strings"
	"testing"
)

// TestKeyWithAnotherBody sends another body with a used key. The request must be refused with 422, however similar
// the bodies are, and the stored rows must not change.
func TestKeyWithAnotherBody(t *testing.T) {
	t.Parallel()
	n := New(t)
	n.Start()
	n.Rows(t, "CREATE TABLE spread (svc_timestamp TIMESTAMP(9) TIME INDEX, a BIGINT) WITH (append_mode='true', "+
		"partitions='4')")
	for _, table := range []string{"plain", "spread"} {
		send := func(body string) *Answer {
			t.Helper()
			a, err := n.Do("POST", "/v1/ingest?pipeline_name=svc_identity&table="+table, strings.NewReader(body),
				"Content-Type", "application/x-ndjson", "Idempotency-Key", "the key")
			if err != nil {
				t.Fatal(err)
			}
			return a
		}
		for range 2 {
			if a := send(`{"a":1}`); a.Status != 200 {
				t.Fatalf("%d: %s", a.Status, a.Body)
			}
		}
		for _, other := range []string{`{"a":2}`, `{"a":1} `, "{\"a\":1}\n{\"a\":2}", `{"a":1,"b":2}`} {
			if a := send(other); a.Status != 422 || !strings.Contains(string(a.Body), "Idempotency-Key") ||
				!strings.Contains(string(a.Body), `"code":1004`) {
				t.Errorf("%s: %q: %d: %s", table, other, a.Status, a.Body)
			}
		}
		if got := fmt.Sprint(n.Rows(t, "SELECT a FROM "+table)); got != "[[1]]" {
			t.Errorf("%s has %s", table, got)
		}
	}
}

// TestKeyWithOtherParameters repeats a body and its key with parameters that change the rows. The request must be
// refused with 422, and not be answered like a repetition.
func TestKeyWithOtherParameters(t *testing.T) {
	t.Parallel()
	n := New(t)
	n.Start()
	send := func(more string, headers ...string) *Answer {
		t.Helper()
		headers = append(headers, "Idempotency-Key", "the key")
		a, err := n.Do("POST", "/v1/ingest?pipeline_name=svc_identity&table=t"+more,
			strings.NewReader(`{"a":{"b":{"c":1}}}`), headers...)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	ndjson := []string{"Content-Type", "application/x-ndjson"}
	for range 2 {
		if a := send("", ndjson...); a.Status != 200 {
			t.Fatalf("%d: %s", a.Status, a.Body)
		}
	}
	for name, a := range map[string]*Answer{
		"text":              send("", "Content-Type", "text/plain"),
		"skip_error":        send("&skip_error=true", ndjson...),
		"max_nested_levels": send("", append(ndjson, "x-svc-pipeline-params", "max_nested_levels=1")...),
	} {
		if a.Status != 422 || !strings.Contains(string(a.Body), "other parameters") {
			t.Errorf("%s: %d: %s", name, a.Status, a.Body)
		}
	}
	if got := fmt.Sprint(n.Rows(t, "SELECT count(*) FROM t")); got != "[[1]]" {
		t.Errorf("the table has %s rows, want 1", got)
	}
}

// TestKeyOfInserts repeats INSERTs with their keys. Rows must be stored once, also in tables of several shards.
// Another statement with the same key must be refused.
func TestKeyOfInserts(t *testing.T) {
	t.Parallel()
	n := New(t)
	n.Start()
	n.Rows(t, "CREATE TABLE plain (ts TIMESTAMP(9) TIME INDEX, a BIGINT) WITH (append_mode='true')")
	n.Rows(t, "CREATE TABLE spread (ts TIMESTAMP(9) TIME INDEX, a BIGINT) WITH (append_mode='true', partitions='4')")
	n.Rows(t, "CREATE TABLE merged (ts TIMESTAMP(9) TIME INDEX, host STRING, a BIGINT, PRIMARY KEY (host)) WITH "+
		"(append_mode='false', partitions='4')")
	send := func(key, sql string) *Answer {
		t.Helper()
		a, err := n.Do("POST", "/v1/sql?format=ndjson", strings.NewReader(sql), "Content-Type", "application/sql",
			"Idempotency-Key", key)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	var texts []string
	for i, table := range []string{"plain", "spread", "merged"} {
		column := "a"
		if table == "merged" {
			column = "host"
		}
		// The server sets the time, which differs in each repetition.
		texts = append(texts,
			fmt.Sprintf("INSERT INTO %s (%s) VALUES (1), (2), (3); INSERT INTO %s (%s) VALUES (1), (2), (3)", table,
				column, table, column))
		for range 3 {
			if a := send(table, texts[i]); a.Status != 200 || strings.TrimSpace(string(a.Body)) != `{"affectedrows":6}` {
				t.Fatalf("%s: %d %s, want 6 rows", table, a.Status, a.Body)
			}
		}
		if got := fmt.Sprint(n.Rows(t, "SELECT count(*) FROM "+table)); got != "[[6]]" {
			t.Errorf("%s has %s rows, want 6", table, got)
		}
		if a := send(table, texts[i]+" "); a.Status != 422 || !strings.Contains(string(a.Body), "Idempotency-Key") {
			t.Errorf("%s: another text under the key: %d %s, want 422", table, a.Status, a.Body)
		}
	}
	// These rows are several batches for several shards.
	wide := "INSERT INTO spread (a) VALUES (0)" + strings.Repeat(", (7)", 99_999)
	for range 2 {
		if a := send("wide", wide); a.Status != 200 {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
	}
	if got := fmt.Sprint(n.Rows(t, "SELECT count(*) FROM spread")); got != "[[100006]]" {
		t.Errorf("the table has %s rows, want 100006", got)
	}
}
