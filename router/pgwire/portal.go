package pgwire

import (
	"context"
	"sync"
	"time"

	"cordwood/router/pgwire/value"
)

const (
	// maxPortals is the maximum number of portals and cursors of a connection.
	maxPortals = 16
	// idlePortal is the time that a portal may wait for its client. After evictAfter, another portal may replace it.
	idlePortal = 5 * time.Minute
	evictAfter = 30 * time.Second
)

// portal is a statement with its values, and the rest of its rows.
type portal struct {
	name    string
	stmt    *prepared
	cmd     *command // with the values in its text
	formats []value.Format
	// columns are the columns described to the client.
	columns []column

	out *outcome // nil until the portal runs
	// finished is true if there are no more rows.
	finished bool
	// declared is true for a cursor of DECLARE. held is true if the cursor outlives the transaction.
	declared, held bool
	timer          *time.Timer // ends the portal if its client does not fetch

	mu      sync.Mutex // guards the fields below, and cmd until the portal begins
	memory  holding    // memory of a long text
	unrun   *time.Timer
	expired bool // the portal did not run in time, and has no text
}

// begin keeps the text of a portal that begins to run. It fails if the portal has waited for too long.
func (p *portal) begin() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.expired {
		return failure("34000", "portal %q was closed, because it did not run in time", excerpt(p.name))
	}
	if p.unrun != nil {
		p.unrun.Stop()
		p.unrun = nil
	}
	return nil
}

// expire releases the text of a portal that has not begun to run.
func (p *portal) expire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.unrun != nil {
		p.unrun, p.expired = nil, true
		p.dropText()
	}
}

// dropText releases the text. p.mu is held.
func (p *portal) dropText() {
	cmd := *p.cmd
	cmd.text = ""
	p.cmd = &cmd
	p.memory.release()
}

// cursors are the portals of all connections that wait for their clients.
type cursors struct {
	most int

	mu      sync.Mutex // guards waiting
	waiting map[*execution]time.Time
}

// wait registers a portal that waits for its client. It fails if there are too many and none of them has waited for
// long.
func (q *cursors) wait(x *execution) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.waiting == nil {
		q.waiting = map[*execution]time.Time{}
	}
	for len(q.waiting) >= q.most {
		var oldest *execution
		for other, since := range q.waiting {
			if oldest == nil || since.Before(q.waiting[oldest]) {
				oldest = other
			}
		}
		if time.Since(q.waiting[oldest]) < evictAfter {
			return failure("53300", "too many portals and cursors wait for their clients; there may be %d", q.most).
				withHint("fetch all rows, or close those that are no longer needed")
		}
		oldest.evict(errEvicted)
		delete(q.waiting, oldest)
	}
	q.waiting[x] = time.Now()
	return nil
}

// leave removes a portal that no longer waits.
func (q *cursors) leave(x *execution) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.waiting, x)
}

// portals has the portals and cursors of a connection by name: those of the extended protocol and of DECLARE.
type portals struct {
	link    *link
	say     *answers
	runner  *runner
	waiting *cursors // of all connections
	parked  *parked  // of all connections
	byName  map[string]*portal
}

// add adds a portal under its name.
func (ps *portals) add(p *portal) error {
	if old := ps.byName[p.name]; old != nil {
		if p.name != "" {
			return failure("42P03", "cursor %q already exists", excerpt(p.name))
		}
		ps.close("")
	}
	if len(ps.byName) >= maxPortals {
		return failure("53300", "too many portals and cursors; a connection may have %d", maxPortals)
	}
	p.memory.cfg, p.memory.parked = ps.link.cfg, ps.parked
	if p.cmd != nil && !p.declared {
		if err := p.memory.grow(len(p.cmd.text)); err != nil {
			p.memory.release()
			return err
		}
		if p.memory.counted > 0 {
			p.mu.Lock()
			p.unrun = time.AfterFunc(ps.link.cfg.StallTime, p.expire)
			p.mu.Unlock()
		}
	}
	ps.byName[p.name] = p
	return nil
}

