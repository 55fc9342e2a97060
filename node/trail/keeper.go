package trail

import (
	"context"
	"encoding/hex"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"cordwood/meta"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/router/audit"
)

// collect is how long a Keeper waits for more records before it writes the first ones, because each write is followed
// by a command of the metadata group.
const collect = 300 * time.Millisecond

// Group is this node's member of the metadata group.
type Group interface {
	Leads() bool
	LeadsChanged() <-chan struct{}
	Audit(limit int) (meta.AuditState, error)
	Audited() <-chan struct{}
}

// KeeperConfig configures a Keeper. All fields are required.
type KeeperConfig struct {
	Group   Group
	Propose func(ctx context.Context, cmd *metapb.Command) (*metapb.Result, error)
	// Write writes rows to the table. It may write rows again.
	Write  func(ctx context.Context, rows []Row) error
	Now    func() time.Time
	Logger *slog.Logger
}

// Keeper writes the records of the metadata log to the table, while this node's member leads the group.
type Keeper struct {
	cfg KeeperConfig

	mu    sync.Mutex // guards state
	state State
}

// NewKeeper returns a Keeper. Run it.
func NewKeeper(cfg KeeperConfig) *Keeper { return &Keeper{cfg: cfg} }

// State returns the current state. Its Waiting is not set.
func (k *Keeper) State() State {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.state
}

// Run writes records until ctx ends.
func (k *Keeper) Run(ctx context.Context) error {
	pause := time.Duration(0)
	for ctx.Err() == nil {
		changed := k.cfg.Group.LeadsChanged()
		var more <-chan struct{}
		var again <-chan time.Time
		if k.cfg.Group.Leads() {
			n, err := k.pass(ctx)
			k.note(ctx, err)
			switch {
			case err != nil:
				pause = min(max(2*pause, minPause), maxPause)
				again = time.After(pause)
			case n > 0:
				pause, again = 0, time.After(collect)
			default:
				pause, more = 0, k.cfg.Group.Audited()
			}
		} else {
			k.note(ctx, nil)
		}
		select {
		case <-ctx.Done():
		case <-changed:
		case <-again:
		case <-more:
			select {
			case <-ctx.Done():
			case <-time.After(collect):
			}
		}
	}
	return nil
}

// pass writes the oldest records to the table, and marks them as written. It returns their number.
func (k *Keeper) pass(ctx context.Context) (int, error) {
	s, err := k.cfg.Group.Audit(batchRows)
	if err != nil || len(s.Entries) == 0 {
		return 0, err
	}
	rows := rowsOf(s)
	if err := k.cfg.Write(ctx, rows); err != nil {
		return 0, err
	}
	last := rows[len(rows)-1]
	chain, err := hex.DecodeString(last.Chain)
	if err != nil {
		return 0, err
	}
	_, err = k.cfg.Propose(ctx, &metapb.Command{TimeUnixNano: k.cfg.Now().UnixNano(), Op: &metapb.Command_MarkAudit{
		MarkAudit: &metapb.MarkAudit{Through: uint64(last.ID), Chain: chain, Lost: s.Lost},
	}})
	return len(rows), err
}

// rowsOf returns the rows of records. They follow from the state of the metadata group, so another leader makes the
// same rows.
func rowsOf(s meta.AuditState) []Row {
	chain := hex.EncodeToString(s.Head.GetChain())
	var rows []Row
	add := func(r Row, id uint64) {
		r.Node, r.ID = MetadataNode, int64(id)
		r.Chain = r.Link(chain)
		chain = r.Chain
		rows = append(rows, r)
	}
	if n := s.Lost - s.Head.GetLost(); n > 0 {
		// The lost records had lower indexes than the first record that is left.
		first := s.Entries[0]
		r := newRow(time.Unix(0, first.TimeUnixNano-1), &metapb.AuditRecord{
			Principal: MetadataNode, Action: lostAction,
			Message: fmt.Sprintf("%d records: too many waited for %s", n, tableName),
		})
		r.Outcome, r.Code = audit.Failed, int64(errs.Internal)
		add(r, first.Index-1)
	}
	for _, e := range s.Entries {
		add(newRow(time.Unix(0, e.TimeUnixNano), e.Record), e.Index)
	}
	return rows
}

// note notes whether the table can be written.
func (k *Keeper) note(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	k.mu.Lock()
	was := k.state.Failing
	if k.state.Failing = err; was == nil && err != nil {
		k.state.Since = k.cfg.Now()
	}
	k.mu.Unlock()
	switch {
	case was == nil && err != nil:
		k.cfg.Logger.Warn("audit records of the metadata group cannot be written to the table; the group keeps them, and "+
			"writing them is tried again", "table", tableName, "error", err)
	case was != nil && err == nil:
		k.cfg.Logger.Info("audit records of the metadata group are written to the table again", "table", tableName)
	}
}
