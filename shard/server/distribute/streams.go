package distribute

import (
	"encoding/binary"

	"cordwood/proto/errs"
)

// If a node has several shards of a table that merges rows, it answers with one Arrow IPC stream for each, one after
// the other. Within a stream, rows are sorted and each group occurs once.

// errStream reports that bytes are not an Arrow IPC stream.
var errStream = errs.New(errs.Internal, "query: a node sent bytes that are not a stream of rows")

// cutStreams divides an answer into its streams.
func cutStreams(answer []byte) ([][]byte, error) {
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
		if len(b)-at < 8 || binary.LittleEndian.Uint32(b[at:]) != 0xFFFFFFFF {
			return 0, errStream
		}
		size := int64(binary.LittleEndian.Uint32(b[at+4:]))
		at += 8
		if size == 0 {
			return at, nil
		}
		if size > int64(len(b)-at) {
			return 0, errStream
		}
		body, ok := bodyLength(b[at : at+int(size)])
		at += int(size)
		if !ok || body > int64(len(b)-at) {
			return 0, errStream
		}
		at += int(body)
	}
}

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
