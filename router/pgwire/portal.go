package pgwire

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

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
	memory         holding     // memory of a long text
	timer          *time.Timer // ends the portal if its client does not fetch
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

// addPortal adds a portal under its name.
func (c *conn) addPortal(p *portal) error {
	if old := c.portals[p.name]; old != nil {
		if p.name != "" {
			return failure("42P03", "cursor %q already exists", excerpt(p.name))
		}
		c.closePortal("")
	}
	if len(c.portals) >= maxPortals {
		return failure("53300", "too many portals and cursors; a connection may have %d", maxPortals)
	}
	p.memory.c = c
	if p.cmd != nil && !p.declared {
		if err := p.memory.grow(len(p.cmd.text)); err != nil {
			return err
		}
	}
	c.portals[p.name] = p
	return nil
}

// fetch sends at most most rows of a portal (0 means all). It returns the number of rows and whether more may
// follow.
func (c *conn) fetch(p *portal, most int64) (n int64, more bool, err error) {
	if p.finished {
		return 0, false, nil
	}
	cur := p.out.rows
	if err := c.wake(p); err != nil {
		return 0, false, err
	}
	stop := c.reading(cur.x)
	n, more, err = cur.send(c.out, most)
	stop()
	if err != nil || !more {
		return n, false, c.finishPortal(p, err)
	}
	return n, true, c.rest(p)
}

// wake resumes a waiting portal.
func (c *conn) wake(p *portal) error {
	x := p.out.rows.x
	if x == nil {
		return nil
	}
	if p.timer != nil {
		p.timer.Stop()
	}
	c.srv.cursors.leave(x)
	if !x.resume() {
		p.finished = true
		err, cause := x.end()
		if err == nil {
			err = errEvicted
		}
		return asError(err, cause)
	}
	c.setCurrent(x)
	if cause := context.Cause(x.ctx); cause != nil { // such as a right that was lost while the portal waited
		return c.finishPortal(p, asError(context.Canceled, cause))
	}
	return nil
}

// rest lets a portal wait for its client.
func (c *conn) rest(p *portal) error {
	x := p.out.rows.x
	c.setCurrent(nil)
	if x == nil {
		return nil
	}
	if err := c.srv.cursors.wait(x); err != nil {
		_ = c.finishPortal(p, err) // err is returned below
		return err
	}
	x.pause()
	p.timer = time.AfterFunc(idlePortal, func() {
		if x.evict(errEvicted) {
			c.srv.cursors.leave(x)
		}
	})
	return nil
}

// finishPortal ends the statement of a portal, and returns its error.
func (c *conn) finishPortal(p *portal, err error) error {
	p.finished = true
	if p.timer != nil {
		p.timer.Stop()
	}
	c.setCurrent(nil)
	if err = p.out.rows.end(err); err == nil {
		c.tellPartial(p.out.rows)
	}
	return err
}

// closePortal closes a portal and ends its statement.
func (c *conn) closePortal(name string) {
	p := c.portals[name]
	if p == nil {
		return
	}
	delete(c.portals, name)
	p.memory.release()
	if p.finished || p.out == nil || p.out.rows == nil || p.out.rows.x == nil {
		return
	}
	x := p.out.rows.x
	if p.timer != nil {
		p.timer.Stop()
	}
	c.srv.cursors.leave(x)
	x.stop(errEvicted)
}

// closePortals closes the portals of a transaction, or all portals.
func (c *conn) closePortals(all bool) {
	for name, p := range c.portals {
		if all || !p.held {
			c.closePortal(name)
		}
	}
}

// began releases the text: a portal runs once.
func (p *portal) began() {
	cmd := *p.cmd
	cmd.text = ""
	p.cmd = &cmd
	p.memory.release()
}

// executePortal runs or resumes a portal.
func (c *conn) executePortal(p *portal, most int64) error {
	if p.out == nil && !p.finished {
		c.long = most > 0
		out, err := c.run(p.cmd)
		c.long = false
		p.began()
		if err != nil {
			p.finished = true
			return err
		}
		p.out = out
		if out.rows == nil || out.copyIn != nil || out.copyOut != nil {
			p.finished = true
			return c.answer(out, p.formats, false)
		}
		out.rows.formats = p.formats
		if err := out.rows.matchTypes(p.columns, p.formats); err != nil {
			return out.rows.end(err)
		}
	} else if p.out == nil || p.out.rows == nil {
		return failure("55000", "portal %q cannot be run again", excerpt(p.name))
	}
	n, more, err := c.fetch(p, most)
	if err != nil {
		return err
	}
	if more {
		c.out.Send(&pgproto3.PortalSuspended{})
		return nil
	}
	c.complete(p.out.tag, n)
	return nil
}
