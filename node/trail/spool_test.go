package trail

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"cordwood/shard/vfs"
)

func openTest(t *testing.T, fsys vfs.FS) *spool {
	t.Helper()
	s, _, err := openSpool(fsys, "audit", maxSpool)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// add appends rows with the ids after the last one.
func add(t *testing.T, s *spool, n int, text string) {
	t.Helper()
	for range n {
		r := Row{ID: s.last.ID + 1, Node: "n", Statement: text}
		r.Chain = r.Link(s.last.Chain)
		if err := s.append(&r); err != nil {
			t.Fatal(err)
		}
	}
}

// ids returns all rows that next returns until there are none.
func ids(t *testing.T, s *spool) (out []int64) {
	t.Helper()
	for {
		rows, err := s.next()
		if err != nil {
			t.Fatal(err)
		}
		if len(rows) == 0 {
			return out
		}
		for _, r := range rows {
			out = append(out, r.ID)
		}
		if err := s.done(rows); err != nil {
			t.Fatal(err)
		}
	}
}

func checkIDs(t *testing.T, got []int64, first, last int64) {
	t.Helper()
	for i, id := range got {
		if id != first+int64(i) {
			t.Fatalf("row %d has the id %d, want %d", i, id, first+int64(i))
		}
	}
	if n := int64(len(got)); n != last-first+1 {
		t.Fatalf("%d rows, want those from %d to %d", n, first, last)
	}
}

// TestSpoolKeepsRowsInOrder writes several files of rows, some with line feeds, reads a part, and opens the folder
// again: what was not marked as written is returned once, and the files of written rows are removed.
func TestSpoolKeepsRowsInOrder(t *testing.T) {
	fsys := vfs.NewMem()
	s := openTest(t, fsys)
	text := strings.Repeat("a\nforged line\n\"", 200)
	add(t, s, 3000, text)
	if len(s.files) < 2 {
		t.Fatalf("%d files; the test needs several", len(s.files))
	}
	rows, err := s.next()
	if err != nil || len(rows) == 0 || rows[0].Statement != text {
		t.Fatalf("the first rows: %d, %v", len(rows), err)
	}
	if err := s.done(rows); err != nil {
		t.Fatal(err)
	}
	read := int64(len(rows))
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	s = openTest(t, fsys)
	if s.last.ID != 3000 {
		t.Fatalf("the last row is %d", s.last.ID)
	}
	add(t, s, 5, "more")
	checkIDs(t, ids(t, s), read+1, 3005)
	if len(s.files) != 1 {
		t.Errorf("%d files remain, although all rows are written", len(s.files))
	}
	if s.waiting() != 0 {
		t.Errorf("%d bytes wait, although all rows are written", s.waiting())
	}
	add(t, s, 1, "last")
	checkIDs(t, ids(t, s), 3006, 3006)
}

// TestSpoolAfterCrash loses what was not synced, and damages a line: the rows before and after remain.
func TestSpoolAfterCrash(t *testing.T) {
	fsys := vfs.NewMem()
	s := openTest(t, fsys)
	add(t, s, 10, "durable")
	if err := s.sync(); err != nil {
		t.Fatal(err)
	}
	add(t, s, 5, "not durable")
	fsys.Crash(7)
	s = openTest(t, fsys)
	if s.last.ID < 10 {
		t.Fatalf("a synced row is lost: the last one is %d", s.last.ID)
	}
	last := s.last.ID
	add(t, s, 2, "after")
	checkIDs(t, ids(t, s), 1, last+2)
}

// TestSpoolIsBounded fills the files: further rows are refused until rows are written to the table.
func TestSpoolIsBounded(t *testing.T) {
	s, _, err := openSpool(vfs.NewMem(), "audit", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for ; ; n++ {
		r := Row{ID: s.last.ID + 1, Statement: strings.Repeat("x", 4<<10)}
		if err = s.append(&r); err != nil {
			break
		}
	}
	if !errors.Is(err, errSpoolFull) || n < 200 || s.total > 1<<20 {
		t.Fatalf("after %d rows with %d bytes: %v", n, s.total, err)
	}
	checkIDs(t, ids(t, s), 1, int64(n))
}

// TestChain changes each field of a row: the chain value changes.
func TestChain(t *testing.T) {
	base := Row{Time: 1, Node: "n", ID: 2, Principal: "p"}
	seen := map[string]string{base.Link(""): "nothing", base.Link("00"): "the row before"}
	if len(seen) != 2 {
		t.Fatal("the chain does not depend on the row before")
	}
	for i, r := range []Row{
		{Time: 2, Node: "n", ID: 2, Principal: "p"},
		{Time: 1, Node: "m", ID: 2, Principal: "p"},
		{Time: 1, Node: "n", ID: 3, Principal: "p"},
		{Time: 1, Node: "n", ID: 2, Auth: "p"},
		{Time: 1, Node: "n", ID: 2, Principal: "p", Message: "m"},
		{Time: 1, Node: "n", ID: 2, Principal: "p", Code: 1},
	} {
		link := r.Link("")
		if what := seen[link]; what != "" {
			t.Errorf("row %d has the chain value of %s", i, what)
		}
		seen[link] = fmt.Sprint("row ", i)
	}
}
