package cluster

import (
	"fmt"
	"strings"
	"testing"
)

// TestKeyWithAnotherBody sends another body under a key that was used: it is refused with 422,
// whatever it has in common with the first, and what was stored stays as it is.
func TestKeyWithAnotherBody(t *testing.T) {
	t.Parallel()
	n := New(t)
	n.Start()
	n.Rows(t, "CREATE TABLE spread (svc_timestamp TIMESTAMP(9) TIME INDEX, a BIGINT) WITH (append_mode='true', partitions='4')")
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
			if a := send(other); a.Status != 422 || !strings.Contains(string(a.Body), "Idempotency-Key") || !strings.Contains(string(a.Body), `"code":1004`) {
				t.Errorf("%s: %q: %d: %s", table, other, a.Status, a.Body)
			}
		}
		if got := fmt.Sprint(n.Rows(t, "SELECT a FROM "+table)); got != "[[1]]" {
			t.Errorf("%s has %s", table, got)
		}
	}
}
