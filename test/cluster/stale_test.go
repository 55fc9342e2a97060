package cluster

import (
	"fmt"
	"testing"
)

// TestTableThroughAnotherRouter sends rows through one router right after their table was created through another.
// The rows must not be refused although this router does not have the table yet.
func TestTableThroughAnotherRouter(t *testing.T) {
	t.Parallel()
	c := NewCluster(t, Spec{Meta: 3, Shard: 1, Router: 2})
	c.Start()
	const ingest = "/v1/ingest?pipeline_name=svc_identity&table="
	jsonBody := []string{"Content-Type", "application/json"}
	for i := range 20 {
		maker, sender := c.Routers[i%2], c.Routers[1-i%2]
		made := fmt.Sprintf("made%d", i)
		create := fmt.Sprintf("CREATE TABLE %s (svc_timestamp TIMESTAMP(9) TIME INDEX, k STRING, n INT DEFAULT 7, "+
			"PRIMARY KEY(k)) WITH (append_mode='true')", made)
		if a := maker.sql(t, "", create); a.Status != 200 {
			t.Fatalf("%s", a.Body)
		}
		must(t, sender, "POST", ingest+made, `{"k":"a"}`, jsonBody...)
		sameRows(t, sender, "SELECT k, n FROM "+made, `[["a",7]]`)

		aside := fmt.Sprintf("aside%d", i)
		must(t, maker, "POST", ingest+aside, `{"n":1}`, append(jsonBody, "x-svc-hints", "on_type_conflict=aside")...)
		must(t, sender, "POST", ingest+aside, `{"n":"x"}`, jsonBody...)

		skip := fmt.Sprintf("skip%d", i)
		must(t, maker, "POST", ingest+skip, `{"n":1}`, jsonBody...)
		must(t, sender, "POST", ingest+skip+"&skip_error=true", `[{"n":"x"},{"n":2}]`, jsonBody...)
		sameRows(t, maker, "SELECT n FROM "+skip+" ORDER BY n", `[[1],[2]]`)
	}
}