// fetch sends at most most rows of a portal (0 means all). It returns the number of rows and whether more may
// follow.
func (ps *portals) fetch(p *portal, most int64) (n int64, more bool, err error) {
	if p.finished {
		return 0, false, nil
	}
	cur := p.out.rows
	if err := ps.wake(p); err != nil {
		return 0, false, err
	}
	stop := ps.link.reading(cur.x)
	n, more, err = cur.send(ps.link.out, most)
	stop()
	if err != nil || !more {
		return n, false, ps.finish(p, err)
	}
	return n, true, ps.rest(p)
}

// wake resumes a waiting portal.
func (ps *portals) wake(p *portal) error {
	x := p.out.rows.x
	if x == nil {
		return nil
	}
	if p.timer != nil {
		p.timer.Stop()
	}
	ps.waiting.leave(x)
	if !x.resume() {
		p.finished = true
		err, cause := x.end()
		if err == nil {
			err = errEvicted
		}
		return asError(err, cause)
	}
	ps.runner.setCurrent(x)
	if cause := context.Cause(x.ctx); cause != nil { // such as a right that was lost while the portal waited
		return ps.finish(p, asError(context.Canceled, cause))
	}
	return nil
}

// rest lets a portal wait for its client.
func (ps *portals) rest(p *portal) error {
	x := p.out.rows.x
	ps.runner.setCurrent(nil)
	if x == nil {
		return nil
	}
	if err := ps.waiting.wait(x); err != nil {
		_ = ps.finish(p, err) // err is returned below
		return err
	}
	x.pause()
	p.timer = time.AfterFunc(idlePortal, func() {
		if x.evict(errEvicted) {
			ps.waiting.leave(x)
		}
	})
	return nil
}

// finish ends the statement of a portal, and returns its error.
func (ps *portals) finish(p *portal, err error) error {
	p.finished = true
	if p.timer != nil {
		p.timer.Stop()
	}
	ps.runner.setCurrent(nil)
	if err = p.out.rows.end(err); err == nil {
		ps.say.warnings(p.out.rows.warnings)
	}
	return err
}

// close closes a portal and ends its statement.
func (ps *portals) close(name string) {
	p := ps.byName[name]
	if p == nil {
		return
	}
	delete(ps.byName, name)
	p.closeText()
	if p.finished || p.out == nil || p.out.rows == nil || p.out.rows.x == nil {
		return
	}
	x := p.out.rows.x
	if p.timer != nil {
		p.timer.Stop()
	}
	ps.waiting.leave(x)
	x.stop(errEvicted)
}

// closeAll closes the portals of a transaction, or all portals.
func (ps *portals) closeAll(all bool) {
	for name, p := range ps.byName {
		if all || !p.held {
			ps.close(name)
		}
	}
}

// closeText releases the memory of the text of a portal that is closed.
func (p *portal) closeText() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.unrun != nil {
		p.unrun.Stop()
		p.unrun = nil
	}
	p.memory.release()
}

// began releases the text: a portal runs once.
func (p *portal) began() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dropText()
}

// closeOf closes the portals of a prepared statement.
func (ps *portals) closeOf(p *prepared) {
	for name, o := range ps.byName {
		if o.stmt == p && !o.declared {
			ps.close(name)
		}
	}
}

// closeDeclared closes all cursors of DECLARE.
func (ps *portals) closeDeclared() {
	for name, p := range ps.byName {
		if p.declared {
			ps.close(name)
		}
	}
}

// move reads at most most rows of a cursor (0 means all) and discards them.
func (ps *portals) move(p *portal, most int64) (n int64, err error) {
	if err := ps.wake(p); err != nil {
		return 0, err
	}
	stop := ps.link.reading(p.out.rows.x)
	for most == 0 || n < most {
		if !p.out.rows.next() {
			stop()
			return n, ps.finish(p, p.out.rows.rows.Err())
		}
		n++
	}
	stop()
	return n, ps.rest(p)
}

// cursor returns an open cursor by its name.
func (ps *portals) cursor(name string) (*portal, error) {
	p := ps.byName[name]
	if p == nil || p.out == nil || p.out.rows == nil {
		return nil, failure("34000", "cursor %q does not exist", excerpt(name))
	}
	return p, nil
}
