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

// Before the log: EnsureSchema commands that come at the same time.
//
// Many routers ask for the same new tables and columns at once. The leader puts one
// EnsureSchema through the log at a time. The requests that came meanwhile are then compared
// together, in their order, with the state as it is now. Requests for what is there already, or
// for what is impossible, are answered without the log; the others become one command. The state
// machine decides anyway: if the state has changed in between so that the command is refused, its
// parts are proposed one by one.

// What one command joins, at most.
const (
	maxJoined      = maxDemands
	maxJoinedBytes = 4 << 20
	// maxEnsures is how many may wait.
	maxEnsures = 10_000
)

// ensureCall is one that waits. Its command is prepared.
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

// ensures are the calls that wait.
type ensures struct {
	mu      sync.Mutex // guards the rest
	waiting []*ensureCall
	running bool
	closed  bool
}

// close has no more goroutine begun. Waiting calls are answered by what the replica,
// which is closed next, answers.
func (q *ensures) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
}

// ensure puts an EnsureSchema through the log, together with others, or answers it
// without.
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
	// The calls have their own ends, and none of them may end what others wait for.
	ctx := context.Background()
	for {
		calls := m.ensures.take()
		if calls == nil {
			return
		}
		m.ensureRound(ctx, calls)
	}
}

// take returns the calls of the next round; nil, and nothing runs any more, if none wait.
// A call that was given up is left out: its client may have asked elsewhere since.
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
	// What is answered without the log is a read, and must not be one of the past.
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
		fail(open, errs.Wrap(errs.Internal, err, "propose to meta: look at the state"))
		return
	}
	m.ensures.mu.Lock()
	m.ensures.waiting = append(later, m.ensures.waiting...)
	m.ensures.mu.Unlock()
	m.logEnsures(ctx, joined)
}

// sortEnsures looks at calls in order, as the state machine would. It answers calls for which
// nothing needs to be done, or can be done, by the state at index or later. joined become one
// command; later depend on its result.
func (m *Meta) sortEnsures(tx *catalog.Tx, calls []*ensureCall, index uint64) (joined, later []*ensureCall, err error) {
	shards, err := loads(tx)
	if err != nil {
		return nil, nil, err
	}
	limit := tableLimit(&metapb.Command{MaxTables: uint32(m.cfg.MaxTables)})
	e := &ensure{tx: tx, limit: limit, loads: shards, byName: map[string]*draft{}}
	for _, c := range calls {
		refusal := (*errs.Error)(nil)
		// All that was committed by leaders before is applied, and so remembered.
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
				result.Tables[i] = proto.CloneOf(t) // later calls draft on
			}
			c.answer(&metapb.ProposeResponse{Index: index, Result: result}, nil)
		case err == nil:
			joined = append(joined, c)
		case !errors.As(err, &refusal):
			return nil, nil, err
		case depends || len(joined) > 0: // what it depends on may fail
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
		all.Parts = nil // some have no id: what is remembered would be of others
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
	drafts  map[string]*draft // as they were; nil: not drafted
	had     map[string]*draft // the drafts themselves
	order   int
	made    uint64
	private bool
	tables  []uint64 // of the loads
}

func demandKey(d *metapb.TableDemand) string { return d.Database + "\x00" + d.Name }

// save remembers the drafts of the demanded tables.
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

// touched reports whether a demanded table was drafted anew by calls before.
func (s *saved) touched() bool {
	for _, d := range s.drafts {
		if d.created || d.changed {
			return true
		}
	}
	return false
}

// restore brings the drafts back to what they were.
func (e *ensure) restore(s *saved) {
	for _, d := range e.order[s.order:] {
		delete(e.byName, d.table.Database+"\x00"+d.table.Name)
	}
	e.order, e.made, e.private = e.order[:s.order], s.made, s.private
	for key, was := range s.drafts {
		*s.had[key] = *was
	}
	for i := range e.loads {
		e.loads[i].Tables = s.tables[i]
	}
}

// nothingNew reports whether the state has all that is demanded.
func (e *ensure) nothingNew(demands *metapb.EnsureSchema) bool {
	return !slices.ContainsFunc(demands.Tables, func(d *metapb.TableDemand) bool {
		t := e.byName[demandKey(d)]
		return t.created || t.changed
	})
}
