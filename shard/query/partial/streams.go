package partial

import (
	"encoding/binary"
	"io"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"cordwood/proto/errs"
)

// If a node has several shards of a table that merges rows, it answers with one Arrow IPC stream for each, one after
// the other. Within a stream, rows are sorted and each group occurs once.

// errStream reports that bytes are not an Arrow IPC stream.
var errStream = errs.New(errs.Internal, "query: a node sent bytes that are not a stream of rows")

// CutStreams divides an answer into its streams.
func CutStreams(answer []byte) ([][]byte, error) {
	var out [][]byte
	for len(answer) > 0 {
		n, err := streamLength(answer)
		if err != nil {
			return nil, err
		}
		out = append(out, answer[:n:n])
		answer = answer[n:]
	}
	return out, nil
}

// streamLength returns the length of the first stream of an answer.
func streamLength(b []byte) (int, error) {
	for at := 0; ; {
		meta, body, err := nextMessage(b[at:])
		if err != nil {
			return 0, err
		}
		at += 8 + len(meta) + len(body)
		if len(meta) == 0 {
			return at, nil
		}
	}
}

// nextMessage returns the first message of a stream. The end of a stream is a message without bytes.
func nextMessage(b []byte) (meta, body []byte, err error) {
	if len(b) < 8 || binary.LittleEndian.Uint32(b) != 0xFFFFFFFF {
		return nil, nil, errStream
	}
	size := int64(binary.LittleEndian.Uint32(b[4:]))
	b = b[8:]
	if size == 0 {
		return nil, nil, nil
	}
	if size > int64(len(b)) {
		return nil, nil, errStream
	}
	meta, b = b[:size:size], b[size:]
	length, ok := bodyLength(meta)
	if !ok || length > int64(len(b)) {
		return nil, nil, errStream
	}
	return meta, b[:length:length], nil
}

// NewReader returns a reader of a stream. Its records refer to the bytes of the stream, which must not change.
func NewReader(stream []byte) (*ipc.Reader, error) {
	return ipc.NewReaderFromMessageReader(&messages{rest: stream})
}

// messages are the messages of a stream in memory. It copies none of them.
type messages struct{ rest []byte }

// Message returns the next message.
func (m *messages) Message() (*ipc.Message, error) {
	meta, body, err := nextMessage(m.rest)
	if err != nil {
		return nil, err
	}
	if len(meta) == 0 {
		return nil, io.EOF
	}
	m.rest = m.rest[8+len(meta)+len(body):]
	return ipc.NewMessage(memory.NewBufferBytes(meta), memory.NewBufferBytes(body)), nil
}

// Retain and Release do nothing, because the memory belongs to the garbage collector.
func (m *messages) Retain() {}

// Release does nothing; see Retain.
func (m *messages) Release() {}

// bodyLength returns the length of the body after a message: the fourth field of its FlatBuffers table.
func bodyLength(message []byte) (length int64, ok bool) {
	const field = 4 + 2*3 // position in the list of field offsets, after two lengths
	size := uint64(len(message))
	if size < 4 {
		return 0, false
	}
	table := uint64(binary.LittleEndian.Uint32(message))
	if table+4 > size {
		return 0, false
	}
	list := int64(table) - int64(int32(binary.LittleEndian.Uint32(message[table:])))
	if list < 0 || uint64(list)+2 > size {
		return 0, false
	}
	if fields := uint64(binary.LittleEndian.Uint16(message[list:])); fields < field+2 {
		return 0, true // a missing field means 0
	}
	if uint64(list)+field+2 > size {
		return 0, false
	}
	at := uint64(binary.LittleEndian.Uint16(message[list+field:]))
	if at == 0 {
		return 0, true
	}
	if table+at+8 > size {
		return 0, false
	}
	length = int64(binary.LittleEndian.Uint64(message[table+at:]))
	return length, length >= 0
}
