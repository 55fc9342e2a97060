package meta

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"cordwood/meta/catalog"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schemapb"
	"cordwood/shard/replica"
	"cordwood/shard/replica/raftlog"
)

func mustOpen(t *testing.T, cfg Config) *Meta {
	t.Helper()
	cfg.NodeID = "n1"
	if cfg.Dir == "" {
		cfg.Dir = t.TempDir()
	}
	m, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	if err := m.WaitReady(within(t)); err != nil {
		t.Fatal(err)
	}
	return m
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// propose runs a line of the test language through the log.
func propose(t *testing.T, m *Meta, line string) string {
	t.Helper()
	resp, err := m.Propose(within(t), &metapb.ProposeRequest{Command: command(t, line)})
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return describe(resp.Result)
}

func TestRestartKeepsIDsAndReplaysNothing(t *testing.T) {
	dir := t.TempDir()
	m := mustOpen(t, Config{Dir: dir})
	for i, line := range []string{
		"bootstrap c1 shards=2", "node n1", "session n1", "create-db web ttl=7d",
		"ensure web.a time:ts9! k:string# | b time:ts9!", "drop b", "ensure web.a n:int64",
	} {
		if got := propose(t, m, line); strings.HasPrefix(got, "1") {
			t.Fatalf("step %d: %s", i, got)
		}
	}
	if n := m.machine.executed.Load(); n != 7 {
		t.Errorf("executed %d commands, want 7", n)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}

	m = mustOpen(t, Config{Dir: dir})
	if n := m.machine.executed.Load(); n != 0 {
		t.Errorf("replayed %d commands after the restart, want none", n)
	}
	if id, err := m.ClusterID(); id != "c1" || err != nil {
		t.Errorf("cluster id is %q, %v", id, err)
	}
	steps := [][2]string{
		{"bootstrap c2 shards=9", "cluster c1"},
		{"session n1", "session 2"},
		{"ensure web.a time:ts9!", "web.a=1 v2 @1 time:timestampnanosecond/1! k:string/2# n:int64/3 append_mode=true"},
		{"ensure b time:ts9!", "b=3 v1 @2 time:timestampnanosecond/1! append_mode=true"},
	}
	for _, s := range steps {
		if got := propose(t, m, s[0]); got != s[1] {
			t.Errorf("%s\n got %s\nwant %s", s[0], got, s[1])
		}
	}
}

func TestKilledAndSnapshotted(t *testing.T) {
	dir, copied := t.TempDir(), t.TempDir()
	m := mustOpen(t, Config{Dir: dir})
	propose(t, m, "bootstrap c1 shards=1")
	for i := range 20 {
		propose(t, m, fmt.Sprintf("ensure t%d time:ts9!", i))
	}
	if err := m.replica.Snapshot(); err != nil {
		t.Fatal(err)
	}
	propose(t, m, "ensure after time:ts9!")
	if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	k := mustOpen(t, Config{Dir: copied})
	if got := propose(t, k, "drop after"); got != "dropped [21]" {
		t.Errorf("got %s", got)
	}
	// Without its state file the member is restored from the snapshot and the log.
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(copied, StateFile)); err != nil {
		t.Fatal(err)
	}
	k = mustOpen(t, Config{Dir: copied})
	if got := propose(t, k, "drop t7"); got != "dropped [8]" {
		t.Errorf("after the state file was lost: %s", got)
	}
	if got := propose(t, k, "ensure new time:ts9!"); !strings.HasPrefix(got, "new=22 ") {
		t.Errorf("after the state file was lost: %s", got)
	}
}

