package catalog

import (
	"errors"
	"testing"

	"cordwood/proto/schemapb"
)

// TestCountIn checks the number of tables of a database while tables are created and dropped, in transactions that are
// committed and in one that is not.
func TestCountIn(t *testing.T) {
	c := mustOpen(t, t.TempDir()+"/state.db")
	update(t, c, addTables(3))
	check := func(when string, want uint64) {
		t.Helper()
		err := c.View(func(tx *Tx) error {
			if got := tx.Tables.CountIn("d"); got != want || tx.Tables.CountIn("other") != 0 {
				t.Errorf("%s: %d tables, want %d", when, got, want)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	change := func(create, drop uint64, inside uint64) func(tx *Tx) error {
		return func(tx *Tx) error {
			table := &schemapb.Table{
				Id: create, Database: "d", Name: "new", Placement: []*schemapb.Placement{{Epoch: 1, ShardId: 1}},
			}
			if err := tx.Tables.Create(table); err != nil {
				return err
			}
			if got := tx.Tables.CountIn("d"); got != inside {
				t.Errorf("inside: %d tables, want %d", got, inside)
			}
			if drop == 0 {
				return nil
			}
			return tx.Tables.Drop(table, 9, 9)
		}
	}
	check("at first", 3)
	update(t, c, change(9, 0, 4))
	check("after a new table", 4)
	no := errors.New("no")
	if err := c.Update(func(tx *Tx) error { return errors.Join(change(10, 0, 5)(tx), no) }); !errors.Is(err, no) {
		t.Fatal(err)
	}
	check("after a transaction that failed", 4)
	update(t, c, change(11, 11, 5))
	check("after a table that was dropped", 4)
}
