package trail

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"cordwood/meta"
	"cordwood/proto/metapb"
)

// fakeGroup is a metadata group with records.
type fakeGroup struct {
	mu      sync.Mutex
	leads   bool
	changed chan struct{}
	more    chan struct{}
	entries []*metapb.AuditEntry
	head    *metapb.AuditHead
	lost    uint64
}

func newGroup() *fakeGroup {
	return &fakeGroup{changed: make(chan struct{}), more: make(chan struct{}, 1)}
}

func (g *fakeGroup) Leads() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.leads
}

func (g *fakeGroup) LeadsChanged() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.changed
}

func (g *fakeGroup) lead(yes bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.leads = yes
	close(g.changed)
	g.changed = make(chan struct{})
}

func (g *fakeGroup) Audited() <-chan struct{} { return g.more }

func (g *fakeGroup) Audit(limit int) (meta.AuditState, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return meta.AuditState{
		Entries: g.entries[:min(limit, len(g.entries))], Head: g.head, Waiting: uint64(len(g.entries)), Lost: g.lost,
	}, nil
}

func (g *fakeGroup) add(index uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.entries = append(g.entries, &metapb.AuditEntry{
		Index: index, TimeUnixNano: int64(index) * 1000, Record: &metapb.AuditRecord{Action: "create table"},
	})
	select {
	case g.more <- struct{}{}:
	default:
	}
}

func (g *fakeGroup) propose(_ context.Context, cmd *metapb.Command) (*metapb.Result, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	m := cmd.GetMarkAudit()
	g.head = &metapb.AuditHead{Through: m.Through, Chain: m.Chain, Lost: m.Lost}
	for len(g.entries) > 0 && g.entries[0].Index <= m.Through {
		g.entries = g.entries[1:]
	}
	return &metapb.Result{}, nil
}

// TestKeeperWritesEachRecordOnce lets two leaders write the records of a group, the first of which loses its leadership
// after it has written rows and before they are marked. The rows of both are equal, and the chain holds.
func TestKeeperWritesEachRecordOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, f := newGroup(), &fakeTable{rows: map[int64]Row{}}
		unmarked := errors.New("no leader")
		var first, second *Keeper
		stops := []func(){}
		for i, k := range []**Keeper{&first, &second} {
			*k = NewKeeper(KeeperConfig{
				Group: g, Write: f.write, Now: time.Now, Logger: slog.New(slog.DiscardHandler),
				Propose: func(ctx context.Context, cmd *metapb.Command) (*metapb.Result, error) {
					if i == 0 {
						return nil, unmarked
					}
					return g.propose(ctx, cmd)
				},
			})
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			run := func() { go func() { done <- (*k).Run(ctx) }() }
			stop := func() {
				cancel()
				if err := <-done; err != nil {
					t.Error(err)
				}
			}
			if i == 0 {
				run()
				g.add(5)
				g.add(8)
				time.Sleep(5 * time.Second)
				if f.count() != 0 {
					t.Fatal("a follower writes records")
				}
				g.lead(true)
				time.Sleep(5 * time.Second)
				if f.count() != 2 || first.State().Failing == nil {
					t.Fatalf("%d rows, state %+v", f.count(), first.State())
				}
				stop()
				continue
			}
			run()
			stops = append(stops, stop)
		}
		g.add(9)
		time.Sleep(5 * time.Second)
		for _, stop := range stops {
			stop()
		}
		if s, _ := g.Audit(10); f.count() != 3 || s.Waiting != 0 {
			t.Fatalf("%d rows, %d records wait", f.count(), s.Waiting)
		}
		chain := ""
		for _, id := range []int64{5, 8, 9} {
			r := f.rows[id]
			if r.Chain != r.Link(chain) || r.Node != MetadataNode {
				t.Fatalf("row %d: %+v does not follow %s", id, r, chain)
			}
			chain = r.Chain
		}
	})
}

// TestKeeperTellsOfLostRecords has records that were removed from the state: a row before the others has their number.
func TestKeeperTellsOfLostRecords(t *testing.T) {
	rows := rowsOf(meta.AuditState{
		Entries: []*metapb.AuditEntry{{Index: 12, TimeUnixNano: 50, Record: &metapb.AuditRecord{Action: "grant"}}},
		Head:    &metapb.AuditHead{Through: 3, Lost: 2, Chain: []byte{1}}, Lost: 9,
	})
	if len(rows) != 2 || rows[0].ID != 11 || rows[0].Action != lostAction || rows[1].ID != 12 {
		t.Fatalf("rows %+v", rows)
	}
	if want := fmt.Sprintf("7 records: too many waited for %s", tableName); rows[0].Message != want {
		t.Errorf("message %q, want %q", rows[0].Message, want)
	}
	if rows[0].Chain != rows[0].Link("01") || rows[1].Chain != rows[1].Link(rows[0].Chain) {
		t.Error("the chain breaks")
	}
}
