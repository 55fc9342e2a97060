package transport

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// The protocol versions that this program speaks. Part of the format.
const (
	minVersion = 1
	maxVersion = 1
)

// magic begins every connection, in both directions. Part of the format.
const magic = "CWRT"

// maxName bounds names and ids, maxReason the text of a refusal; both in bytes.
const (
	maxName   = 255
	maxReason = 1024
)

// hello is what the side that opens a connection says first.
type hello struct {
	lowest, highest uint16
	class           class
	cluster         string
	from, to        string
}

// ErrRefused is the error of a connection that the other node does not want: it
// belongs to another cluster, is another node than was dialed, or speaks other
// versions. To try again without a change is of no use.
var ErrRefused = errors.New("the other node refused the connection")

func (h *hello) append(b []byte) []byte {
	b = append(b, magic...)
	b = binary.LittleEndian.AppendUint16(b, h.lowest)
	b = binary.LittleEndian.AppendUint16(b, h.highest)
	b = append(b, byte(h.class))
	for _, s := range []string{h.cluster, h.from, h.to} {
		b = append(b, byte(len(s)))
		b = append(b, s...)
	}
	return b
}

func readHello(r io.Reader) (*hello, error) {
	var head [9]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, fmt.Errorf("read the first bytes: %w", err)
	}
	if string(head[:4]) != magic {
		return nil, fmt.Errorf("it begins with %q, want %q: not a node's raft connection", head[:4], magic)
	}
	h := &hello{lowest: binary.LittleEndian.Uint16(head[4:]), highest: binary.LittleEndian.Uint16(head[6:]), class: class(head[8])}
	for _, s := range []*string{&h.cluster, &h.from, &h.to} {
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
	return h, nil
}

// dial opens a connection of a class to a node and greets it.
func (n *Network) dial(ctx context.Context, node string, c class) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, n.cfg.Timeout)
	defer cancel()
	conn, err := n.cfg.Dial(ctx, node)
	if err != nil {
		return nil, fmt.Errorf("raft network: dial node %s: %w", node, err)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	err = n.greet(conn, node, c)
	if !stop() && err == nil {
		err = ctx.Err()
	}
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
	var head [8]byte // magic, version or 0, length of the reason
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return err
	}
	if string(head[:4]) != magic {
		return fmt.Errorf("the answer begins with %q, want %q", head[:4], magic)
	}
	version, size := binary.LittleEndian.Uint16(head[4:]), binary.LittleEndian.Uint16(head[6:])
	if size > maxReason {
		return fmt.Errorf("the answer has a reason of %d bytes, at most %d are allowed", size, maxReason)
	}
	reason := make([]byte, size)
	if _, err := io.ReadFull(conn, reason); err != nil {
		return err
	}
	if version == 0 {
		return fmt.Errorf("%w: %s", ErrRefused, reason)
	}
	if version < minVersion || version > maxVersion {
		return fmt.Errorf("the answer chose protocol version %d, want %d to %d", version, minVersion, maxVersion)
	}
	return nil
}

// accept reads a greeting and answers it.
func (n *Network) accept(conn net.Conn) (*hello, error) {
	if err := conn.SetDeadline(time.Now().Add(n.cfg.Timeout)); err != nil {
		return nil, err
	}
	h, err := readHello(conn)
	if err != nil {
		return nil, err // not our protocol: no answer would be understood
	}
	version, reason := n.judge(h)
	b := append(make([]byte, 0, 8+len(reason)), magic...)
	b = binary.LittleEndian.AppendUint16(b, version)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(reason)))
	if _, err := conn.Write(append(b, reason...)); err != nil {
		return nil, err
	}
	if version == 0 {
		return nil, errors.New(reason)
	}
	return h, conn.SetDeadline(time.Time{})
}

// judge chooses the protocol version, or 0 and the reason why there is none.
func (n *Network) judge(h *hello) (version uint16, reason string) {
	switch {
	case h.cluster != n.cfg.ClusterID:
		reason = fmt.Sprintf("node %s belongs to cluster %s, this is cluster %s", h.from, h.cluster, n.cfg.ClusterID)
	case h.to != n.cfg.NodeID:
		reason = fmt.Sprintf("node %s was dialed, this is node %s: the address is out of date", h.to, n.cfg.NodeID)
	case h.lowest > maxVersion || h.highest < minVersion:
		reason = fmt.Sprintf("node %s speaks protocol versions %d to %d, this node %d to %d: upgrade the older one", h.from, h.lowest, h.highest, minVersion, maxVersion)
	case h.class != control && h.class != entries && h.class != bulk:
		reason = fmt.Sprintf("connection class %d is unknown to this node", h.class)
	default:
		return min(h.highest, maxVersion), ""
	}
	return 0, reason[:min(len(reason), maxReason)]
}
