package chaos

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"cordwood/test/cluster"
)

// TestSchemaRaces lets many clients create the same tables and columns at the same time, through several routers,
// with contradicting types. For each name there must be one table, with the same columns on every node, and every
// acknowledged value must be stored.
func TestSchemaRaces(t *testing.T) {
	together(t)
	const writers = 8
	tableCount, columns := rounds(6, 50), rounds(8, 50)
	c := cluster.NewCluster(t, cluster.Spec{All: 3})
	c.Start()
	var mu sync.Mutex
	acked := map[string]int{} // rows by table and column
	answers := map[string]int{}
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range tableCount * columns {
				// Each writer has its own order, close to the orders of the others.
				table, column := fmt.Sprintf("race_%d", i%tableCount), fmt.Sprintf("c%d", (i/tableCount+w/4)%columns)
				value := `1`
				if w%3 == 0 {
					value = `"text"`
				}
				body := fmt.Sprintf(`{"w":%d,%q:%s}`, w, column, value)
				a, err := c.Nodes[(w+i)%3].Do(http.MethodPost, "/v1/ingest?pipeline_name=svc_identity&table="+table,
					strings.NewReader(body), "Content-Type", "application/x-ndjson")
				mu.Lock()
				switch {
				case err != nil:
					t.Errorf("writer %d: %v", w, err)
				case a.Status == http.StatusOK:
					acked[table+"."+column]++
				case a.Status != http.StatusBadRequest || !strings.Contains(string(a.Body), column):
					t.Errorf("writer %d, column %s of %s: %d %s, want 200, or 400 for another type", w, column, table,
						a.Status, a.Body)
				}
				if err == nil {
					answers[fmt.Sprint(a.Status)]++
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	t.Logf("answers %v", answers)
	var first string
	for _, n := range c.Nodes {
		schema := n.Rows(t, "SELECT table_name, column_name, data_type FROM information_schema.columns WHERE "+
			"table_schema = 'public' ORDER BY ALL")
		if got := fmt.Sprint(schema); first == "" {
			first = got
		} else if got != first {
			t.Errorf("%s has other columns than %s", n.Name, c.Nodes[0].Name)
		}
	}
	names := map[string]uint64{}
	for _, table := range tables(t, c) {
		if other, twice := names[table.Database+"."+table.Name]; twice {
			t.Errorf("table %s exists twice, as %d and %d", table.Name, other, table.Id)
		}
		names[table.Database+"."+table.Name] = table.Id
	}
	for i := range tableCount {
		table := fmt.Sprintf("race_%d", i)
		for k := range columns {
			column := fmt.Sprintf("c%d", k)
			rows := c.Nodes[i%3].Rows(t, fmt.Sprintf("SELECT count(%s) FROM %s", column, table))
			if got := fmt.Sprint(rows[0][0]); got != fmt.Sprint(acked[table+"."+column]) {
				t.Errorf("column %s of %s has %s values, %d were acknowledged", column, table, got, acked[table+"."+column])
			}
			if acked[table+"."+column] == 0 {
				t.Errorf("no value of column %s of %s was accepted", column, table)
			}
		}
	}
}
