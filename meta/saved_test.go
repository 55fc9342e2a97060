package meta

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"cordwood/meta/catalog"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/savedrules"
)

// proposed runs a command at a given time, as the state machine would.
func (r *runner) proposed(cmd *metapb.Command, at int64) *metapb.Result {
	r.t.Helper()
	cmd.TimeUnixNano = at
	if err := prepare(cmd); err != nil {
		return refused(errs.From(err))
	}
	result, ok := r.raw(cmd).(*metapb.Result)
	if !ok {
		r.t.Fatalf("%v: no result", cmd)
	}
	return result
}

func putSaved(kind, name, owner, value string, shared, manage bool, ifVersion uint64) *metapb.Command {
	return &metapb.Command{Op: &metapb.Command_PutSaved{PutSaved: &metapb.PutSaved{
		Saved: &metapb.Saved{Kind: kind, Name: name, Owner: owner, Shared: shared}, Value: []byte(value),
		IfVersion: ifVersion, Manage: manage,
	}}}
}

func dropSaved(kind, name, owner string, manage bool, ifVersion uint64) *metapb.Command {
	return &metapb.Command{Op: &metapb.Command_DropSaved{DropSaved: &metapb.DropSaved{
		Kind: kind, Name: name, Owner: owner, Manage: manage, IfVersion: ifVersion,
	}}}
}

func describeSaved(r *metapb.Result) string {
	if r.ErrorCode != 0 {
		return fmt.Sprint(r.ErrorCode)
	}
	s := r.Saved
	if s == nil {
		return "none"
	}
	return fmt.Sprintf("%s/%s of %s shared=%t v%d", s.Kind, s.Name, s.Owner, s.Shared, s.Version)
}

func TestApplySaved(t *testing.T) {
	r := newRunner(t)
	r.do("bootstrap c1 shards=1")
	for i, tt := range []struct {
		cmd  *metapb.Command
		want string
	}{
		{putSaved("search", "a", "ann", `{"q":1}`, false, false, 0), "search/a of ann shared=false v1"},
		{putSaved("search", "a", "ann", `2`, false, false, 0), "1006"}, // it exists
		{putSaved("search", "a", "bob", `3`, false, false, 0), "search/a of bob shared=false v2"},
		{putSaved("search", "a", "ann", `4`, false, false, 2), "1006"}, // another version
		{putSaved("search", "a", "ann", `4`, false, false, 1), "search/a of ann shared=false v3"},
		{putSaved("sql", "a", "ann", `5`, true, false, 0), "sql/a of ann shared=true v4"},
		{putSaved("sql", "a", "bob", `6`, true, false, 4), "7006"}, // it belongs to ann
		{putSaved("sql", "a", "bob", `6`, true, true, 4), "sql/a of ann shared=true v5"},
		{putSaved("sql", "a", "ann", `7`, false, false, 5), "sql/a of ann shared=false v6"}, // not shared any more
		{putSaved("sql", "a", "bob", `8`, true, true, 5), "1006"},
		{putSaved("search", "a", "ann", `9`, true, false, 3), "search/a of ann shared=true v7"},
		{putSaved("search", "b", "cleo", `9`, false, false, 0), "search/b of cleo shared=false v8"},
		{putSaved("search", "b", "bob", `9`, true, false, 0), "search/b of bob shared=true v9"},
		{putSaved("search", "b", "cleo", `9`, true, false, 8), "1006"}, // bob has a shared one with this name
		{dropSaved("search", "b", "ann", false, 9), "7006"},
		{dropSaved("search", "b", "ann", true, 8), "1006"},
		{dropSaved("search", "b", "cleo", false, 8), "search/b of cleo shared=false v8"},
		{dropSaved("search", "b", "cleo", true, 9), "search/b of bob shared=true v9"},
		{dropSaved("search", "b", "cleo", true, 9), "1006"},
		{putSaved("link", "l1", "ann", `{}`, true, false, 0), "link/l1 of ann shared=true v10"},
		{putSaved("link", "l1", "bob", `{}`, true, false, 0), "link/l1 of ann shared=true v10"}, // the same
		{putSaved("link", "l1", "bob", `[]`, true, false, 0), "1006"},
		{putSaved("nope", "a", "ann", `1`, false, false, 0), "1004"},
		{putSaved("sql", "a/b", "ann", `1`, false, false, 0), "1004"},
		{putSaved("sql", "", "ann", `1`, false, false, 0), "1004"},
		{putSaved("sql", "a\x00", "ann", `1`, false, false, 0), "1004"},
		{putSaved("sql", " a", "ann", `1`, false, false, 0), "1004"},
		{putSaved("sql", strings.Repeat("ä", 128), "ann", `1`, false, false, 0), "sql/" + strings.Repeat("ä", 128) +
			" of ann shared=false v11"},
		{putSaved("sql", strings.Repeat("ä", 129), "ann", `1`, false, false, 0), "1004"},
		{putSaved("sql", "a", "a\x00b", `1`, false, false, 0), "1004"},
		{putSaved("sql", "z", "ann", `{`, false, false, 0), "1004"},
		{putSaved("sql", "z", "ann", ``, false, false, 0), "1004"},
		{putSaved("sql", "z", "ann", `"`+strings.Repeat("x", savedrules.MaxBytes-1)+`"`, false, false, 0), "1004"},
		{&metapb.Command{Op: &metapb.Command_DropSaved{DropSaved: &metapb.DropSaved{Kind: "sql"}}}, "1004"},
		{
			&metapb.Command{Op: &metapb.Command_TouchSaved{TouchSaved: &metapb.TouchSaved{Kind: "link", Name: "l1"}}},
			"link/l1 of ann shared=true v10",
		},
		{&metapb.Command{Op: &metapb.Command_TouchSaved{TouchSaved: &metapb.TouchSaved{Kind: "link", Name: "l2"}}}, "none"},
	} {
		if got := describeSaved(r.proposed(tt.cmd, int64(i+1)*1e9)); got != tt.want {
			t.Errorf("step %d: %s, want %s", i, got, tt.want)
		}
	}
}

