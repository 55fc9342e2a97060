package chaos

import (
	"fmt"
	"strings"
	"testing"

	"cordwood/proto/metapb"
	"cordwood/proto/schemapb"
)

// TestPlacementFaults checks follows with histories that the metadata can have, and with others. Each number is an
// epoch. "h" means that the rows were handed over, and "c" that the table is closed.
func TestPlacementFaults(t *testing.T) {
	for history, want := range map[string]string{
		"":           "it has no placement",
		"1":          "",
		"1 2 3":      "",
		"1 2c":       "", // a handoff is about to be finished
		"3":          "", // or the handoff was given up
		"1 4":        "", // for a table that was moved before it merged rows
		"1h 3":       "", // a finished handoff
		"1h 3h 5":    "", // two finished handoffs
		"1h 5":       "", // one handoff given up, and one finished
		"1h 3 4":     "", // after it, a change to append mode and a move
		"1h 3 4c":    "", // after it, the table was closed again
		"1h 2h 4":    "", // a move before the table merged rows
		"1 3":        "its epochs do not follow one another",
		"2 1":        "its epochs do not follow one another",
		"1 1":        "its epochs do not follow one another",
		"1c 2":       "its epochs do not follow one another",
		"1h 2":       "its epochs do not follow one another",
		"1 3h":       "its epochs do not follow one another",
		"1h 3 5":     "its epochs do not follow one another",
		"1h 3h 3h 5": "its epochs do not follow one another",
	} {
		table := &schemapb.Table{}
		for _, text := range strings.Fields(history) {
			p := &schemapb.Placement{ShardId: 1, Handed: strings.HasSuffix(text, "h"), Closed: strings.HasSuffix(text, "c")}
			if _, err := fmt.Sscan(strings.TrimRight(text, "hc"), &p.Epoch); err != nil {
				t.Fatal(err)
			}
			table.Placement = append(table.Placement, p)
		}
		if got := strings.Join(placementFaults(table, []*metapb.Shard{{Id: 1}}), ", "); got != want {
			t.Errorf("%q: got %q, want %q", history, got, want)
		}
	}
}
