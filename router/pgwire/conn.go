package pgwire

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgproto3"

	"cordwood/proto/errs"
	"cordwood/router/access"
	"cordwood/router/audit"
	"cordwood/router/pgwire/wire"
)

// conn is a connection. Only its goroutine uses it, except for the fields that mu guards.
type conn struct {
	srv     *Server
	net     net.Conn
	tls     *tls.Conn // nil without TLS
	binding []byte    // the channel binding of TLS for SCRAM, or nil
	in      *wire.Reader
	out     *wire.Writer
	taking  *stalling // the writer below out

	address  netip.Addr
	pid, key uint32
	user     string    // the name that the client signed in with
	since    time.Time // when the session began
	starting bool      // guarded by Server.mu

	sender  access.Sender
	session *session
	// statements and portals have the objects of the extended protocol, and the objects that PREPARE and DECLARE create.
	statements map[string]*prepared
	textBytes  int // the memory of all statements
	portals    map[string]*portal
	// known has the types of operands of the last statement that needed them.
	known operands
	// skip is set after an error: messages are ignored until the next Sync.
	skip bool
	// executing is the running statement.
	executing *execution
	// long is set while a statement starts that the client may fetch in parts.
	long bool

	// large has the memory of a large message until the next message.
	large holding

	mu      sync.Mutex              // guards the fields below
	current context.CancelCauseFunc // ends the running statement; nil if none runs
	ending  *Error                  // why the connection ends once it is idle
	idle    bool                    // the connection waits for the client
	signed  bool                    // the client has signed in
	shown   shown
}

func newConn(s *Server, nc net.Conn) *conn {
	c := &conn{
		srv: s, address: addressOf(nc), statements: map[string]*prepared{}, portals: map[string]*portal{},
	}
	c.large.c = c
	c.use(nc)
	return c
}

// use makes nc the connection for reading and writing messages.
func (c *conn) use(nc net.Conn) {
	taking := &stalling{Conn: nc, most: c.srv.cfg.StallTime}
	in, out := wire.NewReader(nc), wire.NewWriter(taking)
	in.Large = c.large.grow
	c.mu.Lock()
	defer c.mu.Unlock()
	c.net, c.in, c.out, c.taking = nc, in, out, taking
}

// refuse sends an error to a client that exceeds a limit, after the client's start-up packet.
func (c *conn) refuse(why *Error) {
	_ = c.net.SetDeadline(time.Now().Add(time.Second)) // without it, the writes below fail
	if body, err := c.in.Startup(); err == nil && len(body) == 4 {
		if _, err := c.net.Write([]byte{'N'}); err != nil {
			return
		}
		if _, err := c.in.Startup(); err != nil {
			return
		}
	}
	c.fail(why)
	_ = c.out.Flush() // the connection ends anyway
}

// refuseAtOnce sends an error without waiting for the client's start-up packet, because too many connections wait
// already. The write does not block, because nothing was sent before. A client may lose the error if its packet arrives
// after the connection was closed.
func (c *conn) refuseAtOnce(why *Error) {
	c.fail(why)
	_ = c.out.Flush() // the connection ends anyway
	_ = c.net.Close()
}

// serve starts a session, and handles messages until it ends.
func (c *conn) serve() {
	if err := c.net.SetDeadline(time.Now().Add(c.srv.cfg.StartTime)); err != nil {
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
	defer c.large.release()
	defer c.closePortals(true)
	if err := c.signedIn(); err != nil {
		c.failLast(err)
		return
	}
	c.ready()
	for {
		err := c.message()
		c.srv.metrics.bytes.Add(float64(c.in.Bytes() + c.out.Bytes()))
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
		By:   &access.Caller{Sender: c.sender, Address: c.address},
		Need: access.Need{Action: action, Object: access.Object{Kind: access.Principal, Name: c.sender.User}},
	})
}

// signedIn removes the deadline for signing in.
func (c *conn) signedIn() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.signed = true; c.ending != nil {
		return c.ending
	}
	return c.net.SetDeadline(time.Time{})
}

// open authenticates the client and starts the session.
func (c *conn) open() error {
	params, err := c.start()
	if err != nil {
		return err
	}
	user := params["user"]
	if user == "" {
		return fatal("28000", "no PostgreSQL user name specified in startup packet")
	}
	if err := c.signIn(user); err != nil {
		return err
	}
	return c.begin(params)
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
		c.endWhenIdle(fatal("28000", "%s", errs.From(err).Msg))
		c.cancelStatement(err)
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
	_ = c.net.SetDeadline(time.Now().Add(time.Second)) // without it, the write below fails
	own.Severity = "FATAL"
	c.fail(own)
	_ = c.out.Flush() // the connection ends anyway
	if half, ok := c.net.(interface{ CloseWrite() error }); ok {
		// Closing a connection with unread data would discard the error.
		_ = half.CloseWrite()
		_, _ = io.CopyN(io.Discard, c.net, 1<<20)
	}
}

