package pgwire

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"cordwood/proto/errs"
	"cordwood/router/access"
	"cordwood/router/audit"
	"cordwood/router/pgwire/wire"
)

// conn is a connection of a client. It reads one message after another, and passes it to the part that it is for: the
// handshake, the simple or the extended protocol. Only the goroutine of the connection uses it and its parts; others
// may use link and shown.
type conn struct {
	srv  *Server
	link *link
	say  *answers

	pid, key uint32
	user     string    // the name that the client signed in with
	accepted time.Time // when the client connected
	since    time.Time // when the session began
	starting bool      // guarded by Server.mu
	sender   access.Sender
	shown    shown

	// The parts of the session are nil until it begins.
	session  *session
	exec     *executor
	extended *extended
}

func newConn(s *Server, nc net.Conn) *conn {
	l := newLink(&s.cfg, nc)
	return &conn{srv: s, link: l, say: &answers{link: l, metrics: s.metrics}, key: newKey(), accepted: time.Now()}
}

// refuseTime is the time limit for telling a client why it is refused.
const refuseTime = 3 * time.Second

// refuse sends an error to a client that exceeds a limit, after its start-up packet, and over TLS if it asks for it:
// without TLS, many clients would report that the server lacks it. A request to cancel is carried out: the client may
// have all connections that are allowed.
func (c *conn) refuse(why *Error) {
	_ = c.link.net.SetDeadline(time.Now().Add(refuseTime)) // without it, the client may take any time
	if _, err := c.handshake().start(); err != nil {
		return
	}
	c.say.fail(why)
	_ = c.link.out.Flush() // the connection ends anyway
}

// refuseAtOnce sends an error without waiting for the client's start-up packet, because too many connections wait
// already. The write does not block, because nothing was sent before. A client may lose the error if its packet arrives
// after the connection was closed.
func (c *conn) refuseAtOnce(why *Error) {
	c.say.fail(why)
	_ = c.link.out.Flush() // the connection ends anyway
	_ = c.link.net.Close()
}

// serve starts a session, and handles messages until it ends.
func (c *conn) serve() {
	defer c.link.large.release()
	if err := c.link.begin(); err != nil {
		return
	}
	if err := c.open(); err != nil {
		c.failLast(err)
		return
	}
	c.srv.started(c)
	c.record(audit.SignIn)
	defer c.record(audit.SignOut)
	work := c.follow()
	defer work.End()
	defer c.exec.portals.closeAll(true)
	if err := c.link.signedIn(); err != nil {
		c.failLast(err)
		return
	}
	c.ready()
	for {
		err := c.message()
		c.srv.metrics.bytes.Add(float64(c.link.in.Bytes() + c.link.out.Bytes()))
		if err != nil {
			c.failLast(err)
			return
		}
	}
}

// record records that a session of a user begins or ends. Package auth reports sign-ins that fail.
func (c *conn) record(action string) {
	if c.srv.cfg.Users == nil {
		return
	}
	c.srv.cfg.Changes.Record(context.Background(), audit.Change{
		By:   &access.Caller{Sender: c.sender, Address: c.link.address},
		Need: access.Need{Action: action, Object: access.Object{Kind: access.Principal, Name: c.sender.User}},
	})
}

func (c *conn) handshake() *handshake {
	return &handshake{
		cfg: &c.srv.cfg, link: c.link, say: c.say, authFailed: c.srv.metrics.authFailures.Inc,
		cancel: func(body []byte) { c.srv.cancelRequest(c.link.address, body) },
	}
}

// open authenticates the client and starts the session.
func (c *conn) open() error {
	h := c.handshake()
	params, err := h.open()
	if err != nil {
		return err
	}
	c.sender = h.sender
	return c.begin(params)
}

