package segment

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/parquet-go/parquet-go"

	parts "cordwood/shard/segment/parquet"
	"cordwood/shard/vfs"
)

// Inspect prints a segment file as text: its schema, its row groups with each
// column's encodings, sizes and bounds, and its key-value metadata.
func Inspect(w io.Writer, fsys vfs.FS, path string) error {
	size, err := fsys.Stat(path)
	if err != nil {
		return fmt.Errorf("inspect segment: %w", err)
	}
	f, err := fsys.Open(path)
	if err != nil {
		return fmt.Errorf("inspect segment: %w", err)
	}
	defer f.Close()
	pf, err := parquet.OpenFile(f, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return fmt.Errorf("inspect segment %s: %w", path, err)
	}
	p := &printer{w: w}
	md := pf.Metadata()
	p.line("segment %s: %d bytes, %d rows, %d columns, %d row groups, written by %s", filepath.Base(path), size,
		md.NumRows, len(pf.Schema().Columns()), len(md.RowGroups), md.CreatedBy)
	for _, kv := range md.KeyValueMetadata {
		switch kv.Key {
		case KeyFulltext:
			p.line("%s: %d bytes of token filters", kv.Key, len(kv.Value))
		case KeyChecksums:
			if err := p.checksums(f, size); err != nil {
				return fmt.Errorf("inspect segment %s: %w", path, err)
			}
		default:
			p.line("%s: %s", kv.Key, kv.Value)
		}
	}
	fields := pf.Schema().Fields()
	for _, c := range fields {
		p.line("column %d %q: %s %s", c.ID(), c.Name(), presence(c), c.Type())
	}
	for i := range md.RowGroups {
		g := &md.RowGroups[i]
		p.line("row group %d: %d rows, %d bytes, %d uncompressed", i, g.NumRows, g.TotalCompressedSize, g.TotalByteSize)
		for j := range g.Columns {
			c := &g.Columns[j].MetaData
			kind := fields[j].Type().Kind()
			bloom := ""
			if c.BloomFilterLength > 0 {
				bloom = fmt.Sprintf(", bloom filter %d bytes", c.BloomFilterLength)
			}
			p.line("  %q: %v %s, %d values, %d nulls, %d bytes, %d uncompressed, min %s, max %s%s",
				fields[j].Name(), c.Encoding, c.Codec, c.NumValues, c.Statistics.NullCount, c.TotalCompressedSize,
				c.TotalUncompressedSize,
				bound(kind, c.Statistics.MinValue), bound(kind, c.Statistics.MaxValue), bloom)
		}
	}
	return p.err
}

// checksums prints the layout of a striped file, and whether its parts match their checksums.
func (p *printer) checksums(f io.ReaderAt, size int64) error {
	u, err := readUnits(f, size)
	if err != nil {
		return err
	}
	filters := 0
	for i := range u.List {
		if u.List[i].Kind == FilterUnit {
			filters++
		}
	}
	state := "all match"
	if err := u.Verify(f); err != nil {
		if damage := (*parts.ErrCorrupt)(nil); !errors.As(err, &damage) {
			return err
		}
		state = "DAMAGED: " + err.Error()
	}
	p.line("%s: of %d column chunks, %d bloom filters and the page indexes; %s", KeyChecksums, len(u.List)-1-filters,
		filters, state)
	p.line("striped: stripes begin with the row groups %v; the page indexes and the footer begin at offset %d", u.Stripes,
		u.TailOffset)
	return nil
}

func presence(n parquet.Node) string {
	if n.Optional() {
		return "optional"
	}
	return "required"
}

func bound(kind parquet.Kind, b []byte) string {
	if b == nil {
		return "none"
	}
	if kind == parquet.ByteArray {
		return fmt.Sprintf("%q", b)
	}
	return kind.Value(b).String()
}

type printer struct {
	w   io.Writer
	err error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}
