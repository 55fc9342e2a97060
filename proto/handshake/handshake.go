// Package handshake implements the common part of the first exchange on all connections between nodes: names of up to
// 255 bytes, and an answer that chooses a protocol version or refuses with a reason. The FORMAT.md pages of the
// packages that use it describe the bytes.
package handshake

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// MaxName is the maximum length of a name, MaxReason of a refusal's text; both in bytes. MagicBytes
// is the size of the magic at the start of an exchange.
const (
	MaxName    = 255
	MaxReason  = 1024
	MagicBytes = 4
)

// ErrRefused is the error for a connection that the other node refuses: it belongs to another cluster, is not the
// intended node, or supports other versions. Trying again without a change does not help.
var ErrRefused = errors.New("the other node refused the connection")

// AppendNames appends names, each after its length. They must not be longer than MaxName.
func AppendNames(b []byte, names ...string) []byte {
	for _, s := range names {
		b = append(b, byte(len(s)))
		b = append(b, s...)
	}
	return b
}

// ReadNames reads names that AppendNames appended.
func ReadNames(r io.Reader, names ...*string) error {
	for _, s := range names {
		var size [1]byte
		if _, err := io.ReadFull(r, size[:]); err != nil {
			return fmt.Errorf("read the greeting: %w", err)
		}
		text := make([]byte, size[0])
		if _, err := io.ReadFull(r, text); err != nil {
			return fmt.Errorf("read the greeting: %w", err)
		}
		*s = string(text)
	}
	return nil
}

// Answer writes the chosen version, or 0 and a reason of at most MaxReason bytes.
func Answer(w io.Writer, magic string, version uint16, reason string) error {
	b := append(make([]byte, 0, MagicBytes+4+len(reason)), magic...)
	b = binary.LittleEndian.AppendUint16(b, version)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(reason)))
	_, err := w.Write(append(b, reason...))
	return err
}

// ReadAnswer reads an answer, which must choose a version in the given range. The error wraps
// ErrRefused if the other side refuses.
func ReadAnswer(r io.Reader, magic string, lowest, highest uint16) error {
	var head [MagicBytes + 4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return err
	}
	if string(head[:MagicBytes]) != magic {
		return fmt.Errorf("the answer begins with %q, want %q", head[:MagicBytes], magic)
	}
	version, size := binary.LittleEndian.Uint16(head[MagicBytes:]), binary.LittleEndian.Uint16(head[MagicBytes+2:])
	if size > MaxReason {
		return fmt.Errorf("the answer has a reason of %d bytes, at most %d are allowed", size, MaxReason)
	}
	reason := make([]byte, size)
	if _, err := io.ReadFull(r, reason); err != nil {
		return err
	}
	switch {
	case version == 0:
		return fmt.Errorf("%w: %s", ErrRefused, reason)
	case version < lowest || version > highest:
		return fmt.Errorf("the answer chose protocol version %d, want %d to %d", version, lowest, highest)
	}
	return nil
}

// During runs an exchange on conn. It fails when ctx ends.
func During(ctx context.Context, conn net.Conn, exchange func() error) error {
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	err := exchange()
	if !stop() && err == nil {
		err = ctx.Err()
	}
	return err
}
