package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/parquet-go/parquet-go/encoding/thrift"
)

// unmarshal decodes a structure of a file. It checks lengths first, so that memory is allocated
// only for bytes that exist: the library allocates as many elements as a list claims to have, so
// one wrong byte could allocate gigabytes.
func unmarshal(b []byte, v any) error {
	s := scanner{b: b}
	if err := s.value(compactStruct, maxThriftDepth); err != nil {
		return err
	}
	return thrift.Unmarshal(new(thrift.CompactProtocol), b, v)
}

// maxThriftDepth is the maximum nesting of structures. Parquet needs about ten levels.
const maxThriftDepth = 32

// The types of the compact protocol.
const (
	compactTrue   = 1
	compactFalse  = 2
	compactByte   = 3
	compactI16    = 4
	compactI32    = 5
	compactI64    = 6
	compactDouble = 7
	compactBinary = 8
	compactList   = 9
	compactSet    = 10
	compactMap    = 11
	compactStruct = 12
)

// scanner skips values of the compact protocol without allocating memory.
type scanner struct{ b []byte }

var errThriftShort = errors.New("it ends in the middle of a value")

func (s *scanner) byte() (byte, error) {
	if len(s.b) == 0 {
		return 0, errThriftShort
	}
	c := s.b[0]
	s.b = s.b[1:]
	return c, nil
}

func (s *scanner) varint() (uint64, error) {
	v, n := binary.Uvarint(s.b)
	if n <= 0 {
		return 0, errThriftShort
	}
	s.b = s.b[n:]
	return v, nil
}

func (s *scanner) skip(n uint64) error {
	if n > uint64(len(s.b)) {
		return errThriftShort
	}
	s.b = s.b[n:]
	return nil
}

// value skips a value.
func (s *scanner) value(typ byte, depth int) error {
	if depth == 0 {
		return fmt.Errorf("structures are nested more than %d deep", maxThriftDepth)
	}
	switch typ {
	case compactTrue, compactFalse, compactByte: // an element of a list or a map; a boolean field has no byte
		return s.skip(1)
	case compactI16, compactI32, compactI64:
		_, err := s.varint()
		return err
	case compactDouble:
		return s.skip(8)
	case compactBinary:
		n, err := s.varint()
		if err != nil {
			return err
		}
		return s.skip(n)
	case compactList, compactSet:
		return s.list(depth)
	case compactMap:
		return s.pairs(depth)
	case compactStruct:
		return s.fields(depth)
	}
	return fmt.Errorf("a value of type %d", typ)
}

func (s *scanner) list(depth int) error {
	head, err := s.byte()
	if err != nil {
		return err
	}
	n := uint64(head >> 4)
	if n == 15 {
		if n, err = s.varint(); err != nil {
			return err
		}
	}
	if n > uint64(len(s.b)) { // each has at least one byte
		return fmt.Errorf("a list of %d values in %d bytes", n, len(s.b))
	}
	for range n {
		if err := s.value(head&15, depth-1); err != nil {
			return err
		}
	}
	return nil
}

func (s *scanner) pairs(depth int) error {
	n, err := s.varint()
	if err != nil || n == 0 {
		return err
	}
	head, err := s.byte()
	if err != nil {
		return err
	}
	if n > uint64(len(s.b)) {
		return fmt.Errorf("a map of %d values in %d bytes", n, len(s.b))
	}
	for range n {
		if err := s.value(head>>4, depth-1); err != nil {
			return err
		}
		if err := s.value(head&15, depth-1); err != nil {
			return err
		}
	}
	return nil
}

func (s *scanner) fields(depth int) error {
	for {
		head, err := s.byte()
		if err != nil || head == 0 {
			return err
		}
		if head>>4 == 0 { // the field's number follows
			if _, err := s.varint(); err != nil {
				return err
			}
		}
		if typ := head & 15; typ != compactTrue && typ != compactFalse {
			if err := s.value(typ, depth-1); err != nil {
				return err
			}
		}
	}
}
