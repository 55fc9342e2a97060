package compaction

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"cordwood/shard/query"
	"cordwood/shard/segment"
	"cordwood/shard/vfs"
)

// TestFaultsOfPieces makes each disk operation fail in turn while a file is cut into pieces. After
// the error no piece is left and every id is returned, so that the input, which stays, contains
// each row once.
func TestFaultsOfPieces(t *testing.T) {
	boom := errors.New("boom")
	for n := 1; ; n++ {
		if n > 1000 {
			t.Fatal("the test does not end")
		}
		disk := vfs.NewMem()
		if err := disk.MkdirAll("d"); err != nil {
			t.Fatal(err)
		}
		id := uint64(0)
		cfg := segment.Config{FS: disk, Dir: "d", RowGroupRows: 64, NextID: func() uint64 { id++; return id }}
		var times []int64
		for k := range int64(300) {
			times = append(times, k)
		}
		input := writeLogs(t, cfg, logs, rand.New(rand.NewPCG(1, 1)), times)
		fail := vfs.FailNth{N: n, Err: boom}
		cfg.FS = vfs.Hook(disk, fail.Fail)
		j := job(cfg, &Table{Def: logs, Merge: query.Append, Before: 70, Order: 9}, []segment.Meta{input})
		j.PieceRows = 64
		var abandoned []uint64
		j.Abandoned = func(id uint64) { abandoned = append(abandoned, id) }
		res, err := Run(context.Background(), j)
		if err == nil {
			if fail.Hit() {
				continue // the removal failed; nothing depends on it
			}
			sum := int64(0)
			for _, m := range res.Segments {
				sum += m.Rows
			}
			if len(res.Segments) < 3 || sum != 230 || len(abandoned) > 0 {
				t.Errorf("%d pieces of %d rows, %v abandoned; want at least 3 of 230", len(res.Segments), sum, abandoned)
			}
			t.Logf("%d operations, %d pieces", n-1, len(res.Segments))
			return
		}
		if !errors.Is(err, boom) {
			t.Fatalf("operation %d: %v", n, err)
		}
		slices.Sort(abandoned)
		var want []uint64
		for made := input.ID + 1; made <= id; made++ {
			want = append(want, made)
		}
		if !slices.Equal(abandoned, want) {
			t.Errorf("operation %d: ids %v of %v were returned", n, abandoned, want)
		}
		if names, err := disk.ReadDir("d"); err != nil ||
			fmt.Sprint(names) != fmt.Sprintf("[%s]", segment.FileName(input.ID)) {
			t.Errorf("operation %d: files after the error: %v, %v", n, names, err)
		}
		if err := segment.Check(disk, "d", &input, true); err != nil {
			t.Errorf("operation %d: the input: %v", n, err)
		}
	}
}
