package transport

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"cordwood/proto/handshake"
)

// The protocol versions that this program speaks. Part of the format.
const (
	minVersion = 1
	maxVersion = 1
)

// magic begins every connection, in both directions. Part of the format.
const magic = "CWRT"

// maxName is the maximum length of names and ids, in bytes.
const maxName = handshake.MaxName

// hello is the first message of the side that opens a connection.
type hello struct {
	lowest, highest uint16
	class           class
	cluster         string
	from, to        string
}

// ErrRefused is the error for a connection that the other node refuses; see handshake.ErrRefused.
var ErrRefused = handshake.ErrRefused

func (h *hello) append(b []byte) []byte {
	b = append(b, magic...)
	b = binary.LittleEndian.AppendUint16(b, h.lowest)
	b = binary.LittleEndian.AppendUint16(b, h.highest)
	b = append(b, byte(h.class))
	return handshake.AppendNames(b, h.cluster, h.from, h.to)
}

func readHello(r io.Reader) (*hello, error) {
	var head [9]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, fmt.Errorf("read the first bytes: %w", err)
	}
	if string(head[:4]) != magic {
		return nil, fmt.Errorf("it begins with %q, want %q: not a node's raft connection", head[:4], magic)
	}
	h := &hello{
		lowest:  binary.LittleEndian.Uint16(head[4:]),
		highest: binary.LittleEndian.Uint16(head[6:]),
		class:   class(head[8]),
	}
	if err := handshake.ReadNames(r, &h.cluster, &h.from, &h.to); err != nil {
		return nil, err
	}
	return h, nil
}

// dial opens a connection of a class to a node and sends a greeting.
func (n *Network) dial(ctx context.Context, node string, c class) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, n.cfg.Timeout)
	defer cancel()
	conn, err := n.cfg.Dial(ctx, node)
	if err != nil {
		return nil, fmt.Errorf("raft network: dial node %s: %w", node, err)
	}
	err = handshake.During(ctx, conn, func() error { return n.greet(conn, node, c) })
	if err != nil {
		return nil, errors.Join(fmt.Errorf("raft network: greet node %s: %w", node, err), conn.Close())
	}
	return conn, nil
}

func (n *Network) greet(conn net.Conn, node string, c class) error {
	h := hello{lowest: minVersion, highest: maxVersion, class: c, cluster: n.cfg.ClusterID, from: n.cfg.NodeID, to: node}
	if _, err := conn.Write(h.append(nil)); err != nil {
		return err
	}
	return handshake.ReadAnswer(conn, magic, minVersion, maxVersion)
}

// accept reads a greeting and answers it. proven is the id that the other side has proved to have,
// or empty if it has proved none.
func (n *Network) accept(conn net.Conn, proven string) (*hello, error) {
	if err := conn.SetDeadline(time.Now().Add(n.cfg.Timeout)); err != nil {
		return nil, err
	}
	h, err := readHello(conn)
	if err != nil {
		return nil, err // not our protocol: the peer would not understand an answer
	}
	version, reason := n.chooseVersion(h, proven)
	if err := handshake.Answer(conn, magic, version, reason); err != nil {
		return nil, err
	}
	if version == 0 {
		return nil, errors.New(reason)
	}
	return h, conn.SetDeadline(time.Time{})
}

// chooseVersion returns the protocol version, or 0 and the reason of a refusal.
func (n *Network) chooseVersion(h *hello, proven string) (version uint16, reason string) {
	switch {
	case proven != "" && h.from != proven:
		reason = fmt.Sprintf("it claims to be node %s, but its certificate is for node %s", h.from, proven)
	case h.cluster != n.cfg.ClusterID:
		reason = fmt.Sprintf("node %s belongs to cluster %s, but this node belongs to cluster "+
			"%s", h.from, h.cluster, n.cfg.ClusterID)
	case h.to != n.cfg.NodeID:
		reason = fmt.Sprintf("node %s was dialed, but this is node %s: the address is out of date", h.to, n.cfg.NodeID)
	case h.lowest > maxVersion || h.highest < minVersion:
		reason = fmt.Sprintf("node %s supports the protocol versions %d to %d, but this node supports %d to %d: upgrade "+
			"the older node", h.from,
			h.lowest, h.highest, minVersion, maxVersion)
	case h.class != control && h.class != entries && h.class != bulk:
		reason = fmt.Sprintf("connection class %d is unknown to this node; upgrade it", h.class)
	default:
		return min(h.highest, maxVersion), ""
	}
	return 0, reason[:min(len(reason), handshake.MaxReason)]
}
