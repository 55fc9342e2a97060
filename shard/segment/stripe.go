package segment

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"cordwood/proto/schema"
	"cordwood/shard/segment/parquet"
	"cordwood/shard/vfs"
)

// Stripe writes a segment file anew, in the layout of object storage: the chunks of a column in up to 24 row groups lie
// side by side, so that one request reads them, and every part has a checksum. m describes the file at from, which
// Stripe checks as a whole. The result describes the new file; all else in it is the same as in m.
//
// When it returns nil, the file is on disk under its final name. The caller must call SyncDir for the directory to make
// the name durable. After an error it removes its file as far as possible. Shared files are possible, raw ones not.
func Stripe(fsys vfs.FS, from string, m *Meta, to string) (Meta, error) {
	return StripeWith(fsys, from, m, to, Extra{})
}

// Extra is what a file gets for other engines. It must be zero for a shared file.
type Extra struct {
	// Hidden has the ids of columns of which the hidden forms are added (HiddenColumn). They follow the other columns in
	// the file and in its description. One is left out if the file does not have the column, or has a value that cannot be
	// converted.
	Hidden []uint32
	// Describe, if not nil, returns a key and a value for the metadata of a file with the given columns.
	Describe func([]Column) (key, value string, err error)
	// PlainIntegers leaves out the logical type of integers with up to 32 bits that an INT32 shows as they are: other
	// engines may need that to read them as wider integers.
	PlainIntegers bool
}

// StripeWith is like Stripe, and adds what other engines need.
func StripeWith(fsys vfs.FS, from string, m *Meta, to string, extra Extra) (Meta, error) {
	if m.Raw {
		return Meta{}, fmt.Errorf("stripe segment %s: it is not a Parquet file", from)
	}
	if err := check(fsys, from, m, true); err != nil {
		return Meta{}, err
	}
	in, err := fsys.Open(from)
	if err != nil {
		return Meta{}, fmt.Errorf("stripe segment %s: %w", from, err)
	}
	defer in.Close()
	hidden, err := hide(fsys, in, m, to, extra.Hidden)
	if err != nil {
		return Meta{}, fmt.Errorf("hidden columns of segment %s: %w", from, err)
	}
	defer func() { _ = hidden.close() }() // the next start removes what is left
	temp := TempName(to)
	f, err := fsys.Create(temp)
	if err != nil {
		return Meta{}, fmt.Errorf("stripe segment %s: %w", from, err)
	}
	out, err := stripe(f, in, *m, hidden, extra)
	if err = errors.Join(err, f.Close()); err == nil {
		err = fsys.Rename(temp, to)
	}
	if err != nil {
		return Meta{}, fmt.Errorf("stripe segment %s: %w", from, errors.Join(err, fsys.Remove(temp)))
	}
	return out, nil
}

// stripe writes and syncs the new file.
func stripe(f vfs.File, in io.ReaderAt, m Meta, hidden *hiddenFile, extra Extra) (Meta, error) {
	out := &checksummer{f: f}
	var more *parquet.File
	if hidden != nil {
		more = &parquet.File{R: hidden.f, Size: hidden.size}
		m.Columns = append(slices.Clip(m.Columns), hidden.columns...)
	}
	whole := parquet.File{R: in, Size: m.Bytes}
	err := parquet.Stripe(out, whole, more, func(s []format.SchemaElement, sums parquet.Sums) ([]format.KeyValue, error) {
		if extra.PlainIntegers {
			plainIntegers(s, m.Columns)
		}
		value, err := encodeSums(&sums)
		list := []format.KeyValue{{Key: KeyChecksums, Value: value}}
		if err == nil && extra.Describe != nil {
			var kv format.KeyValue
			kv.Key, kv.Value, err = extra.Describe(m.Columns)
			list = append(list, kv)
		}
		return list, err
	})
	if err != nil {
		return m, err
	}
	m.Bytes, m.FileCRC = out.n, out.crc
	if m.FooterCRC, err = footerCRC(f, m.Bytes); err != nil {
		return m, fmt.Errorf("read back the footer: %w", err)
	}
	return m, f.Sync()
}

// plainIntegers removes the logical types of integers with up to 32 bits from the schema of a file, except UInt32,
// whose larger values would become negative.
func plainIntegers(s []format.SchemaElement, columns []Column) {
	for i := range columns {
		switch columns[i].Type {
		case schema.Int8, schema.Int16, schema.Int32, schema.Uint8, schema.Uint16:
			e := &s[1+i]
			e.LogicalType, e.ConvertedType = format.LogicalType{}, thrift.Null[deprecated.ConvertedType]{}
		}
	}
}