func TestConcurrentEnsureSchema(t *testing.T) {
	m := mustOpen(t, Config{})
	propose(t, m, "bootstrap c1 shards=2")
	const writers = 16
	var wg sync.WaitGroup
	last := make([]*schemapb.Table, writers)
	for w := range writers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			// Each request adds separate columns and common columns.
			line := fmt.Sprintf("ensure t time:ts9! own%d:int64 all1:string all2:bool", w)
			cmd := command(t, line)
			for range 3 {
				resp, err := m.Propose(context.Background(), &metapb.ProposeRequest{Command: cmd})
				if err != nil || resp.Result.ErrorCode != 0 {
					t.Errorf("%s: %v, %v", line, resp, err)
					return
				}
				last[w] = resp.Result.Tables[0]
			}
		}()
	}
	wg.Wait()
	ids := map[string]uint32{}
	for _, table := range last {
		if table == nil {
			continue
		}
		if table.Id != 1 {
			t.Errorf("table id is %d, want 1", table.Id)
		}
		for _, c := range table.Columns {
			if had, seen := ids[c.Name]; seen && had != c.Id {
				t.Errorf("column %s has ids %d and %d", c.Name, had, c.Id)
			}
			ids[c.Name] = c.Id
		}
	}
	if len(ids) != 3+writers {
		t.Errorf("%d columns, want %d", len(ids), 3+writers)
	}
}

// collect runs a watch and passes on its messages until stop returns true.
func collect(t *testing.T, m *Meta, stop func([]*metapb.WatchResponse) bool) []*metapb.WatchResponse {
	t.Helper()
	ctx, cancel := context.WithCancel(within(t))
	defer cancel()
	var got []*metapb.WatchResponse
	err := m.machine.watch(ctx, func(r *metapb.WatchResponse) error {
		got = append(got, r)
		if stop(got) {
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("watch ended with %v after %d messages", err, len(got))
	}
	return got
}

func TestWatchSendsStateThenChangesInOrder(t *testing.T) {
	m := mustOpen(t, Config{})
	propose(t, m, "bootstrap c1 shards=2")
	propose(t, m, "ensure old time:ts9! | gone time:ts9!")
	propose(t, m, "drop gone")
	const n = 50
	started := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		<-started
		for i := range n {
			propose(t, m, fmt.Sprintf("ensure t%02d time:ts9!", i))
		}
	}()
	got := collect(t, m, func(got []*metapb.WatchResponse) bool {
		last := got[len(got)-1]
		if len(got) == 1 {
			close(started)
		}
		return len(last.Tables) == 1 && last.Tables[0].Name == fmt.Sprintf("t%02d", n-1)
	})
	<-done
	first := got[0]
	if !first.Reset_ || !first.Partial || first.ClusterId != "c1" || len(first.Shards) != 2 || len(first.Databases) != 1 {
		t.Errorf("first message is %v", first)
	}
	var dropped []uint64
	var names []string
	index := uint64(0)
	for _, r := range got {
		if !r.Reset_ && r.Index <= index {
			t.Errorf("index %d after %d", r.Index, index)
		}
		index = r.Index
		dropped = append(dropped, r.DroppedTables...)
		for _, table := range r.Tables {
			if len(names) == 0 || names[len(names)-1] != table.Name {
				names = append(names, table.Name)
			}
		}
	}
	want := []string{"old"}
	for i := range n {
		want = append(want, fmt.Sprintf("t%02d", i))
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("tables (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]uint64{2}, dropped); diff != "" {
		t.Errorf("dropped (-want +got):\n%s", diff)
	}
}

func TestWatchSendsManyTablesInPieces(t *testing.T) {
	m := mustOpen(t, Config{})
	propose(t, m, "bootstrap c1 shards=2")
	const n = 2*pieceTables + 7
	var line strings.Builder
	line.WriteString("ensure t0 time:ts9!")
	for i := 1; i < n; i++ {
		fmt.Fprintf(&line, " | t%d time:ts9!", i)
	}
	propose(t, m, line.String())
	got := collect(t, m, func(got []*metapb.WatchResponse) bool { return !got[len(got)-1].Partial })
	tables := 0
	for _, r := range got {
		if len(r.Tables) > pieceTables {
			t.Errorf("a piece of %d tables", len(r.Tables))
		}
		tables += len(r.Tables)
	}
	if tables != n || len(got) != 4 {
		t.Errorf("%d tables in %d messages, want %d in 4", tables, len(got), n)
	}
}

func TestSlowWatchIsCutOff(t *testing.T) {
	h := newHub(10)
	publish := func(from, to uint64) {
		for i := from; i <= to; i++ {
			h.publish([]*change{{Index: i}})
		}
	}
	publish(11, 20)
	got, _, err := h.after(15, 0, 3)
	if err != nil || len(got) != 3 || got[0].Index != 16 {
		t.Errorf("after 15: %v, %v", got, err)
	}
	if _, _, err := h.after(9, 0, 3); err == nil {
		t.Error("a watch that began before the hub continues")
	}
	publish(21, 20+hubChanges)
	if _, _, err := h.after(19, 0, 3); err == nil {
		t.Error("a watch that missed change 20 continues")
	}
	if got, _, err := h.after(20, 0, 3); err != nil || len(got) != 3 || got[0].Index != 21 {
		t.Errorf("after 20: %v, %v", got, err)
	}
	if got, grown, err := h.after(20+hubChanges, 0, 3); err != nil || len(got) != 0 || grown == nil {
		t.Errorf("at the end: %v, %v", got, err)
	}
	big := make([]string, 1000)
	for i := range big {
		big[i] = strings.Repeat("x", 10_000)
	}
	last := uint64(20 + hubChanges)
	for range 20 { // 10 MB each
		last++
		h.publish([]*change{{Index: last, DroppedDatabases: big}})
	}
	if h.bytes > hubBytes || h.count < 5 || h.count > 7 {
		t.Errorf("the hub keeps %d changes of %d bytes", h.count, h.bytes)
	}
	if _, _, err := h.after(last-7, 0, 3); err == nil {
		t.Error("a watch that missed a large change continues")
	}
	h.reset(99)
	if _, _, err := h.after(99, 0, 3); err == nil {
		t.Error("a watch of the replaced state continues")
	}
	h.close()
	if _, _, err := h.after(99, 1, 3); err == nil {
		t.Error("a watch of a closed hub continues")
	}
}

func TestUnknownCommands(t *testing.T) {
	future := command(t, "ensure t time:ts9!")
	future.GetEnsureSchema().Tables[0].ProtoReflect().
		SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, 90, protowire.VarintType), 1))
	cases := map[string]*metapb.Command{"no kind": {}, "a field of the future": future}

	for name, cmd := range cases {
		t.Run(name, func(t *testing.T) {
			m := mustOpen(t, Config{})
			propose(t, m, "bootstrap c1 shards=1")
			_, err := m.Propose(within(t), &metapb.ProposeRequest{Command: cmd})
			if e := errs.FromGRPC(err); errs.CodeOf(e) != errs.Unsupported {
				t.Errorf("the service answers %v", e)
			}
			propose(t, m, "ensure still time:ts9!")

			// If newer members have written the command to the log, it stops this member.
			r := newRunner(t)
			r.do("bootstrap c1 shards=1")
			good, _ := r.entry("ensure good time:ts9!")
			data, err := proto.Marshal(cmd)
			if err != nil {
				t.Fatal(err)
			}
			late, _ := r.entry("ensure late time:ts9!")
			late.Index++
			got := r.machine.ApplyBatch([]replica.Entry{good, {Index: good.Index + 1, Term: 1, Data: data}, late})
			if _, ok := got[0].(*metapb.Result); !ok {
				t.Errorf("the command before it gives %v", got[0])
			}
			for _, halted := range got[1:] {
				if err, ok := halted.(error); !ok || !strings.Contains(err.Error(), "halted") {
					t.Errorf("got %v, want a halt", halted)
				}
			}
			if index := r.machine.AppliedIndex(); index != good.Index {
				t.Errorf("applied index is %d, want %d", index, good.Index)
			}
		})
	}
}

