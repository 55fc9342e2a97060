package transport

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/hashicorp/go-msgpack/v2/codec"
	"github.com/hashicorp/raft"
)

// kind is the type of a frame.
type kind uint8

// The kinds are part of the format.
const (
	kindAppend     kind = 1
	kindHeartbeat  kind = 2 // an append without entries, for the fast path
	kindVote       kind = 3
	kindPreVote    kind = 4
	kindTimeoutNow kind = 5
	kindSnapshot   kind = 6
	kindAnswer     kind = 7
	kindFailure    kind = 8 // an answer with the text of an error
)

// maxFrame is the maximum size of a received frame, in bytes. raft puts up to 16 entries of at most
// 32 MiB into an append.
const maxFrame = 640 << 20

// frameHeader is the size of a frame before group and payload.
const frameHeader = 4 + 4 + 1 + 8 + 1

// readStep is how much memory is allocated for the length of a frame before its bytes arrive.
const readStep = 1 << 20

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// frame is one message. An answer has the id of its request, and no group.
type frame struct {
	kind    kind
	id      uint64
	group   string
	payload []byte
}

var errFrame = errors.New("damaged frame")

// append appends the encoding of f to b.
func (f *frame) append(b []byte) []byte {
	at := len(b)
	b = append(b, make([]byte, frameHeader)...)
	b = append(b, f.group...)
	b = append(b, f.payload...)
	h := b[at:]
	binary.LittleEndian.PutUint32(h, uint32(len(h)-8))
	h[8] = byte(f.kind)
	binary.LittleEndian.PutUint64(h[9:], f.id)
	h[17] = byte(len(f.group))
	binary.LittleEndian.PutUint32(h[4:], crc32.Checksum(h[8:], castagnoli))
	return b
}

// readFrame reads the next frame into newly allocated memory.
func readFrame(r *bufio.Reader) (*frame, error) {
	var head [8]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	size := int(binary.LittleEndian.Uint32(head[:]))
	if size < frameHeader-8 || size > maxFrame {
		return nil, fmt.Errorf("%w: frame length %d, want %d to %d", errFrame, size, frameHeader-8, maxFrame)
	}
	body := make([]byte, 0, min(size, readStep))
	for len(body) < size {
		n := min(size-len(body), max(readStep, len(body)))
		if cap(body)-len(body) < n {
			grown := make([]byte, len(body), len(body)+n)
			copy(grown, body)
			body = grown
		}
		part := body[len(body) : len(body)+n]
		if _, err := io.ReadFull(r, part); err != nil {
			return nil, fmt.Errorf("frame of %d bytes: %w", size, noEOF(err))
		}
		body = body[:len(body)+n]
	}
	if want, got := binary.LittleEndian.Uint32(head[4:]), crc32.Checksum(body, castagnoli); want != got {
		return nil, fmt.Errorf("%w: checksum %08x, want %08x", errFrame, got, want)
	}
	f := &frame{kind: kind(body[0]), id: binary.LittleEndian.Uint64(body[1:])}
	n := int(body[9])
	if len(body) < 10+n {
		return nil, fmt.Errorf("%w: group name of %d bytes in a frame of %d bytes", errFrame, n, len(body)-10)
	}
	f.group, f.payload = string(body[10:10+n]), body[10+n:]
	return f, nil
}

// noEOF converts an io.EOF in the middle of a message to io.ErrUnexpectedEOF.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// handle configures the encoding of raft's messages. It is the same encoding as in raft's own
// transport. Memory for an entry of up to initLength bytes is allocated at once; for a larger entry
// it grows while bytes arrive.
var handle = newHandle()

func newHandle() *codec.MsgpackHandle {
	h := &codec.MsgpackHandle{}
	h.MaxInitLen = initLength
	return h
}

const initLength = 2 << 20

func encode(v any) ([]byte, error) {
	var b []byte
	if args, ok := v.(*raft.AppendEntriesRequest); ok {
		// Without an initial size, the entries would be copied repeatedly while the buffer grows.
		size := 256
		for _, l := range args.Entries {
			size += len(l.Data) + len(l.Extensions) + 128
		}
		b = make([]byte, 0, size)
	}
	err := codec.NewEncoderBytes(&b, handle).Encode(v)
	return b, err
}

func decode(b []byte, v any) error { return codec.NewDecoderBytes(b, handle).Decode(v) }

// newCommand returns an empty command of the kind, or nil if the kind is not a command.
func newCommand(k kind) any {
	switch k {
	case kindAppend, kindHeartbeat:
		return &raft.AppendEntriesRequest{}
	case kindVote:
		return &raft.RequestVoteRequest{}
	case kindPreVote:
		return &raft.RequestPreVoteRequest{}
	case kindTimeoutNow:
		return &raft.TimeoutNowRequest{}
	case kindSnapshot:
		return &raft.InstallSnapshotRequest{}
	}
	return nil
}
