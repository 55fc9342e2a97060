package meta

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"cordwood/meta/catalog"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/tracing"
	"cordwood/shard/replica"
)

// This file combines concurrent EnsureSchema commands before they enter the log.
//
// Many routers request the same new tables and columns at once. The leader puts one EnsureSchema
// through the log at a time. Then it compares the requests that came meanwhile, in order, with the
// present state. It answers requests for what exists already, or for what is impossible, without
// the log, and combines the others into one command. The state machine makes the final decision: if
// the state has changed meanwhile so that the command is refused, its parts are proposed one by
// one.

// Limits of one combined command.
const (
	maxJoined      = maxDemands
	maxJoinedBytes = 4 << 20
	// maxEnsures is the maximum number of waiting requests.
	maxEnsures = 10_000
)

// ensureCall is a waiting request. Its command is prepared.
type ensureCall struct {
	ctx  context.Context
	cmd  *metapb.Command
	done chan struct{} // closed when resp or err is set
	resp *metapb.ProposeResponse
	err  error
}

func (c *ensureCall) answer(resp *metapb.ProposeResponse, err error) {
	c.resp, c.err = resp, err
	close(c.done)
}

// ensures are the waiting calls.
type ensures struct {
	mu      sync.Mutex // guards the rest
	waiting []*ensureCall
	running bool
	closed  bool
}

// close prevents new goroutines. Waiting calls get the answer of the replica, which is closed next.
func (q *ensures) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
}

// ensure puts an EnsureSchema through the log, combined with others, or answers it without the log.
func (m *Meta) ensure(ctx context.Context, cmd *metapb.Command) (*metapb.ProposeResponse, error) {
	if err := m.replica.CheckLeads(); err != nil {
		return nil, err
	}
	c := &ensureCall{ctx: ctx, cmd: cmd, done: make(chan struct{})}
	q := &m.ensures
	q.mu.Lock()
	if q.closed {
		q.mu.Unlock()
		return nil, errs.Wrap(errs.ShardNotReady, replica.ErrClosed, "propose to meta").WithReason(errs.NotLeader)
	}
	if len(q.waiting) >= maxEnsures {
		q.mu.Unlock()
		return nil, errs.New(errs.ShardBusy, "propose to meta: %d schema changes wait already; try again", maxEnsures).
			WithReason(errs.Busy).WithRetryAfter(time.Second)
	}
	q.waiting = append(q.waiting, c)
	if !q.running {
		q.running = true
		m.cutting.Go(m.runEnsures)
	}
	q.mu.Unlock()
	select {
	case <-c.done:
		return c.resp, c.err
	case <-ctx.Done():
		return nil, errs.Wrap(errs.ContextCode(ctx.Err()), ctx.Err(), "propose to meta: the outcome is unknown").
			WithReason(errs.OutcomeUnknown)
	}
}

// runEnsures answers rounds of calls until none waits.
func (m *Meta) runEnsures() {
	// The calls have their own deadlines, and none of them may end work for others.
	ctx := context.Background()
	for {
		calls := m.ensures.take()
		if calls == nil {
			return
		}
		m.ensureRound(ctx, calls)
	}
}

// take returns the calls of the next round. If none wait, it returns nil and marks the queue as
// idle. It leaves out abandoned calls, whose clients may have asked elsewhere since.
func (q *ensures) take() (calls []*ensureCall) {
	q.mu.Lock()
	defer q.mu.Unlock()
	demands, bytes, taken := 0, 0, 0
	for _, c := range q.waiting {
		demands += len(c.cmd.GetEnsureSchema().Tables)
		bytes += proto.Size(c.cmd)
		if len(calls) > 0 && (demands > maxJoined || bytes > maxJoinedBytes) {
			break
		}
		taken++
		if c.ctx.Err() == nil {
			calls = append(calls, c)
		}
	}
	q.waiting = slices.Delete(q.waiting, 0, taken)
	if calls == nil && len(q.waiting) == 0 {
		q.running = false
		return nil
	}
	if calls == nil {
		calls = []*ensureCall{}
	}
	return calls
}

// ensureRound answers calls; calls that it cannot decide yet wait for the next round.
func (m *Meta) ensureRound(ctx context.Context, calls []*ensureCall) {
	fail := func(calls []*ensureCall, err error) {
		for _, c := range calls {
			c.answer(nil, err)
		}
	}
	if len(calls) == 0 {
		return
	}
	// An answer without the log is a read, which must not be outdated.
	index, _, err := m.readIndex(ctx)
	if err != nil {
		fail(calls, err)
		return
	}
	var joined, later []*ensureCall
	err = m.catalog.View(func(tx *catalog.Tx) (err error) {
		joined, later, err = m.sortEnsures(tx, calls, index)
		return err
	})
	if err != nil {
		var open []*ensureCall
		for _, c := range calls {
			select {
			case <-c.done:
			default:
				open = append(open, c)
			}
		}
		fail(open, errs.Wrap(errs.Internal, err, "propose to meta: read the state"))
		return
	}
	m.ensures.mu.Lock()
	m.ensures.waiting = append(later, m.ensures.waiting...)
	m.ensures.mu.Unlock()
	m.logEnsures(ctx, joined)
}

