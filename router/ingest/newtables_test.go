package ingest

import (
	"fmt"
	"testing"
	"time"

	"cordwood/router/pipeline"
)

// The number of users that are remembered is limited.
func TestNewTablesForgetUsers(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	n := newTables{limit: 1}
	out := &pipeline.Output{Tables: []*pipeline.TableRows{{Table: "t"}}}
	for i := range 3 * maxMinutes {
		if _, err := n.charge(fmt.Sprint(i), out, now.Add(time.Duration(i)*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	if len(n.users) > maxMinutes {
		t.Errorf("%d users are remembered", len(n.users))
	}
}
