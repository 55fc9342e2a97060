package segment

import (
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go/format"

	"cordwood/shard/segment/parquet"
)

// Tail is what the end of a striped file says about it: the page indexes and the footer.
type Tail struct {
	*Units
	// Bare is a footer without bloom filters, page indexes and metadata. Behind the bytes of the file it makes a file for
	// the engine, which then reads nothing but column chunks, so only the chunks that it reads have to be there.
	Bare []byte
}

// ReadTail reads the tail of a striped file. b are the bytes of the file from offset to its end. They must have the
// whole footer. If they are damaged, it returns an *ErrCorrupt; name is the name of the file in errors.
func ReadTail(name string, b []byte, offset int64) (*Tail, error) {
	t, err := readTail(piece{b, offset}, offset+int64(len(b)))
	if err != nil {
		r := Reader{path: name}
		return nil, r.wrap(err)
	}
	return t, nil
}

// ReadFooter returns the footer of a striped file. b are the bytes of the file from offset to its end.
func ReadFooter(b []byte, offset int64) (*format.FileMetaData, error) {
	return parquet.ReadFooter(piece{b, offset}, offset+int64(len(b)))
}

func readTail(r io.ReaderAt, size int64) (*Tail, error) {
	u, err := readUnits(r, size)
	if err != nil {
		return nil, err
	}
	if u == nil {
		return nil, &parquet.ErrCorrupt{Part: "metadata " + KeyChecksums, Want: "checksums", Got: "none"}
	}
	md, err := parquet.ReadFooter(r, size)
	if err != nil {
		return nil, err
	}
	bare, err := parquet.BareFooter(md)
	return &Tail{Units: u, Bare: bare}, err
}

// piece is a part of a file that begins at an offset.
type piece struct {
	b      []byte
	offset int64
}

func (p piece) ReadAt(b []byte, off int64) (int, error) {
	if off < p.offset {
		return 0, fmt.Errorf("offset %d is before the tail, which begins at %d", off, p.offset)
	}
	if off-p.offset >= int64(len(p.b)) {
		return 0, io.EOF
	}
	n := copy(b, p.b[off-p.offset:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}
