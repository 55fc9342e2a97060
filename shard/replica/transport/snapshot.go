package transport

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/hashicorp/raft"
)

// snapshotAnswer is how long the other node may take to install a snapshot after it has received
// all of it.
const snapshotAnswer = 10 * time.Minute

// InstallSnapshot sends a snapshot over a separate connection, and waits until it is installed.
func (t *Transport) InstallSnapshot(id raft.ServerID, _ raft.ServerAddress, args *raft.InstallSnapshotRequest,
	resp *raft.InstallSnapshotResponse, data io.Reader,
) error {
	conn, err := t.net.dial(t.ctx, string(id), bulk)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(t.ctx, func() { conn.Close() })()
	payload, err := encode(args)
	if err != nil {
		return fmt.Errorf("raft network: encode a snapshot of group %s: %w", t.name, err)
	}
	out := bufio.NewWriterSize(&patient{conn, t.net.cfg.AppendTimeout}, 256<<10)
	f := frame{kind: kindSnapshot, group: t.name, payload: payload}
	_, err = out.Write(f.append(nil))
	if err == nil {
		_, err = io.CopyN(out, data, args.Size)
	}
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		return fmt.Errorf("raft network: send a snapshot of group %s to node %s: %w", t.name, id, err)
	}
	if err := conn.SetReadDeadline(time.Now().Add(snapshotAnswer)); err != nil {
		return err
	}
	answer, err := readFrame(bufio.NewReader(conn))
	switch {
	case err != nil:
		return fmt.Errorf("raft network: snapshot of group %s: answer of node %s: %w", t.name, id, noEOF(err))
	case answer.kind == kindFailure:
		return fmt.Errorf("raft network: node %s: %s", id, answer.payload)
	}
	return decodeAnswer(answer, resp)
}

// refusedRest is the number of bytes of a refused snapshot that are read so that the answer
// arrives.
const refusedRest = 4 << 20

// serveSnapshot receives the one snapshot of a connection.
func (n *Network) serveSnapshot(conn net.Conn) error {
	in := bufio.NewReaderSize(&patient{conn, n.cfg.AppendTimeout}, 256<<10)
	f, err := readFrame(in)
	if err != nil {
		return err
	}
	if f.kind != kindSnapshot {
		return fmt.Errorf("%w: frame of kind %d, but a snapshot was expected", errFrame, f.kind)
	}
	var args raft.InstallSnapshotRequest
	if err := decode(f.payload, &args); err != nil {
		return fmt.Errorf("%w: snapshot request: %w", errFrame, err)
	}
	answer := failure(f.id, fmt.Errorf("group %s: %w", f.group, errShutDown))
	data := io.LimitReader(in, args.Size)
	if t := n.group(f.group); t != nil {
		answer = t.handle(f, data)
	}
	if answer.kind == kindFailure {
		// If a connection is closed with unread bytes, the answer may be lost. A larger rest is not
		// worth reading.
		_, _ = io.CopyN(io.Discard, data, refusedRest)
	}
	_, err = (&patient{conn, n.cfg.AppendTimeout}).Write(answer.append(nil))
	return err
}

// patient gives every read and write of a connection a separate deadline: a large transfer may take
// long, but must make progress.
type patient struct {
	conn  net.Conn
	limit time.Duration
}

func (p *patient) Read(b []byte) (int, error) {
	if err := p.conn.SetReadDeadline(time.Now().Add(p.limit)); err != nil {
		return 0, err
	}
	return p.conn.Read(b)
}

func (p *patient) Write(b []byte) (int, error) {
	if err := p.conn.SetWriteDeadline(time.Now().Add(p.limit)); err != nil {
		return 0, err
	}
	return p.conn.Write(b)
}