// TestSavedTotals checks that nothing is left of replaced and removed values, and that the totals
// match the stored values.
func TestSavedTotals(t *testing.T) {
	r := newRunner(t)
	r.do("bootstrap c1 shards=1")
	for i, cmd := range []*metapb.Command{
		putSaved("sql", "a", "ann", `"12345"`, false, false, 0),
		putSaved("sql", "b", "ann", `"1"`, false, false, 0),
		putSaved("sql", "a", "ann", `"123"`, true, false, 1),
		dropSaved("sql", "b", "ann", false, 2),
	} {
		if got := r.proposed(cmd, int64(i)); got.ErrorCode != 0 {
			t.Fatalf("step %d: %v", i, got)
		}
	}
	err := r.machine.catalog.View(func(tx *catalog.Tx) error {
		if got, want := tx.Saved.Totals(), (catalog.SavedTotals{Count: 1, Bytes: 5}); got != want {
			t.Errorf("totals %v, want %v", got, want)
		}
		s, err := tx.Saved.Visible("sql", "a", "somebody")
		if got := string(tx.Saved.Value(s)); got != `"123"` {
			t.Errorf("the shared value is %s", got)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestSavedRoom checks the limit of 500 values for one owner, and that unused links are deleted to
// make room.
func TestSavedRoom(t *testing.T) {
	r := newRunner(t)
	r.do("bootstrap c1 shards=1")
	const day = int64(24 * time.Hour)
	for i := range catalog.MaxSavedOwner {
		got := r.proposed(putSaved("link", fmt.Sprint("l", i), "ann", fmt.Sprint(i), true, false, 0), 1)
		if got.ErrorCode != 0 {
			t.Fatalf("link %d: %v", i, got)
		}
	}
	one := func(at int64) *metapb.Result {
		return r.proposed(putSaved("sql", fmt.Sprint("s", at), "ann", "1", false, false, 0), at)
	}
	if got := one(80 * day); errs.Code(got.ErrorCode) != errs.InvalidArguments ||
		!strings.Contains(got.ErrorMessage, "user ann has saved 500 values") {
		t.Errorf("one too many: %v", got)
	}
	if got := r.proposed(putSaved("sql", "s", "bob", "1", false, false, 0), 80*day); got.ErrorCode != 0 {
		t.Errorf("another user: %v", got)
	}
	touch := &metapb.Command{Op: &metapb.Command_TouchSaved{TouchSaved: &metapb.TouchSaved{Kind: "link", Name: "l7"}}}
	r.proposed(touch, 80*day)
	if got := one(91 * day); got.ErrorCode != 0 {
		t.Errorf("after 91 days: %v", got)
	}
	err := r.machine.catalog.View(func(tx *catalog.Tx) error {
		links, err := tx.Saved.From("link", nil, 1000)
		if len(links) != 1 || links[0].Name != "l7" {
			t.Errorf("%d links are left, want the one that was read", len(links))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestSavedRoomOfOwner checks that one owner can use only a part of the space, so that a user
// cannot take it from all others. Values of others do not count, and neither do replaced values.
func TestSavedRoomOfOwner(t *testing.T) {
	r := newRunner(t)
	r.do("bootstrap c1 shards=1")
	value := func(n int) string { return `"` + strings.Repeat("x", n-2) + `"` }
	const each = savedrules.MaxBytes
	save := func(name, owner string, bytes int, ifVersion uint64) *metapb.Result {
		return r.proposed(putSaved("search", name, owner, value(bytes), false, false, ifVersion), 1)
	}
	first := save("n0", "ann", each/2, 0)
	for i := 1; i < catalog.MaxOwnerSavedBytes/each; i++ {
		if got := save(fmt.Sprint("n", i), "ann", each, 0); got.ErrorCode != 0 {
			t.Fatalf("value %d: %v", i, got)
		}
	}
	full := save("n", "ann", each/2+1, 0)
	if errs.Code(full.ErrorCode) != errs.InvalidArguments || !strings.Contains(full.ErrorMessage, "values of user ann") {
		t.Errorf("a byte too many: %v", full)
	}
	if got := save("n0", "ann", each-1, first.Saved.Version); got.ErrorCode != 0 {
		t.Errorf("a value that grows to the bound: %v", got)
	}
	if got := save("n", "ann", 3, 0); errs.Code(got.ErrorCode) != errs.InvalidArguments {
		t.Errorf("beyond the bound: %v", got)
	}
	if got := save("n", "bob", each, 0); got.ErrorCode != 0 {
		t.Errorf("another user: %v", got)
	}
	if got := r.proposed(putSaved("search", "all", "", value(each), true, false, 0), 1); got.ErrorCode != 0 {
		t.Errorf("without users: %v", got)
	}
}

// TestRestoreSaved checks that a restore keeps newer values, and that new versions are above those
// of the backup.
func TestRestoreSaved(t *testing.T) {
	r := newRunner(t)
	r.do("bootstrap c1 shards=1")
	restore := func(name string, version uint64, value string) *metapb.Command {
		return &metapb.Command{Op: &metapb.Command_RestoreSaved{RestoreSaved: &metapb.RestoreSaved{
			Saved: &metapb.Saved{Kind: "sql", Name: name, Owner: "ann", Version: version}, Value: []byte(value),
		}}}
	}
	for i, tt := range []struct {
		cmd  *metapb.Command
		want string
	}{
		{restore("a", 7, "1"), "sql/a of ann shared=false v7"},
		{restore("a", 7, "1"), "sql/a of ann shared=false v7"},
		{putSaved("sql", "a", "ann", "2", false, false, 7), "sql/a of ann shared=false v8"},
		{restore("a", 7, "1"), "sql/a of ann shared=false v8"},
		{restore("b", 0, "1"), "1004"},
		{restore("b", 1<<63, "1"), "1004"},
	} {
		if got := describeSaved(r.proposed(tt.cmd, int64(i))); got != tt.want {
			t.Errorf("step %d: %s, want %s", i, got, tt.want)
		}
	}
}

// TestReadSaved checks that users see their own values and the shared ones.
func TestReadSaved(t *testing.T) {
	r := newRunner(t)
	r.do("bootstrap c1 shards=1")
	for i := range 40 { // enough for several pieces
		for _, owner := range []string{"ann", "bob"} {
			r.proposed(putSaved("sql", fmt.Sprint(owner, i), owner, "1", i%2 == 0, false, 0), 1)
		}
	}
	r.proposed(putSaved("search", "x", "ann", "2", false, false, 0), 1)
	m := &Meta{catalog: r.machine.catalog}
	for _, tt := range []struct {
		req  *metapb.ReadSavedRequest
		want int
	}{
		{&metapb.ReadSavedRequest{}, 81},
		{&metapb.ReadSavedRequest{Kind: "sql", Owner: proto.String("ann")}, 60},
		{&metapb.ReadSavedRequest{Owner: proto.String("ann")}, 61},
		{&metapb.ReadSavedRequest{Owner: proto.String("")}, 40},
		{&metapb.ReadSavedRequest{Kind: "sql", Name: "bob2", Owner: proto.String("ann")}, 1},
		{&metapb.ReadSavedRequest{Kind: "sql", Name: "bob3", Owner: proto.String("ann")}, 0},
		{&metapb.ReadSavedRequest{Kind: "sql", Name: "bob3", Owner: proto.String("bob")}, 1},
		{&metapb.ReadSavedRequest{Kind: "view"}, 0},
	} {
		n := 0
		err := m.readSaved(context.Background(), tt.req, func(s *metapb.ReadSavedResponse) error {
			if len(s.Value) == 0 {
				t.Errorf("%v has no value", s.Saved)
			}
			n++
			return nil
		})
		if err != nil || n != tt.want {
			t.Errorf("%v: %d things, %v; want %d", tt.req, n, err, tt.want)
		}
	}
}

// TestPipelineBasedOn checks that a version of a pipeline records who stored it and why, and is
// refused if its author did not see the newest one.
func TestPipelineBasedOn(t *testing.T) {
	r := newRunner(t)
	r.do("bootstrap c1 shards=1")
	put := func(name, note string, basedOn *int64) *metapb.Command {
		return &metapb.Command{Op: &metapb.Command_PutPipeline{PutPipeline: &metapb.PutPipeline{
			Name: name, ContentType: "yaml", Source: []byte("a"), Note: note, By: "ann", BasedOn: basedOn,
		}}}
	}
	for i, tt := range []struct {
		cmd  *metapb.Command
		want string
	}{
		{put("p", "first", proto.Int64(0)), `p@1 "first"`},
		{put("p", "", proto.Int64(0)), "1006"},
		{put("p", "", proto.Int64(7)), "1006"},
		{put("p", "x", proto.Int64(1)), `p@4 "x"`},
		{put("pp", "", nil), `pp@5 ""`},
		{put("o", "", proto.Int64(3)), "1006"},
		{put("p", "y", proto.Int64(4)), `p@7 "y"`},
		{put("p", "z", proto.Int64(4)), "1006"},
		{put("p", strings.Repeat("ä", 200), nil), `p@9 "` + strings.Repeat("ä", 200) + `"`},
		{put("p", strings.Repeat("ä", 201), nil), "1004"},
		{put("p", "\xff", nil), "1004"},
	} {
		got := r.proposed(tt.cmd, int64(i+1))
		text := fmt.Sprint(got.ErrorCode)
		if p := got.Pipeline; p != nil {
			text = fmt.Sprintf("%s@%d %q", p.Name, p.Version, p.Note)
			if p.By != "ann" {
				t.Errorf("step %d: by %q", i, p.By)
			}
		}
		if text != tt.want {
			t.Errorf("step %d: %s, want %s", i, text, tt.want)
		}
	}
}

// TestAuthorsOfOlderClusters checks that a cluster of an older version stores a pipeline without
// its author, whom older members do not know.
func TestAuthorsOfOlderClusters(t *testing.T) {
	cmd := &metapb.Command{Op: &metapb.Command_PutPipeline{PutPipeline: &metapb.PutPipeline{By: "ann"}}}
	if err := checkGate(cmd, metapb.ProtocolSaved); err != nil || cmd.GetPutPipeline().By != "ann" {
		t.Errorf("version 10: %v, %v", cmd, err)
	}
	if err := checkGate(cmd, metapb.ProtocolSaved-1); err != nil || cmd.GetPutPipeline().By != "" {
		t.Errorf("version 9: %v, %v", cmd, err)
	}
}
