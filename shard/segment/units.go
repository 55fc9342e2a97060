package segment

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go/format"

	"cordwood/shard/segment/parquet"
	"cordwood/shard/vfs"
)

// KeyChecksums is the key of the checksums of a striped file in the Parquet key-value metadata. It is part of the
// format.
const KeyChecksums = "cordwood.checksums"

// checksumsVersion is the version of the value of KeyChecksums. It is part of the format.
const checksumsVersion = 1

// checksumsJSON is the value of KeyChecksums.
type checksumsJSON struct {
	Version int   `json:"version"`
	Stripes []int `json:"stripes"`
	// Chunks and Filters are CRC-32C checksums, 4 bytes each, little-endian, by row group and column.
	Chunks  []byte    `json:"chunks"`
	Filters []byte    `json:"filters"`
	Index   indexJSON `json:"index"`
}

// indexJSON is the position and the checksum of the page indexes.
type indexJSON struct {
	Offset int64  `json:"offset"`
	CRC    uint32 `json:"crc"`
}

func encodeSums(s *parquet.Sums) (string, error) {
	c := checksumsJSON{Version: checksumsVersion, Stripes: s.Stripes, Index: indexJSON{s.IndexOffset, s.Index}}
	for g := range s.Chunks {
		for i := range s.Chunks[g] {
			c.Chunks = binary.LittleEndian.AppendUint32(c.Chunks, s.Chunks[g][i])
			c.Filters = binary.LittleEndian.AppendUint32(c.Filters, s.Filters[g][i])
		}
	}
	b, err := json.Marshal(c)
	if err != nil {
		return "", fmt.Errorf("encode the checksums as JSON: %w", err)
	}
	return string(b), nil
}

// UnitKind is a kind of parts of a striped file.
type UnitKind uint8

// The kinds of units.
const (
	// ChunkUnit is a column chunk: the pages of a column in a row group.
	ChunkUnit UnitKind = iota
	// FilterUnit is a bloom filter of a column in a row group, with its header.
	FilterUnit
	// IndexUnit is the page indexes of all columns.
	IndexUnit
)

// Unit is a part of a striped file that is read and checked as a whole.
type Unit struct {
	Kind UnitKind
	// Group is the row group, and Field the field id of the column, of a chunk or a filter.
	Group          int
	Field          uint32
	Offset, Length int64
	CRC            uint32
}

// name returns the name of the unit in errors.
func (u *Unit) name() string {
	switch u.Kind {
	case IndexUnit:
		return "page indexes"
	case FilterUnit:
		return fmt.Sprintf("bloom filter of field %d in row group %d", u.Field, u.Group)
	}
	return fmt.Sprintf("field %d in row group %d", u.Field, u.Group)
}

// Units are the parts of a striped file in the order of the file. Only the magic number before them and the footer
// after them have no checksum here.
type Units struct {
	List []Unit
	// Stripes has the first row group of each stripe. A stripe begins with its first column.
	Stripes []int
	// TailOffset is where the page indexes begin, which the footer follows.
	TailOffset int64
}

// ReadUnits reads the units of a striped file. For another segment file it returns nil. If the file is damaged, it
// returns an *ErrCorrupt.
func ReadUnits(fsys vfs.FS, path string) (*Units, error) {
	size, err := fsys.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read the units of segment %s: %w", path, err)
	}
	f, err := fsys.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the units of segment %s: %w", path, err)
	}
	defer f.Close()
	u, err := readUnits(f, size)
	if err != nil {
		r := Reader{path: path}
		return nil, r.wrap(err)
	}
	return u, nil
}

func readUnits(r io.ReaderAt, size int64) (*Units, error) {
	md, err := parquet.ReadFooter(r, size)
	if err != nil {
		return nil, err
	}
	footer := make([]byte, 4)
	if _, err := r.ReadAt(footer, size-8); err != nil {
		return nil, err
	}
	footerAt := size - 8 - int64(binary.LittleEndian.Uint32(footer))
	for i := range md.KeyValueMetadata {
		if kv := &md.KeyValueMetadata[i]; kv.Key == KeyChecksums {
			return parseUnits(md, kv.Value, footerAt)
		}
	}
	return nil, nil
}

// wrongSums returns the error for checksums that do not fit the file.
func wrongSums(want, got string, args ...any) error {
	return &parquet.ErrCorrupt{Part: "metadata " + KeyChecksums, Want: want, Got: fmt.Sprintf(got, args...)}
}

