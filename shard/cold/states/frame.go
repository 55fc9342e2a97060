package states

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/klauspost/compress/zstd"

	"cordwood/shard/cold/bucket"
)

// These constants are part of the format of a state.
const (
	magic   = "CWRS"
	version = 1
	headLen = 12

	kindShard    = 1
	kindMetadata = 2
	kindLog      = 3
)

const (
	// maxHeader is the maximum length of an encoded header, and maxBody of a state.
	maxHeader = 64 << 10
	maxBody   = 1 << 30
)

// Header describes a state.
type Header struct {
	Cluster string `json:"cluster"`
	// Shard is the id of the shard, or 0 for the metadata. Incarnation is that of the shard.
	Shard       uint32 `json:"shard,omitempty"`
	Incarnation uint32 `json:"incarnation,omitempty"`
	// Index and Term are those of the last entry in the state.
	Index uint64 `json:"index"`
	Term  uint64 `json:"term"`
	// Written is the clock of the node that stored the state.
	Written time.Time `json:"written"`
	// Bytes is the length of the state before it was compressed.
	Bytes int64 `json:"bytes"`
	// LogFrom, if it is not 0, says that the log of the shard is shipped: all rows that are not in the state are in
	// entries of the log from this index on, except those of the tables LogWithout.
	LogFrom    uint64   `json:"log_from,omitempty"`
	LogWithout []uint64 `json:"log_without,omitempty"`
}

// group names the group for messages.
func (h *Header) group() string {
	if h.Shard == 0 {
		return "the metadata"
	}
	return fmt.Sprintf("shard %d", h.Shard)
}

// Encode returns the file of a state.
func Encode(h *Header, body []byte) ([]byte, error) {
	head := *h
	head.Bytes = int64(len(body))
	text, err := json.Marshal(&head)
	if err != nil {
		return nil, err
	}
	if len(text) > maxHeader || len(body) > maxBody {
		return nil, fmt.Errorf("the state of %s has a header of %d bytes and %d bytes, at most %d and %d are stored",
			h.group(), len(text), len(body), maxHeader, maxBody)
	}
	kind := byte(kindShard)
	if h.Shard == 0 {
		kind = kindMetadata
	}
	b := beginFrame(kind, text, len(body)/4)
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	b = z.EncodeAll(body, b)
	if err := z.Close(); err != nil {
		return nil, err
	}
	return endFrame(b), nil
}

// beginFrame returns the beginning of a file of a kind, up to its header. It has room for a body of about the given
// length, which the caller appends.
func beginFrame(kind byte, head []byte, room int) []byte {
	b := append(make([]byte, 0, headLen+len(head)+room+sha256.Size), magic...)
	b = binary.LittleEndian.AppendUint16(b, version)
	b = append(b, kind, 0)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(head)))
	return append(b, head...)
}

// endFrame appends the checksum of a file.
func endFrame(b []byte) []byte {
	sum := sha256.Sum256(b)
	return append(b, sum[:]...)
}

// Decode checks the file of a state. name is its source, for errors.
func Decode(name string, b []byte) (h Header, body []byte, err error) {
	f, err := decodeFrame(name, b)
	if err != nil {
		return h, nil, err
	}
	if err := json.Unmarshal(f.head, &h); err != nil {
		return Header{}, nil, damaged(name, "its header: %w", err)
	}
	if (f.kind == kindMetadata) != (h.Shard == 0) || f.kind != kindShard && f.kind != kindMetadata {
		return Header{}, nil, damaged(name, "it is of kind %d and has the state of %s", f.kind, h.group())
	}
	body, err = f.inflate(name, h.Bytes)
	return h, body, err
}

func damaged(name, format string, args ...any) error {
	return fmt.Errorf("%s is damaged: "+format, append([]any{name}, args...)...)
}

// frame is a file whose checksum is right. The body of a state is compressed.
type frame struct {
	kind       byte
	head, body []byte
}

func decodeFrame(name string, b []byte) (f frame, err error) {
	if len(b) < headLen+sha256.Size || string(b[:4]) != magic {
		return f, damaged(name, "it does not begin with the header of a state")
	}
	if v := binary.LittleEndian.Uint16(b[4:]); v != version {
		return f, fmt.Errorf("%s was written by a newer version of this program: its format version is %d, this one "+
			"knows %d; run the version that wrote it or a newer one", name, v, version)
	}
	content, sum := b[:len(b)-sha256.Size], b[len(b)-sha256.Size:]
	if got := sha256.Sum256(content); !bytes.Equal(got[:], sum) {
		return f, damaged(name, "its SHA-256 is %x, want %x", got[:8], sum[:8])
	}
	n := binary.LittleEndian.Uint32(b[8:])
	if n > maxHeader || int(n) > len(content)-headLen {
		return f, damaged(name, "its header has %d bytes", n)
	}
	return frame{kind: b[6], head: content[headLen : headLen+int(n)], body: content[headLen+int(n):]}, nil
}

// inflate returns the body, which has the given length.
func (f *frame) inflate(name string, length int64) ([]byte, error) {
	if length < 0 || length > maxBody {
		return nil, damaged(name, "the state has %d bytes", length)
	}
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(uint64(length)+1<<20))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	body, err := z.DecodeAll(f.body, nil)
	if err != nil {
		return nil, damaged(name, "%w", err)
	}
	if int64(len(body)) != length {
		return nil, damaged(name, "the state has %d bytes, want %d", len(body), length)
	}
	return body, nil
}

// content is what is put for some bytes.
func content(b []byte) bucket.Content {
	return bucket.Content{
		Body: bytes.NewReader(b), Size: int64(len(b)), CRC: crc32.Checksum(b, bucket.Castagnoli), Checked: true,
	}
}