// sortEnsures examines calls in order, as the state machine would. It answers calls that need no
// change, or are impossible in the state at index or later. joined become one command; later depend
// on its result.
func (m *Meta) sortEnsures(tx *catalog.Tx, calls []*ensureCall, index uint64) (joined, later []*ensureCall, err error) {
	shards, err := loads(tx)
	if err != nil {
		return nil, nil, err
	}
	limit := tableLimit(&metapb.Command{MaxTables: uint32(m.cfg.MaxTables)})
	e := newEnsure(tx, 0, limit, shards)
	for _, c := range calls {
		refusal := (*errs.Error)(nil)
		// Everything committed by earlier leaders is applied, and so remembered.
		result, err := m.machine.answered(tx, c.cmd)
		switch {
		case errors.As(err, &refusal):
			c.answer(&metapb.ProposeResponse{Index: index, Result: refused(refusal)}, nil)
			continue
		case err != nil:
			return nil, nil, err
		case result != nil:
			c.answer(&metapb.ProposeResponse{Index: index, Result: result}, nil)
			continue
		}
		demands := c.cmd.GetEnsureSchema()
		before := e.save(demands)
		depends := before.touched()
		result, err = e.all(demands)
		switch {
		case err == nil && e.nothingNew(demands):
			for i, t := range result.Tables {
				result.Tables[i] = proto.CloneOf(t) // later calls change the drafts
			}
			c.answer(&metapb.ProposeResponse{Index: index, Result: result}, nil)
		case err == nil:
			joined = append(joined, c)
		case !errors.As(err, &refusal):
			return nil, nil, err
		case depends || len(joined) > 0: // a change on which it depends may fail
			e.restore(before)
			later = append(later, c)
		default:
			e.restore(before)
			r := refused(refusal)
			if conflict := (*conflictError)(nil); errors.As(err, &conflict) {
				r.Conflicts = conflict.conflicts
			}
			c.answer(&metapb.ProposeResponse{Index: index, Result: r}, nil)
		}
	}
	return joined, later, nil
}

// logEnsures puts calls through the log as one command.
func (m *Meta) logEnsures(ctx context.Context, calls []*ensureCall) {
	if len(calls) == 0 {
		return
	}
	all := &metapb.EnsureSchema{}
	for _, c := range calls {
		tables := c.cmd.GetEnsureSchema().Tables
		all.Tables = append(all.Tables, tables...)
		if len(c.cmd.Id) > 0 {
			all.Parts = append(all.Parts, &metapb.ProposalPart{Id: c.cmd.Id, Tables: uint32(len(tables))})
		}
	}
	if len(all.Parts) != len(calls) {
		all.Parts = nil // some have no id, so remembered results would be assigned to the wrong parts
	}
	first := calls[0].cmd
	proposal := ctx
	for _, c := range calls {
		if tracing.Recording(c.ctx) { // the entry belongs to the first trace
			proposal = tracing.Carry(ctx, c.ctx)
			break
		}
	}
	resp, err := m.log(proposal, &metapb.Command{
		TimeUnixNano: first.TimeUnixNano, MaxTables: first.MaxTables,
		Op: &metapb.Command_EnsureSchema{EnsureSchema: all},
	})
	if err == nil && resp.Result.ErrorCode != 0 && len(calls) > 1 {
		for _, c := range calls {
			m.logEnsures(ctx, []*ensureCall{c})
		}
		return
	}
	at := 0
	for _, c := range calls {
		if err != nil || resp.Result.ErrorCode != 0 {
			c.answer(resp, err)
			continue
		}
		n := len(c.cmd.GetEnsureSchema().Tables)
		c.answer(&metapb.ProposeResponse{
			Index: resp.Index, Result: &metapb.Result{Tables: resp.Result.Tables[at : at+n]},
		}, nil)
		at += n
	}
}

// saved is the part of the drafts that a call may change.
type saved struct {
	drafts  map[string]*draft // copies of the drafts; nil if there was none
	had     map[string]*draft // the drafts themselves
	order   int
	made    uint64
	private bool
	tables  []uint64 // table counts of shards
}

func demandKey(d *metapb.TableDemand) string { return d.Database + "\x00" + d.Name }

// save saves the drafts of the demanded tables.
func (e *ensure) save(demands *metapb.EnsureSchema) *saved {
	s := &saved{
		drafts: map[string]*draft{}, had: map[string]*draft{}, order: len(e.order), made: e.made, private: e.private,
	}
	for _, d := range demands.Tables {
		key := demandKey(d)
		if had := e.byName[key]; had != nil && s.drafts[key] == nil {
			s.had[key] = had
			s.drafts[key] = &draft{table: proto.CloneOf(had.table), created: had.created, changed: had.changed}
		}
	}
	for _, l := range e.loads {
		s.tables = append(s.tables, l.Tables)
	}
	return s
}

// touched reports whether earlier calls have changed the draft of a demanded table.
func (s *saved) touched() bool {
	for _, d := range s.drafts {
		if d.created || d.changed {
			return true
		}
	}
	return false
}

// restore restores the saved drafts.
func (e *ensure) restore(s *saved) {
	for _, d := range e.order[s.order:] {
		delete(e.byName, d.table.Database+"\x00"+d.table.Name)
		if d.created {
			e.madeIn[d.table.Database]--
		}
	}
	e.order, e.made, e.private = e.order[:s.order], s.made, s.private
	for key, was := range s.drafts {
		*s.had[key] = *was
	}
	for i := range e.loads {
		e.loads[i].Tables = s.tables[i]
	}
}

// nothingNew reports whether the state already has everything that is demanded.
func (e *ensure) nothingNew(demands *metapb.EnsureSchema) bool {
	return !slices.ContainsFunc(demands.Tables, func(d *metapb.TableDemand) bool {
		t := e.byName[demandKey(d)]
		return t.created || t.changed
	})
}
