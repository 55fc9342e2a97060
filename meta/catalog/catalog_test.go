package catalog

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/bbolt"

	"cordwood/proto/metapb"
	"cordwood/proto/schemapb"
	"cordwood/shard/replica/raftlog/boltfile"
)

func mustOpen(t *testing.T, path string) *Catalog {
	t.Helper()
	c, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func update(t *testing.T, c *Catalog, f func(tx *Tx) error) {
	t.Helper()
	if err := c.Update(f); err != nil {
		t.Fatal(err)
	}
}

// addTables stores n tables t1 to tn on shard 1.
func addTables(n int) func(tx *Tx) error {
	return func(tx *Tx) error {
		for i := 1; i <= n; i++ {
			id, err := tx.Tables.NextID()
			if err != nil {
				return err
			}
			err = tx.Tables.Create(&schemapb.Table{
				Id: id, Database: "d", Name: fmt.Sprintf("t%d", i), Placement: []*schemapb.Placement{{Epoch: 1, ShardId: 1}},
			})
			if err != nil {
				return err
			}
		}
		return nil
	}
}

func count(t *testing.T, c *Catalog) (tables, load uint64) {
	t.Helper()
	err := c.View(func(tx *Tx) error {
		tables = tx.Tables.Count()
		for _, l := range tx.Shards.Loads() {
			load += l.Tables
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return tables, load
}

func TestCountsFollowTables(t *testing.T) {
	c := mustOpen(t, filepath.Join(t.TempDir(), "state.db"))
	update(t, c, func(tx *Tx) error { return tx.Shards.Put(&metapb.Shard{Id: 1}) })
	update(t, c, addTables(5))
	update(t, c, func(tx *Tx) error {
		table, err := tx.Tables.ByName("d", "t3")
		if err != nil {
			return err
		}
		return tx.Tables.Drop(table, 77, 1e9)
	})
	if tables, load := count(t, c); tables != 4 || load != 4 {
		t.Errorf("%d tables, load %d, want 4", tables, load)
	}
	err := c.View(func(tx *Tx) error {
		want := []Dropped{{ID: 3, Database: "d", Name: "t3", Index: 77, UnixNano: 1e9}}
		if diff := cmp.Diff(want, tx.Tables.DroppedFrom(0, 10)); diff != "" {
			t.Errorf("dropped (-want +got):\n%s", diff)
		}
		if table, err := tx.Tables.ByName("d", "t3"); table != nil || err != nil {
			t.Errorf("dropped table is %v, %v", table, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestFailedUpdateChangesNothing(t *testing.T) {
	c := mustOpen(t, filepath.Join(t.TempDir(), "state.db"))
	stop := errors.New("stop")
	err := c.Update(func(tx *Tx) error { return errors.Join(addTables(3)(tx), stop) })
	if !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
	if tables, _ := count(t, c); tables != 0 {
		t.Errorf("%d tables after a failed update", tables)
	}
}

func TestTablesFromStopsAtItsLimits(t *testing.T) {
	c := mustOpen(t, filepath.Join(t.TempDir(), "state.db"))
	update(t, c, addTables(10))
	tests := []struct {
		after        uint64
		limit, bytes int
		want         string
	}{
		{0, 100, 1 << 20, "1 2 3 4 5 6 7 8 9 10 done"},
		{0, 3, 1 << 20, "1 2 3"},
		{3, 3, 1 << 20, "4 5 6"},
		{8, 2, 1 << 20, "9 10 done"},
		{0, 100, 1, "1"},
		{10, 3, 1 << 20, "done"},
	}
	for _, test := range tests {
		err := c.View(func(tx *Tx) error {
			tables, done, err := tx.Tables.From(test.after, test.limit, test.bytes)
			got := ""
			for _, table := range tables {
				got += fmt.Sprint(table.Id, " ")
			}
			if done {
				got += "done"
			}
			if strings.TrimSpace(got) != test.want {
				t.Errorf("after %d, limit %d, %d bytes: got %q, want %q", test.after, test.limit, test.bytes, got, test.want)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestRestore(t *testing.T) {
	from := mustOpen(t, filepath.Join(t.TempDir(), "state.db"))
	update(t, from, addTables(7))
	frozen, err := from.Freeze()
	if err != nil {
		t.Fatal(err)
	}
	update(t, from, addTables(1)) // not in the frozen state
	var snapshot bytes.Buffer
	if err := frozen.Persist(&snapshot); err != nil {
		t.Fatal(err)
	}
	frozen.Release()

	dir := t.TempDir()
	to := mustOpen(t, filepath.Join(dir, "state.db"))
	update(t, to, addTables(2))
	for _, bad := range []string{"", "not a bolt file", snapshot.String()[:5000]} {
		if err := to.Restore(strings.NewReader(bad)); err == nil {
			t.Errorf("%d bytes of another kind were restored", len(bad))
		}
		if tables, _ := count(t, to); tables != 2 {
			t.Fatalf("%d tables after a failed restore, want 2", tables)
		}
	}
	if err := to.Restore(&snapshot); err != nil {
		t.Fatal(err)
	}
	if tables, _ := count(t, to); tables != 7 {
		t.Errorf("%d tables, want 7", tables)
	}
	update(t, to, addTables(1))
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("files are %v, %v", entries, err)
	}
}

// TestNewerFormatIsRefused checks that a file of a future version is not read and not changed.
func TestNewerFormatIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	c, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error { return tx.Bucket(bucketMeta).Put(keyFormat, u64(formatVersion+1)) })
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); !errors.Is(err, ErrUnsupported) {
		t.Errorf("Open gives %v", err)
	}
	if _, err := OpenReadOnly(path); !errors.Is(err, ErrUnsupported) {
		t.Errorf("OpenReadOnly gives %v", err)
	}
}

// TestDamage changes every byte of the used pages, one at a time. The file must not open, or must
// have its old contents.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "state.db")
	c := mustOpen(t, path)
	update(t, c, addTables(3))
	update(t, c, func(tx *Tx) error { return tx.SetClusterID("01ARZ3NDEKTSV4RRFFQ69G5FAV") })
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	all := func() (string, error) {
		var out strings.Builder
		err := boltfile.Walk(path, func(bucket string, key, value []byte) error {
			fmt.Fprintf(&out, "%s %x %x\n", bucket, key, value)
			return nil
		})
		return out.String(), err
	}
	want, err := all()
	if err != nil {
		t.Fatal(err)
	}
	sound, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for at := range sound {
		if sound[at] == 0 && at%61 != 0 {
			continue // most zero bytes have no meaning
		}
		bad := bytes.Clone(sound)
		bad[at] ^= 1 << (at % 8)
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := verifyFile(path); err != nil {
			found++
			continue
		}
		if got, err := all(); err != nil || got != want {
			t.Fatalf("byte %d of %d: no check finds the change, and the content differs: %v\n%s", at, len(sound), err,
				cmp.Diff(want, got))
		}
	}
	if found < 300 {
		t.Errorf("only %d damages were found", found)
	}
}
