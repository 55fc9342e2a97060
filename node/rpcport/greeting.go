package rpcport

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"

	"cordwood/proto/handshake"
)

// These are the first bytes of a connection. They are part of the format.
const (
	magicRaft  = "CWRT"
	magicCalls = "CWPC"
	magicHTTP2 = "PRI "
)

// Member is a node's description of itself in greetings.
type Member struct {
	ClusterID, NodeID string
	// Lowest and Highest are the protocol versions that it supports.
	Lowest, Highest uint16
}

// ErrRefused is the error of a connection that the other node refuses; see handshake.ErrRefused.
var ErrRefused = handshake.ErrRefused

// greeting is the first message of the side that opens a connection for calls.
type greeting struct {
	Member
	to string
}

func (g *greeting) append(b []byte) []byte {
	b = append(b, magicCalls...)
	b = binary.LittleEndian.AppendUint16(b, g.Lowest)
	b = binary.LittleEndian.AppendUint16(b, g.Highest)
	return handshake.AppendNames(b, g.ClusterID, g.NodeID, g.to)
}

// readGreeting reads the greeting after the magic.
func readGreeting(r io.Reader) (*greeting, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, fmt.Errorf("read the greeting: %w", err)
	}
	g := &greeting{
		Member: Member{Lowest: binary.LittleEndian.Uint16(head[:]), Highest: binary.LittleEndian.Uint16(head[2:])},
	}
	if err := handshake.ReadNames(r, &g.ClusterID, &g.NodeID, &g.to); err != nil {
		return nil, err
	}
	return g, nil
}

// judge chooses the protocol version, or returns 0 and the reason for a refusal. proven is the authenticated id of
// the other side, or empty.
func (m *Member) judge(g *greeting, proven string) (version uint16, reason string) {
	switch {
	case proven != "" && g.NodeID != proven:
		reason = fmt.Sprintf("it claims to be node %s, but its certificate is for node %s", g.NodeID, proven)
	case m == nil:
		reason = "this node belongs to no cluster yet, or is still starting"
	case g.ClusterID != m.ClusterID:
		reason = fmt.Sprintf("node %s belongs to cluster %s, this is cluster %s", g.NodeID, g.ClusterID, m.ClusterID)
	case g.to != m.NodeID:
		reason = fmt.Sprintf("node %s was dialed, this is node %s: the address is out of date", g.to, m.NodeID)
	case g.Lowest > m.Highest || g.Highest < m.Lowest:
		reason = fmt.Sprintf("node %s supports protocol versions %d to %d, this node %d to %d: upgrade the older one",
			g.NodeID, g.Lowest, g.Highest, m.Lowest, m.Highest)
	default:
		return min(g.Highest, m.Highest), ""
	}
	return 0, reason[:min(len(reason), handshake.MaxReason)]
}

// Greet opens a connection for calls to the node with an id. The answering node must have this id and belong to the
// same cluster. The error wraps ErrRefused if the node refuses the connection.
func Greet(ctx context.Context, conn net.Conn, me Member, node string) error {
	if len(me.ClusterID) > handshake.MaxName || len(me.NodeID) > handshake.MaxName || len(node) > handshake.MaxName {
		return fmt.Errorf("greet node %s: an id is longer than %d bytes", node, handshake.MaxName)
	}
	err := handshake.During(ctx, conn, func() error { return greet(conn, &greeting{Member: me, to: node}) })
	if err != nil {
		return fmt.Errorf("greet node %s at %s: %w", node, conn.RemoteAddr(), err)
	}
	return nil
}

func greet(conn net.Conn, g *greeting) error {
	if _, err := conn.Write(g.append(nil)); err != nil {
		return err
	}
	return handshake.ReadAnswer(conn, magicCalls, g.Lowest, g.Highest)
}
