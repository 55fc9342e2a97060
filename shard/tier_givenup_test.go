package shard

import (
	"errors"
	"slices"
	"testing"

	"cordwood/shard/cold/bucket"
	"cordwood/shard/manifest"
	"cordwood/shard/rules"
	"cordwood/shard/store"
	"cordwood/shard/vfs"
)

// TestGivenUpRows: if an operator gives up rows of a segment, the other rows of its cut still go to the bucket. Without
// the note about them, the objects do not have the rows that were appended.
func TestGivenUpRows(t *testing.T) {
	t.Parallel()
	b := bucket.NewDir(t.TempDir())
	cfg := tiered(testConfig(t), b)
	cfg.Tier.CutBytes = 1
	s := openShard(t, cfg)
	s.stopCompactor()
	s.mustPut(batch(head(1, 9, 1), "of the first cut"))
	s.move()
	for seq, text := range []string{"one", "two", "three"} {
		s.mustPut(batch(head(1, 9, uint64(2+seq)), text))
		s.flush()
	}
	s.close()

	m, err := manifest.Open(manifest.Config{FS: vfs.OS, Dir: cfg.Dir, ShardID: testShard})
	if err != nil {
		t.Fatal(err)
	}
	list := m.State().Segments
	given := list[len(list)-2] // of row two
	if err := errors.Join(m.Commit(&manifest.Edit{Remove: []uint64{given.ID}}), m.Close()); err != nil {
		t.Fatal(err)
	}
	s = openShard(t, cfg)
	s.stopCompactor()
	refused := (*rules.ErrCold)(nil)
	if err := s.mover.Step(wait(t)); !errors.As(err, &refused) || !refused.Mismatch {
		t.Fatalf("without the note: %v", err)
	}
	if err := store.AddGivenUp(vfs.OS, cfg.Dir, &given); err != nil {
		t.Fatal(err)
	}
	s.step()
	c, sets := s.coldState()
	if c.Open != nil || len(sets) != 2 {
		t.Fatalf("the state is %+v, with %d sets", c, len(sets))
	}
	var rows []string
	for i := range sets {
		for k := range sets[i].Objects {
			rows = append(rows, objectRows(t, b, &sets[i].Objects[k], 1)...)
		}
	}
	if slices.Sort(rows); !slices.Equal(rows, []string{"of the first cut", "one", "three"}) {
		t.Errorf("the objects have %q", rows)
	}
	// A note whose rows are there does nothing, as after the files of another replica were taken.
	s.mustPut(batch(head(1, 9, 5), "four"))
	s.move()
	if w := s.Warnings(); len(w) > 0 {
		t.Errorf("warnings: %q", w)
	}
}
