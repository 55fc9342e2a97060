package ingest

import (
	"testing"
	"time"

	"cordwood/proto/errs"
	"cordwood/router/pipeline"
)

// TestSameNameInTwoDatabases: new tables of the same name in two databases count as two, and those of one as one.
func TestSameNameInTwoDatabases(t *testing.T) {
	n := newTables{limit: 3}
	output := func(databases ...string) *pipeline.Output {
		out := &pipeline.Output{}
		for _, d := range databases {
			out.Tables = append(out.Tables, &pipeline.TableRows{Database: d, Table: "logs"})
		}
		return out
	}
	now := time.Now()
	if _, err := n.charge("ann", output("a", "b", "a"), now); err != nil {
		t.Fatal(err)
	}
	if _, err := n.charge("ann", output("c", "d"), now); errs.CodeOf(err) != errs.RateLimited {
		t.Errorf("four tables of three: %v", err)
	}
	if _, err := n.charge("ann", output("c", "c"), now); err != nil {
		t.Errorf("the third table: %v", err)
	}
}