func TestAppliedEntriesAreSkipped(t *testing.T) {
	r := newRunner(t)
	r.do("bootstrap c1 shards=1")
	e, _ := r.entry("session n1")
	for i, want := range []string{"session 1", ""} {
		got := ""
		if result, ok := r.machine.Apply(e.Index, e.Term, e.Data).(*metapb.Result); ok {
			got = describe(result)
		}
		if got != want {
			t.Errorf("time %d: got %q, want %q", i, got, want)
		}
	}
	if got := r.do("session n1"); got != "session 2" {
		t.Errorf("got %s", got)
	}
}

func TestApplyIsDeterministic(t *testing.T) {
	lines := []string{
		"bootstrap c1 shards=3", "create-db web ttl=1d",
		"ensure web.a time:ts9! ttl=7d append_mode=true skip_wal=true | web.b time:ts9! | c time:ts3!",
		"rename c d", "set web.a ttl=2d merge_mode=last_row", "truncate d", "drop web.b", "node n1",
	}
	var states [2]bytes.Buffer
	for i := range states {
		r := newRunner(t)
		for _, line := range lines {
			r.do(line)
		}
		if err := r.machine.catalog.View(func(tx *catalog.Tx) error { return printState(&states[i], tx) }); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(states[0].String(), states[1].String()); diff != "" {
		t.Errorf("two members differ:\n%s", diff)
	}
}

func TestInspect(t *testing.T) {
	dir := t.TempDir()
	m := mustOpen(t, Config{Dir: dir})
	propose(t, m, "bootstrap c1 shards=1")
	propose(t, m, "node n1 version=2")
	propose(t, m, "create-db web ttl=7d")
	propose(t, m, "ensure web.a time:ts9! host:string# | b time:ts9!")
	propose(t, m, "drop b")
	if err := Inspect(io.Discard, filepath.Join(dir, StateFile)); err == nil ||
		!strings.Contains(err.Error(), "another process has it open") {
		t.Errorf("an open file gives %v", err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := Inspect(&out, filepath.Join(dir, StateFile)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		fmt.Sprintf("cluster c1 of version %d, applied index ", metapb.MaxProtocol), "2 databases, 1 tables",
		"node n1 ", "shard 1 incarnation=1 version=0 want=0 replicas=n1 ",
		"database web ttl='7days' created=", "table 1 web.a version=1", "  epoch 1 on shard 1",
		`  column 2 "host" String TAG`,
		"dropped table 2 public.b at index ",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("output lacks %q:\n%s", want, out.String())
		}
	}
	out.Reset()
	if err := raftlog.Inspect(&out, dir, InspectCommand); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "create_database:{name:\"web\"") &&
		!strings.Contains(out.String(), "create_database:{name: \"web\"") {
		t.Errorf("the log is printed as\n%s", out.String())
	}
	if err := Inspect(&out, filepath.Join(dir, "none.db")); err == nil {
		t.Error("a missing file is not an error")
	}
}

func TestMetrics(t *testing.T) {
	reg := prometheus.NewRegistry()
	m := mustOpen(t, Config{Registerer: reg})
	propose(t, m, "bootstrap c1 shards=1")
	propose(t, m, "ensure t time:ts9!")
	propose(t, m, "drop nope")
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, x := range f.GetMetric() {
			name := f.GetName()
			for _, l := range x.GetLabel() {
				name += " " + l.GetValue()
			}
			got[name] = x.GetCounter().GetValue() + x.GetGauge().GetValue()
		}
	}
	for name, want := range map[string]float64{
		"cordwood_meta_commands_total drop_table refused": 1, "cordwood_meta_commands_total ensure_schema applied": 1,
		"cordwood_meta_tables": 1,
	} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
}

