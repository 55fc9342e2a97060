package pgwire

import (
	"hash/fnv"
	"slices"
	"strings"
	"sync"
	"time"

	"cordwood/proto/metapb"
	"cordwood/router/access"
	"cordwood/router/access/token"
)

// A process id has 12 bits of a hash of the node's id, and below them a number that the node counts.
const countedBits = 19

// nodeBits returns the upper bits of the process ids of a node's connections.
func nodeBits(node string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(node)) // never fails
	return h.Sum32() >> 20 << countedBits
}

// MayServe reports whether the connection with a process id may be one of a node. The ids of few other nodes fit, too.
func MayServe(node string, pid uint32) bool { return nodeBits(node) == pid>>countedBits<<countedBits }

// maxShownQuery is the maximum length of a statement in a description of a session, in bytes.
const maxShownQuery = 1 << 10

// shown is what a description of a session says. The goroutine of the connection changes it.
type shown struct {
	mu             sync.Mutex // guards the fields below
	name, database string     // application_name, and the database that the client connected to
	state          byte       // of the transaction
	queryID        string     // of the running query; empty: none runs
	text           string     // of the last query
	queryAt        time.Time
}

// session updates the description of the session.
func (sh *shown) session(s *session) {
	name, state := token.Hide(s.get("application_name")), s.status()
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.name, sh.database, sh.state = name, s.database, state
}

// query notes the query that runs; an empty id: it has ended.
func (sh *shown) query(id, text string) {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if sh.queryID = id; id != "" {
		sh.text = strings.ToValidUTF8(token.Hide(strings.Clone(text[:min(len(text), maxShownQuery)])), "")
		sh.queryAt = time.Now()
	}
}

// Sessions describes the sessions of the clients that have signed in, the oldest first.
func (s *Server) Sessions() []*metapb.ClientSession {
	s.mu.Lock()
	open := make([]*conn, 0, len(s.conns))
	for c := range s.conns {
		if !c.starting {
			open = append(open, c)
		}
	}
	s.mu.Unlock()
	out := make([]*metapb.ClientSession, 0, len(open))
	for _, c := range open {
		out = append(out, c.describeSession())
	}
	slices.SortFunc(out, func(a, b *metapb.ClientSession) int { return int(a.SinceUnixNano - b.SinceUnixNano) })
	return out
}

// describeSession describes the session of a client that has signed in.
func (c *conn) describeSession() *metapb.ClientSession {
	caller := access.Caller{Sender: c.sender, Address: c.link.address}
	idle := c.link.isIdle()
	c.shown.mu.Lock()
	defer c.shown.mu.Unlock()
	state := "active"
	if idle {
		state = map[byte]string{
			outside: "idle", inside: "idle in transaction", failed: "idle in transaction (aborted)",
		}[c.shown.state]
	}
	out := &metapb.ClientSession{
		Pid: c.pid, Share: caller.Share(), Principal: c.user, Address: c.link.address.String(),
		ApplicationName: c.shown.name, Database: c.shown.database, SinceUnixNano: c.since.UnixNano(), State: state,
		QueryId: c.shown.queryID, Query: c.shown.text,
	}
	if !c.shown.queryAt.IsZero() {
		out.QueryUnixNano = c.shown.queryAt.UnixNano()
	}
	return out
}
