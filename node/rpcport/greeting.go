package rpcport

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// The first bytes of a connection. Part of the format.
const (
	magicRaft  = "CWRT"
	magicCalls = "CWPC"
	magicHTTP2 = "PRI "
)

// maxName bounds ids, maxReason the text of a refusal; both in bytes.
const (
	maxName   = 255
	maxReason = 1024
)

// Member is what a node says of itself in greetings.
type Member struct {
	ClusterID, NodeID string
	// Lowest and Highest are the protocol versions that it speaks.
	Lowest, Highest uint16
}

// ErrRefused is the error of a connection that the other node does not want: it belongs
// to another cluster, is another node than was meant, or speaks other versions.
var ErrRefused = errors.New("the other node refused the connection")

// greeting is what the side that opens a connection for calls says first.
type greeting struct {
	Member
	to string
}

func (g *greeting) append(b []byte) []byte {
	b = append(b, magicCalls...)
	b = binary.LittleEndian.AppendUint16(b, g.Lowest)
	b = binary.LittleEndian.AppendUint16(b, g.Highest)
	for _, s := range []string{g.ClusterID, g.NodeID, g.to} {
		b = append(b, byte(len(s)))
		b = append(b, s...)
	}
	return b
}

// readGreeting reads what follows the magic.
func readGreeting(r io.Reader) (*greeting, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, fmt.Errorf("read the greeting: %w", err)
	}
	g := &greeting{Member: Member{Lowest: binary.LittleEndian.Uint16(head[:]), Highest: binary.LittleEndian.Uint16(head[2:])}}
	for _, s := range []*string{&g.ClusterID, &g.NodeID, &g.to} {
		var size [1]byte
		if _, err := io.ReadFull(r, size[:]); err != nil {
			return nil, fmt.Errorf("read the greeting: %w", err)
		}
		text := make([]byte, size[0])
		if _, err := io.ReadFull(r, text); err != nil {
			return nil, fmt.Errorf("read the greeting: %w", err)
		}
		*s = string(text)
	}
	return g, nil
}

// judge chooses the protocol version, or 0 and the reason why there is none.
func (m *Member) judge(g *greeting) (version uint16, reason string) {
	switch {
	case m == nil:
		reason = "this node belongs to no cluster yet, or is still starting"
	case g.ClusterID != m.ClusterID:
		reason = fmt.Sprintf("node %s belongs to cluster %s, this is cluster %s", g.NodeID, g.ClusterID, m.ClusterID)
	case g.to != m.NodeID:
		reason = fmt.Sprintf("node %s was dialed, this is node %s: the address is out of date", g.to, m.NodeID)
	case g.Lowest > m.Highest || g.Highest < m.Lowest:
		reason = fmt.Sprintf("node %s speaks protocol versions %d to %d, this node %d to %d: upgrade the older one", g.NodeID, g.Lowest, g.Highest, m.Lowest, m.Highest)
	default:
		return min(g.Highest, m.Highest), ""
	}
	return 0, reason[:min(len(reason), maxReason)]
}

// answer tells the other side what became of its greeting.
func answer(conn net.Conn, version uint16, reason string) error {
	b := append(make([]byte, 0, 8+len(reason)), magicCalls...)
	b = binary.LittleEndian.AppendUint16(b, version)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(reason)))
	_, err := conn.Write(append(b, reason...))
	return err
}

// Greet opens a connection for calls to the node of that id, which must be the one that
// answers, and of the same cluster. The error wraps ErrRefused if it does not want to.
func Greet(ctx context.Context, conn net.Conn, me Member, node string) error {
	if len(me.ClusterID) > maxName || len(me.NodeID) > maxName || len(node) > maxName {
		return fmt.Errorf("greet node %s: an id is longer than %d bytes", node, maxName)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	err := greet(conn, &greeting{Member: me, to: node})
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("greet node %s at %s: %w", node, conn.RemoteAddr(), err)
	}
	return nil
}

func greet(conn net.Conn, g *greeting) error {
	if _, err := conn.Write(g.append(nil)); err != nil {
		return err
	}
	var head [8]byte
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return err
	}
	if string(head[:4]) != magicCalls {
		return fmt.Errorf("the answer begins with %q, want %q", head[:4], magicCalls)
	}
	version, size := binary.LittleEndian.Uint16(head[4:]), binary.LittleEndian.Uint16(head[6:])
	if size > maxReason {
		return fmt.Errorf("the answer has a reason of %d bytes, at most %d are allowed", size, maxReason)
	}
	reason := make([]byte, size)
	if _, err := io.ReadFull(conn, reason); err != nil {
		return err
	}
	switch {
	case version == 0:
		return fmt.Errorf("%w: %s", ErrRefused, reason)
	case version < g.Lowest || version > g.Highest:
		return fmt.Errorf("the answer chose protocol version %d, want %d to %d", version, g.Lowest, g.Highest)
	}
	return nil
}
