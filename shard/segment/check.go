package segment

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"path/filepath"

	"cordwood/shard/segment/parquet"
	"cordwood/shard/vfs"
)

const parquetMagic = "PAR1"

// ErrCorrupt is the error for a damaged file. It is returned as a *ErrCorrupt.
type ErrCorrupt struct {
	File string
	// Part is the damaged part: the size, the footer, the checksum of the whole file, a page.
	Part string
	// Offset is where the part begins, or 0 for the whole file.
	Offset    int64
	Want, Got string
}

// corruptFile returns the error for a damaged file at path.
func corruptFile(path string, d *parquet.ErrCorrupt) error {
	return &ErrCorrupt{File: path, Part: d.Part, Offset: d.Offset, Want: d.Want, Got: d.Got}
}

func (e *ErrCorrupt) Error() string {
	part := e.Part
	if e.Offset > 0 {
		part += fmt.Sprintf(" at offset %d", e.Offset)
	}
	return fmt.Sprintf("segment %s is damaged: its %s should be %s but is %s; restore the file from a replica or a "+
		"backup",
		e.File, part, e.Want, e.Got)
}

// Check compares a segment's file with the size and the footer checksum that were recorded when it
// was written. If whole is set, it also reads the file and compares the checksum of the whole file.
// For a missing file the error matches fs.ErrNotExist.
func Check(fsys vfs.FS, dir string, m *Meta, whole bool) error {
	return check(fsys, filepath.Join(dir, m.FileName()), m, whole)
}

func check(fsys vfs.FS, path string, m *Meta, whole bool) error {
	size, err := fsys.Stat(path)
	if err != nil {
		return fmt.Errorf("segment %s of table %d, %d rows: %w", path, m.TableID, m.Rows, err)
	}
	if size != m.Bytes {
		return &ErrCorrupt{File: path, Part: "size", Want: fmt.Sprint(m.Bytes), Got: fmt.Sprint(size)}
	}
	f, err := fsys.Open(path)
	if err != nil {
		return fmt.Errorf("segment %s: %w", path, err)
	}
	defer f.Close()
	crc, err := footerCRC(f, size)
	if err != nil {
		return fmt.Errorf("segment %s: footer: %w", path, err)
	}
	if crc != m.FooterCRC {
		return &ErrCorrupt{
			File: path,
			Part: "footer checksum",
			Want: fmt.Sprintf("%08x", m.FooterCRC),
			Got:  fmt.Sprintf("%08x", crc),
		}
	}
	if !whole {
		return nil
	}
	h := crc32.New(castagnoli)
	if _, err := io.Copy(h, io.NewSectionReader(f, 0, size)); err != nil {
		return fmt.Errorf("segment %s: read: %w", path, err)
	}
	if crc := h.Sum32(); crc != m.FileCRC {
		return &ErrCorrupt{File: path, Part: "checksum", Want: fmt.Sprintf("%08x", m.FileCRC), Got: fmt.Sprintf("%08x", crc)}
	}
	return nil
}

// footerCRC returns the checksum of the Parquet footer, its length and the magic after it. If the
// footer is missing, it is the checksum of what is in its place.
func footerCRC(f io.ReaderAt, size int64) (uint32, error) {
	tail := make([]byte, min(8, size))
	if err := readFull(f, tail, size-int64(len(tail))); err != nil {
		return 0, err
	}
	length := int64(len(tail))
	if len(tail) == 8 && string(tail[4:]) == parquetMagic {
		if n := int64(binary.LittleEndian.Uint32(tail)) + 8; n <= size {
			length = n
		}
	}
	footer := make([]byte, length)
	if err := readFull(f, footer, size-length); err != nil {
		return 0, err
	}
	return crc32.Checksum(footer, castagnoli), nil
}

func readFull(f io.ReaderAt, b []byte, off int64) error {
	n, err := f.ReadAt(b, off)
	if n == len(b) {
		return nil
	}
	return err
}