// parseUnits returns the units of a file with a footer at an offset.
func parseUnits(md *format.FileMetaData, value string, footerAt int64) (*Units, error) {
	var c checksumsJSON
	if err := json.Unmarshal([]byte(value), &c); err != nil {
		return nil, wrongSums("checksums as JSON", "%v", err)
	}
	if c.Version != checksumsVersion {
		return nil, wrongSums(fmt.Sprintf("version %d", checksumsVersion), "version %d, of a newer program", c.Version)
	}
	groups, columns := len(md.RowGroups), len(md.Schema)-1
	if n := 4 * groups * columns; len(c.Chunks) != n || len(c.Filters) != n {
		return nil, wrongSums(fmt.Sprintf("%d bytes of checksums of chunks and of filters", n), "%d and %d", len(c.Chunks),
			len(c.Filters))
	}
	for i, first := range c.Stripes {
		if first >= groups || i == 0 && first != 0 || i > 0 && first <= c.Stripes[i-1] {
			return nil, wrongSums("stripes that begin with ascending row groups", "%v of %d", c.Stripes, groups)
		}
	}
	u := &Units{Stripes: c.Stripes, TailOffset: c.Index.Offset}
	for g := range md.RowGroups {
		if n := len(md.RowGroups[g].Columns); n != columns {
			return nil, wrongSums(fmt.Sprintf("%d columns in row group %d", columns, g), "%d", n)
		}
		at := 4 * g * columns
		u.addGroup(md, g, c.Chunks[at:], c.Filters[at:])
	}
	u.List = append(u.List, Unit{
		Kind: IndexUnit, Offset: c.Index.Offset, Length: footerAt - c.Index.Offset, CRC: c.Index.CRC,
	})
	if err := u.order(footerAt); err != nil {
		return nil, err
	}
	return u, nil
}

// addGroup adds the chunks and the filters of a row group, with checksums of 4 bytes by column.
func (u *Units) addGroup(md *format.FileMetaData, g int, chunks, filters []byte) {
	for i := range md.RowGroups[g].Columns {
		m := &md.RowGroups[g].Columns[i].MetaData
		unit := Unit{
			Kind: ChunkUnit, Group: g, Field: uint32(md.Schema[1+i].FieldID), Offset: parquet.ChunkStart(m),
			Length: m.TotalCompressedSize, CRC: binary.LittleEndian.Uint32(chunks[4*i:]),
		}
		u.List = append(u.List, unit)
		if m.BloomFilterOffset > 0 {
			unit.Kind, unit.Offset, unit.Length = FilterUnit, m.BloomFilterOffset, int64(m.BloomFilterLength)
			unit.CRC = binary.LittleEndian.Uint32(filters[4*i:])
			u.List = append(u.List, unit)
		}
	}
}

// order sorts the units by offset. It returns an error if they leave a gap or overlap, so that no byte before the
// footer is without a checksum.
func (u *Units) order(footerAt int64) error {
	slices.SortStableFunc(u.List, func(a, b Unit) int {
		return cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Length, b.Length))
	})
	at := int64(len(parquetMagic))
	for i := range u.List {
		unit := &u.List[i]
		if unit.Offset != at || unit.Length < 0 || unit.Length > footerAt-at {
			return wrongSums(fmt.Sprintf("a unit at offset %d that ends before %d", at, footerAt),
				"%s at offset %d, of %d bytes", unit.name(), unit.Offset, unit.Length)
		}
		at += unit.Length
	}
	return nil
}

// Verify compares a part of a file with the checksum of its unit. b are the bytes of the unit.
func (u *Unit) Verify(b []byte) error {
	if crc := crc32.Checksum(b, castagnoli); int64(len(b)) != u.Length || crc != u.CRC {
		return u.differs(crc)
	}
	return nil
}

func (u *Unit) differs(crc uint32) error {
	return &parquet.ErrCorrupt{
		Offset: u.Offset, Part: "checksum of " + u.name(), Want: fmt.Sprintf("%08x", u.CRC), Got: fmt.Sprintf("%08x", crc),
	}
}

// Verify reads a striped file, and compares all of it but the footer.
func (u *Units) Verify(r io.ReaderAt) error {
	head := make([]byte, len(parquetMagic))
	if err := readFull(r, head, 0); err != nil {
		return err
	}
	if string(head) != parquetMagic {
		return &parquet.ErrCorrupt{Part: "magic", Want: parquetMagic, Got: fmt.Sprintf("%q", head)}
	}
	for i := range u.List {
		h := crc32.New(castagnoli)
		n, err := io.Copy(h, io.NewSectionReader(r, u.List[i].Offset, u.List[i].Length))
		if err != nil {
			return err
		}
		if n != u.List[i].Length || h.Sum32() != u.List[i].CRC {
			return u.List[i].differs(h.Sum32())
		}
	}
	return nil
}
