package write

import (
	"fmt"
	"sync"
	"testing"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
)

// TestSchemaDemandsAreJoined: 50 columns of 10 tables that appear in many requests at once
// cost a few commands, not one each.
func TestSchemaDemandsAreJoined(t *testing.T) {
	m, s := newFakeMeta(), &fakeShards{}
	w := newWriter(t, m, s)
	var wg sync.WaitGroup
	for i := range 500 {
		wg.Go(func() {
			out := output(rows(fmt.Sprint("t", i%10), 1, field(fmt.Sprint("c", i/10), schema.Int64)))
			if _, err := w.Write(t.Context(), out); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if m.ensured > 25 {
		t.Errorf("%d commands for 10 tables of 50 columns", m.ensured)
	}
	for i := range 10 {
		if table, ok := m.Table("public", fmt.Sprint("t", i)); !ok || len(table.Columns) != 51 {
			t.Errorf("table %d: %v", i, table)
		}
	}
	if s.rows() != 500 {
		t.Errorf("%d rows", s.rows())
	}
}

// TestOnlyTheGuiltyFail: a demand that is refused does not take those with it that came
// at the same time.
func TestOnlyTheGuiltyFail(t *testing.T) {
	m, s := newFakeMeta(), &fakeShards{}
	w := newWriter(t, m, s)
	var wg sync.WaitGroup
	failed := make([]error, 20)
	for i := range failed {
		wg.Go(func() {
			r := rows(fmt.Sprint("t", i), 1, field("a", schema.Int64))
			r.NoCreate = i%5 == 0
			_, failed[i] = w.Write(t.Context(), output(r))
		})
	}
	wg.Wait()
	for i, err := range failed {
		if (err != nil) != (i%5 == 0) {
			t.Errorf("request %d: %v", i, err)
		}
	}
}

// TestRefusalsAreRemembered until the metadata changes.
func TestRefusalsAreRemembered(t *testing.T) {
	m, s := newFakeMeta(), &fakeShards{}
	w := newWriter(t, m, s)
	try := func() error {
		r := rows("none", 1, field("a", schema.Int64))
		r.NoCreate = true
		_, err := w.Write(t.Context(), output(r))
		return err
	}
	for range 5 {
		if err := try(); errs.CodeOf(err) != errs.InvalidArguments {
			t.Fatal(err)
		}
	}
	if m.ensured != 1 {
		t.Errorf("%d commands for what is refused", m.ensured)
	}
	if _, err := w.Write(t.Context(), output(rows("none", 1, field("a", schema.Int64)))); err != nil {
		t.Fatal(err)
	}
	if err := try(); err != nil {
		t.Errorf("after somebody made the table: %v", err)
	}
}
