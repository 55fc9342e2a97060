package pgwire

import (
	"context"
	"crypto/tls"
	"slices"
	"strings"
	"time"

	"cordwood/router/access"
	"cordwood/router/access/token"
	"cordwood/router/audit"
	"cordwood/router/pgwire/rewrite"
	"cordwood/router/query"
)

// administer carries out the calls of functions that act on sessions, before the rest of the statement. It returns the
// statement with their results.
func (e *executor) administer(cmd *command, r rewrite.Result) (rewrite.Result, error) {
	if r.Sleep > 0 {
		if err := e.sleep(cmd.text, r.Sleep); err != nil {
			return r, err
		}
	}
	if len(r.Signals) == 0 {
		return r, nil
	}
	e.translator.signalled = map[rewrite.Signal]bool{}
	defer func() { e.translator.signalled = nil }()
	for _, s := range r.Signals {
		done, err := e.signal(s)
		if err != nil {
			return r, err
		}
		e.translator.signalled[s] = done
	}
	return e.translator.rewritten(cmd.text)
}

// sleep waits for pg_sleep. The client and other sessions can end it, as any statement.
func (e *executor) sleep(text string, d time.Duration) error {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	ctx, end := e.runner.caller(ctx, func(err error) { cancel(err) })
	defer end()
	e.runner.shown.query(query.NewID(), text)
	defer e.runner.shown.query("", "")
	e.link.setCancel(cancel)
	defer e.link.setCancel(nil)
	defer e.link.watch(cancel)()
	limit := time.AfterFunc(e.session.timeout(), func() { cancel(errTimeUp) })
	defer limit.Stop()
	over := time.NewTimer(d)
	defer over.Stop()
	select {
	case <-over.C:
		return nil
	case <-ctx.Done():
		return asError(ctx.Err(), context.Cause(ctx))
	}
}

// signalOther ends the statement of another session, or the session. It reports whether the session exists.
func (c *conn) signalOther(s rewrite.Signal) (bool, error) {
	c.srv.mu.Lock()
	other := c.srv.byPID[uint32(s.PID)]
	exists := other != nil && !other.starting && s.PID == int64(uint32(s.PID))
	c.srv.mu.Unlock()
	if !exists {
		c.say.notice(warning("01000", "PID %d is not a session of this router", s.PID).
			withHint("svc_private.pg_sessions lists the sessions of all routers; KILL 'query_id' ends a query of any"))
		return false, nil
	}
	sender := c.exec.runner.currentSender()
	own := access.Caller{Sender: sender, Address: c.link.address}
	theirs := access.Caller{Sender: other.sender, Address: other.link.address}
	if own.KnownShare() == "" || own.Share() != theirs.Share() {
		if !sender.May(access.Need{Privilege: access.Operate}) {
			return false, failure("42501", "the session %d is not yours: to end it, a user needs the privilege OPERATE",
				s.PID)
		}
	}
	if c.srv.cfg.Users != nil {
		c.srv.cfg.Changes.Record(context.Background(), audit.Change{
			By: &own, Need: access.Need{Action: "end a query", Object: access.Object{Kind: access.NoObject}},
		})
	}
	switch {
	case s.Terminate && other == c:
		return false, terminated()
	case other == c:
		return false, failure("57014", "%s", errUserCancel)
	case s.Terminate:
		other.link.endWhenIdle(terminated())
	}
	other.link.cancelStatement(errUserCancel)
	return true, nil
}

func terminated() *Error {
	return fatal("57P01", "terminating connection due to administrator command")
}

// tlsState returns the state of TLS of the connection, or nil.
func (l *link) tlsState() *rewrite.TLS {
	if l.tls == nil {
		return nil
	}
	state := l.tls.ConnectionState()
	cipher := tls.CipherSuiteName(state.CipherSuite)
	bits := 128
	if strings.Contains(cipher, "256") || strings.Contains(cipher, "CHACHA20") && !strings.Contains(cipher, "128") {
		bits = 256
	}
	return &rewrite.TLS{
		Version: strings.ReplaceAll(tls.VersionName(state.Version), " ", "v"), Cipher: cipher, Bits: bits,
	}
}

// describeAll describes the prepared statements that have names.
func (s *preparedStore) describeAll() (all []rewrite.PreparedStatement) {
	for name, p := range s.byName {
		if name == "" {
			continue
		}
		d := rewrite.PreparedStatement{Name: name, Text: token.Hide(p.cmd.text), At: p.since, FromSQL: p.fromSQL}
		for _, t := range p.params {
			d.Types = append(d.Types, int64(t.OID))
		}
		all = append(all, d)
	}
	slices.SortFunc(all, func(a, b rewrite.PreparedStatement) int { return strings.Compare(a.Name, b.Name) })
	return all
}