// begin applies the parameters of the start-up packet, and sends the first messages of the session.
func (c *conn) begin(params map[string]string) error {
	c.user = params["user"]
	cfg := &c.srv.cfg
	r := &runner{cfg: cfg, link: c.link, shown: &c.shown, sender: c.sender}
	readOnly := c.sender.Grants == nil && !c.sender.May(access.Need{Privilege: access.Insert})
	c.session = newSession(cfg, c.user, readOnly, func(name string) bool {
		return cfg.HasDatabase(r.currentSender(), name)
	})
	if err := c.session.open(params, c.sender.DefaultDatabase()); err != nil {
		return err
	}
	r.session = c.session
	t := &translator{session: c.session, runner: r, version: cfg.Version, pid: c.pid}
	c.exec = newExecutor(c.link, c.say, c.session, r, t, &c.srv.cursors, c.srv.parked)
	c.exec.signal = c.signalOther
	c.extended = &extended{exec: c.exec}
	c.report()
	c.say.send(&pgproto3.BackendKeyData{ProcessID: c.pid, SecretKey: binary.BigEndian.AppendUint32(nil, c.key)})
	c.since = time.Now()
	c.shown.session(c.session)
	return nil
}

// noWork is the work of a connection whose user cannot be removed.
type noWork struct{}

func (noWork) Require(access.Need) error { return nil }
func (noWork) End()                      {}

// follow registers the connection, so that it ends when its user is removed.
func (c *conn) follow() access.Work {
	if c.srv.cfg.Users == nil {
		return noWork{}
	}
	return c.srv.cfg.Users.Begin(c.sender, func(err error) {
		c.link.endWhenIdle(fatal("28000", "%s", errs.From(err).Msg))
		c.link.cancelStatement(err)
	})
}

// failLast sends the reason why the connection ends, if there is one and the client can still receive it.
func (c *conn) failLast(err error) {
	var own *Error
	var protocol wire.ProtocolError
	switch {
	case errors.As(err, &own):
	case errors.As(err, &protocol):
		own = fatal("08P01", "%s", protocol)
	default:
		return
	}
	_ = c.link.net.SetDeadline(time.Now().Add(time.Second)) // without it, the write below fails
	own.Severity = "FATAL"
	c.say.fail(own)
	_ = c.link.out.Flush() // the connection ends anyway
	if half, ok := c.link.net.(interface{ CloseWrite() error }); ok {
		// Closing a connection with unread data would discard the error.
		_ = half.CloseWrite()
		_, _ = io.CopyN(io.Discard, c.link.net, 1<<20)
	}
}

// abandon ends the running statement of a connection whose goroutine cannot continue.
func (c *conn) abandon() {
	if c.exec != nil {
		c.exec.runner.abandon()
	}
}

// message handles one message.
func (c *conn) message() error {
	if !c.link.in.Buffered() {
		if err := c.link.out.Flush(); err != nil {
			return err
		}
	}
	kind, body, err := c.link.next()
	if err != nil {
		return err
	}
	if c.extended.skip && kind != 'S' && kind != 'X' {
		return nil
	}
	return c.handle(kind, body)
}

// handle handles a message. A returned error ends the connection.
func (c *conn) handle(kind byte, body []byte) error {
	switch kind {
	case 'Q':
		text, err := queryText(body)
		if err != nil {
			if ended := c.exec.failStatement(err, 0, ""); ended != nil {
				return ended
			}
			c.ready()
			return nil
		}
		if err := c.exec.simple(text); err != nil {
			return err
		}
		c.ready()
		return nil
	case 'X':
		return io.EOF
	case 'S':
		c.extended.sync()
		c.ready()
		return nil
	case 'H':
		return c.link.out.Flush()
	case 'd', 'c', 'f': // of a COPY that has failed
		return nil
	case 'F': // answered like a simple query: clients do not send Sync after it
		err := c.extended.fail(unsupported("function calls are not supported; call the function in a SELECT"))
		c.extended.skip = false
		c.ready()
		return err
	case 'p':
		return fatal("08P01", "a password was not asked for")
	}
	return c.extended.handle(kind, body)
}

// ready sends ReadyForQuery.
func (c *conn) ready() {
	c.report()
	c.shown.session(c.session)
	c.say.send(&pgproto3.ReadyForQuery{TxStatus: c.session.status()})
	_ = c.link.out.Flush() // the writer keeps the error
}

// report sends the changed settings that clients follow.
func (c *conn) report() {
	for _, s := range c.session.changed() {
		c.say.send(&pgproto3.ParameterStatus{Name: s[0], Value: s[1]})
	}
}
