package chaos

import (
	"fmt"
	"strings"
	"testing"

	"cordwood/proto/metapb"
	"cordwood/proto/schemapb"
)

// TestPlacementFaults checks follows with histories that the metadata can have, and with others.
// Each number is an epoch, followed by "h" if its rows were handed over and by "c" if it is closed.
func TestPlacementFaults(t *testing.T) {
	for history, want := range map[string]string{
		"":           "it has no place",
		"1":          "",
		"1 2 3":      "",
		"1 2c":       "", // a handoff is about to be finished
		"3":          "", // or was given up
		"1 4":        "", // for a table that was moved before it merged rows
		"1h 3":       "", // it was finished
		"1h 3h 5":    "", // twice
		"1h 5":       "", // given up, and finished
		"1h 3 4":     "", // then it changed to append mode and was moved
		"1h 3 4c":    "", // then it was closed again
		"1h 2h 4":    "", // it was moved before it merged rows
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
