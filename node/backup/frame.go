package backup

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/proto"

	"cordwood/proto/backuppb"
	"cordwood/proto/strict"
)

// These constants of a framed file are part of the format. FORMAT.md has the diagram.
const (
	frameMagic   = "CWBK"
	frameVersion = 1
	frameHead    = 8
	sha256Size   = sha256.Size

	kindManifest = 1
	kindMetadata = 2
)

const (
	// maxManifest is the maximum size of a manifest in the repository, and maxMetadata of a metadata file. maxRecord
	// is the maximum size of one record in either file.
	maxManifest = 1 << 30
	maxMetadata = 1 << 30
	maxRecord   = 1 << 30
)

// frameWriter writes the records of a framed file: header, compressed records, checksum.
type frameWriter struct {
	out  io.Writer
	hash hash.Hash
	zstd *zstd.Encoder
	size int64
	buf  []byte
}

func newFrameWriter(out io.Writer, kind byte) (*frameWriter, error) {
	w := &frameWriter{out: out, hash: sha256.New()}
	head := append([]byte(frameMagic), 0, 0, kind, 0)
	binary.LittleEndian.PutUint16(head[4:], frameVersion)
	if _, err := w.raw(head); err != nil {
		return nil, err
	}
	var err error
	// Use one goroutine, so that the same records give the same bytes.
	w.zstd, err = zstd.NewWriter(writerFunc(w.raw), zstd.WithEncoderConcurrency(1))
	return w, err
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func (w *frameWriter) raw(p []byte) (int, error) {
	w.hash.Write(p)
	n, err := w.out.Write(p)
	w.size += int64(n)
	return n, err
}

func (w *frameWriter) record(m proto.Message) error {
	body, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		return err
	}
	w.buf = append(binary.AppendUvarint(w.buf[:0], uint64(len(body))), body...)
	_, err = w.zstd.Write(w.buf)
	return err
}

// close ends the file and returns its size and its SHA-256.
func (w *frameWriter) close() (int64, []byte, error) {
	if err := w.zstd.Close(); err != nil {
		return 0, nil, err
	}
	sum := w.hash.Sum(nil)
	if _, err := w.raw(sum); err != nil {
		return 0, nil, err
	}
	return w.size, w.hash.Sum(nil), nil
}

// encodeFrame returns a framed file of one record.
func encodeFrame(kind byte, m proto.Message) ([]byte, error) {
	var out bytes.Buffer
	w, err := newFrameWriter(&out, kind)
	if err != nil {
		return nil, err
	}
	if err := w.record(m); err != nil {
		return nil, err
	}
	if _, _, err := w.close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// readFrame checks a whole framed file and calls f with each record. f must not keep the record.
func readFrame(raw []byte, kind byte, f func(record []byte) error) error {
	body, err := frameBody(raw, kind)
	if err != nil {
		return err
	}
	z, err := zstd.NewReader(bytes.NewReader(body[frameHead:]), zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderMaxMemory(1<<30))
	if err != nil {
		return err
	}
	defer z.Close()
	in := newByteReader(z)
	var buf []byte
	for {
		n, err := binary.ReadUvarint(in)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("it is damaged: %w", err)
		}
		if n > maxRecord {
			return fmt.Errorf("it is damaged: a record of %d bytes", n)
		}
		if buf, err = readRecord(in, buf, int(n)); err != nil {
			return fmt.Errorf("it is damaged: %w", err)
		}
		if err := f(buf); err != nil {
			return err
		}
	}
}

// frameBody checks the header and the checksum of a framed file, and returns its content between
// them.
func frameBody(raw []byte, kind byte) ([]byte, error) {
	if len(raw) < frameHead+sha256Size || string(raw[:4]) != frameMagic {
		return nil, fmt.Errorf("it is damaged: %d bytes that start with %.4q", len(raw), raw[:min(len(raw), 4)])
	}
	if v := binary.LittleEndian.Uint16(raw[4:]); v > frameVersion {
		return nil, fmt.Errorf("format version %d, this program supports %d (or it is damaged): %w",
			v, frameVersion, ErrNewer)
	}
	body := raw[:len(raw)-sha256Size]
	if want, got := raw[len(body):], sha256.Sum256(body); !bytes.Equal(want, got[:]) {
		return nil, fmt.Errorf("it is damaged: SHA-256 is %s, want %s", hex.EncodeToString(got[:]), hex.EncodeToString(want))
	}
	if body[4] != frameVersion || body[5] != 0 || body[6] != kind || body[7] != 0 {
		return nil, fmt.Errorf("it is a file of another kind: %x", body[4:frameHead])
	}
	return body, nil
}

// readRecord reads n bytes. It grows buf only by the received bytes, since n may be wrong.
func readRecord(in io.Reader, buf []byte, n int) ([]byte, error) {
	buf = buf[:0]
	for len(buf) < n {
		step := min(n-len(buf), max(len(buf), 64<<10))
		buf = append(buf, make([]byte, step)...)
		if _, err := io.ReadFull(in, buf[len(buf)-step:]); err != nil {
			return nil, fmt.Errorf("a record is cut off: %w", err)
		}
	}
	return buf, nil
}

// unmarshal decodes a record. Unknown fields are an error, because they would be lost.
func unmarshal(b []byte, m proto.Message) error {
	if err := proto.Unmarshal(b, m); err != nil {
		return fmt.Errorf("it is damaged: %w", err)
	}
	if kind := strict.Unknown(m.ProtoReflect()); kind != nil {
		return fmt.Errorf("it has an unknown field of %s: %w", kind.Name(), ErrNewer)
	}
	return nil
}

// readMetadata calls f with each record of a metadata file.
func readMetadata(raw []byte, f func(*backuppb.Record) error) error {
	return readFrame(raw, kindMetadata, func(b []byte) error {
		rec := &backuppb.Record{}
		if err := unmarshal(b, rec); err != nil {
			return err
		}
		if rec.Of == nil {
			return fmt.Errorf("it has a record of an unknown kind: %w", ErrNewer)
		}
		return f(rec)
	})
}