func TestOpenFaults(t *testing.T) {
	if _, err := Open(Config{}); err == nil || !strings.Contains(err.Error(), "Dir is empty") ||
		!strings.Contains(err.Error(), "NodeID is empty") {
		t.Errorf("got %v", err)
	}
	dir := t.TempDir()
	mustOpen(t, Config{Dir: dir})
	if _, err := Open(Config{Dir: dir, NodeID: "n1"}); err == nil ||
		!strings.Contains(err.Error(), "another process has it open") {
		t.Errorf("a second open gives %v", err)
	}
}

func BenchmarkEnsureSchema(b *testing.B) {
	m, err := Open(Config{Dir: b.TempDir(), NodeID: "n1"})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = m.Close() }()
	if err := m.WaitReady(b.Context()); err != nil {
		b.Fatal(err)
	}
	run := func(cmd *metapb.Command) {
		resp, err := m.Propose(b.Context(), &metapb.ProposeRequest{Command: cmd})
		if err != nil || resp.Result.ErrorCode != 0 {
			b.Fatal(resp, err)
		}
	}
	t := &testing.T{}
	run(command(t, "bootstrap c1 shards=2"))
	for i := 0; b.Loop(); i++ {
		run(command(t, fmt.Sprintf("ensure t%d time:ts9! a:string b:int64", i)))
	}
}