// fail sends an error.
func (c *conn) fail(e *Error) {
	c.srv.metrics.failed(e.State)
	c.out.Send(e.response())
}

// notice sends a notice.
func (c *conn) notice(e *Error) {
	c.out.Send((*pgproto3.NoticeResponse)(e.response()))
}

// endWhenIdle ends the connection as soon as no statement runs. A client that has not signed in gets one more second.
func (c *conn) endWhenIdle(why *Error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ending == nil {
		c.ending = why
	}
	switch { // it fails if the connection has ended
	case c.idle:
		_ = c.net.SetReadDeadline(time.Unix(1, 0))
	case !c.signed:
		_ = c.net.SetDeadline(time.Now().Add(time.Second))
	}
}

// cut closes the connection and ends the running statement.
func (c *conn) cut(cause error) {
	c.cancelStatement(cause)
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.net.SetDeadline(time.Now().Add(time.Second)) // it fails if the connection has ended
}

// cancelStatement ends the running statement.
func (c *conn) cancelStatement(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current != nil {
		c.current(cause)
	}
}

// await waits for the next message. The connection may be idle for any time.
func (c *conn) await() error {
	c.mu.Lock()
	why := c.ending
	c.idle = true
	c.mu.Unlock()
	if why != nil {
		return why
	}
	_, err := c.in.Peek()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.idle = false
	if c.ending != nil {
		return c.ending
	}
	if err != nil {
		return err
	}
	return c.net.SetReadDeadline(time.Now().Add(c.srv.cfg.StallTime))
}

// nextMessage reads the next message.
func (c *conn) nextMessage() (kind byte, body []byte, err error) {
	if err := c.await(); err != nil {
		return 0, nil, err
	}
	c.large.release()
	if kind, body, err = c.in.Next(); err != nil {
		return 0, nil, err
	}
	return kind, body, c.net.SetReadDeadline(time.Time{})
}

// message handles one message.
func (c *conn) message() error {
	if !c.in.Buffered() {
		if err := c.out.Flush(); err != nil {
			return err
		}
	}
	kind, body, err := c.nextMessage()
	if err != nil {
		return err
	}
	if c.skip && kind != 'S' && kind != 'X' {
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
			c.fail(asError(err, nil))
			c.ready()
			return nil
		}
		return c.simple(text)
	case 'X':
		return io.EOF
	case 'S':
		return c.sync()
	case 'H':
		return c.out.Flush()
	case 'd', 'c', 'f': // of a COPY that has failed
		return nil
	case 'F':
		return c.failExtended(unsupported("function calls are not supported; call the function in a SELECT"))
	case 'p':
		return fatal("08P01", "a password was not asked for")
	}
	return c.extended(kind, body)
}

// maxName is the maximum length of the names of prepared statements, portals, cursors and savepoints, in bytes.
const maxName = 1 << 10

func checkName(name string) error {
	if len(name) > maxName {
		return failure("42622", "a name has %d bytes; %d are allowed", len(name), maxName)
	}
	return checkText(name)
}

// queryText returns the text of a Query.
func queryText(body []byte) (string, error) {
	var m pgproto3.Query
	if len(body) == 0 || body[len(body)-1] != 0 || m.Decode(body) != nil {
		return "", fatal("08P01", "malformed Query message")
	}
	return m.String, checkText(m.String)
}

// checkText returns an error for text that is not valid.
func checkText(s string) error {
	if !utf8.ValidString(s) || strings.Contains(s, "\x00") {
		return failure("22021", "invalid byte sequence for encoding \"UTF8\"")
	}
	return nil
}

// ready sends ReadyForQuery.
func (c *conn) ready() {
	c.report()
	c.show()
	c.out.Send(&pgproto3.ReadyForQuery{TxStatus: c.session.status()})
	_ = c.out.Flush() // the writer keeps the error
}

// report sends the changed settings that clients follow.
func (c *conn) report() {
	for _, s := range c.session.changed() {
		c.out.Send(&pgproto3.ParameterStatus{Name: s[0], Value: s[1]})
	}
}

// currentSender returns the client's user with the user's current rights.
func (c *conn) currentSender() access.Sender {
	if c.srv.cfg.Users == nil {
		return c.sender
	}
	return c.srv.cfg.Users.Current(c.sender)
}

// caller returns a context with the caller of a statement.
func (c *conn) caller(ctx context.Context, end func(error)) (context.Context, func()) {
	caller := &access.Caller{Sender: c.currentSender(), Address: c.address}
	done := func() {}
	if c.srv.cfg.Users != nil {
		caller.Work = c.srv.cfg.Users.Begin(caller.Sender, end)
		done = caller.Work.End
	}
	return access.With(ctx, caller), done
}

// excerpt shortens client text that is returned in an error.
func excerpt(s string) string {
	const most = 128
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
