package worker

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"reflect"
	"sync"

	"cordwood/proto/column"
	"cordwood/proto/schema"
)

// A codec writes and reads values of one type. It is derived from the type by reflection, so that no field can be
// forgotten. Every exported field is sent, in the order of declaration. newCodec refuses a type with unexported
// fields.
type codec struct {
	put  func(*encoder, reflect.Value)
	take func(*decoder, reflect.Value) // faults go to decoder.fail
}

var (
	batchType = reflect.TypeFor[*column.Batch]()
	// restored are types whose unexported fields can be computed from the others.
	restored = map[reflect.Type]func(reflect.Value){
		reflect.TypeFor[schema.Table](): func(v reflect.Value) { v.Addr().Interface().(*schema.Table).Index() },
	}
)

var codecs struct {
	sync.RWMutex
	byType map[reflect.Type]*codec
}

// codecOf returns the codec of a type. It panics if values of the type cannot be sent.
func codecOf(t reflect.Type) *codec {
	codecs.RLock()
	c := codecs.byType[t]
	codecs.RUnlock()
	if c != nil {
		return c
	}
	codecs.Lock()
	defer codecs.Unlock()
	if codecs.byType == nil {
		codecs.byType = map[reflect.Type]*codec{}
	}
	return newCodec(t)
}

// newCodec creates the codec of t and the codecs that it needs. codecs must be locked.
func newCodec(t reflect.Type) *codec {
	if c := codecs.byType[t]; c != nil {
		return c
	}
	c := &codec{}
	codecs.byType[t] = c // set before its fields are visited, which may refer to t
	if t == batchType {
		c.put, c.take = putBatch, takeBatch
		return c
	}
	switch t.Kind() {
	case reflect.Bool:
		c.put = func(e *encoder, v reflect.Value) {
			b := byte(0)
			if v.Bool() {
				b = 1
			}
			e.buf = append(e.buf, b)
		}
		c.take = func(d *decoder, v reflect.Value) { v.SetBool(d.number() == 1) }
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		c.put = func(e *encoder, v reflect.Value) { e.buf = binary.AppendVarint(e.buf, v.Int()) }
		c.take = func(d *decoder, v reflect.Value) {
			u := d.number()
			v.SetInt(int64(u>>1) ^ -int64(u&1))
		}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		c.put = func(e *encoder, v reflect.Value) { e.buf = binary.AppendUvarint(e.buf, v.Uint()) }
		c.take = func(d *decoder, v reflect.Value) { v.SetUint(d.number()) }
	case reflect.Float32, reflect.Float64:
		c.put = func(e *encoder, v reflect.Value) {
			e.buf = binary.LittleEndian.AppendUint64(e.buf, math.Float64bits(v.Float()))
		}
		c.take = func(d *decoder, v reflect.Value) {
			if b := d.bytes(8); b != "" {
				v.SetFloat(math.Float64frombits(binary.LittleEndian.Uint64([]byte(b))))
			}
		}
	case reflect.String:
		c.put = func(e *encoder, v reflect.Value) { e.text(v.String()) }
		c.take = func(d *decoder, v reflect.Value) { v.SetString(d.bytes(d.number())) }
	case reflect.Pointer:
		c.pointer(t)
	case reflect.Slice:
		c.slice(t)
	case reflect.Map:
		c.mapping(t)
	case reflect.Struct:
		c.structure(t)
	default:
		panic(fmt.Sprintf("worker: a value of type %s cannot be sent to another process", t))
	}
	return c
}

func (c *codec) pointer(t reflect.Type) {
	elem := newCodec(t.Elem())
	c.put = func(e *encoder, v reflect.Value) {
		if v.IsNil() {
			e.buf = append(e.buf, 0)
			return
		}
		e.buf = append(e.buf, 1)
		elem.put(e, v.Elem())
	}
	c.take = func(d *decoder, v reflect.Value) {
		if d.number() == 1 {
			v.Set(reflect.New(t.Elem()))
			elem.take(d, v.Elem())
		}
	}
}

// The mark before a slice or map: nil, or sliceOf plus the number of elements. sameAsLast means
// that the slice equals the previous slice of this type in the message, if its elements are flat.
// It is useful because most segments of a table have the same columns.
const (
	sliceNil   = 0
	sameAsLast = 1
	sliceOf    = 2
)

func (c *codec) slice(t reflect.Type) {
	if t.Elem().Kind() == reflect.Uint8 {
		c.bytes()
		return
	}
	elem := newCodec(t.Elem())
	repeats := flat(t.Elem())
	c.put = func(e *encoder, v reflect.Value) {
		if v.IsNil() {
			e.buf = append(e.buf, sliceNil)
			return
		}
		last, seen := e.last[t]
		if seen && last.data == v.Pointer() && last.length == v.Len() {
			e.buf = append(e.buf, sameAsLast)
			return
		}
		begin := len(e.buf)
		e.buf = binary.AppendUvarint(e.buf, uint64(v.Len())+sliceOf)
		for i := range v.Len() {
			elem.put(e, v.Index(i))
		}
		if seen && v.Len() > 0 && string(e.buf[begin:]) == string(e.buf[last.from:last.to]) {
			e.buf = append(e.buf[:begin], sameAsLast)
			return
		}
		if !repeats {
			return
		}
		e.last[t] = lastSlice{data: v.Pointer(), length: v.Len(), from: begin, to: len(e.buf)}
	}
	c.take = func(d *decoder, v reflect.Value) {
		switch n := d.number(); {
		case n == sameAsLast:
			if last, ok := d.last[t]; ok {
				v.Set(last)
			} else {
				d.fail("a repeated %s without one before", t)
			}
		case n >= sliceOf:
			n -= sliceOf
			if n > uint64(len(d.src)) && t.Elem().Size() > 0 {
				d.fail("%d elements of %s in %d bytes", n, t, len(d.src))
				return
			}
			s := reflect.MakeSlice(t, int(n), int(n))
			for i := range int(n) {
				elem.take(d, s.Index(i))
			}
			v.Set(s)
			if repeats {
				d.last[t] = s
			}
		}
	}
}

// bytes sets the functions for a slice of bytes.
func (c *codec) bytes() {
	c.put = func(e *encoder, v reflect.Value) {
		if v.IsNil() {
			e.buf = append(e.buf, sliceNil)
			return
		}
		e.buf = binary.AppendUvarint(e.buf, uint64(v.Len())+sliceOf)
		e.buf = append(e.buf, v.Bytes()...)
	}
	c.take = func(d *decoder, v reflect.Value) {
		if n := d.number(); n >= sliceOf {
			v.SetBytes([]byte(d.bytes(n - sliceOf)))
		}
	}
}

// flat reports whether values of t contain no references except texts.
func flat(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return false
	case reflect.Struct:
		for i := range t.NumField() {
			if !flat(t.Field(i).Type) {
				return false
			}
		}
	}
	return true
}

func (c *codec) mapping(t reflect.Type) {
	key, elem := newCodec(t.Key()), newCodec(t.Elem())
	c.put = func(e *encoder, v reflect.Value) {
		if v.IsNil() {
			e.buf = append(e.buf, sliceNil)
			return
		}
		e.buf = binary.AppendUvarint(e.buf, uint64(v.Len())+sliceOf)
		for it := v.MapRange(); it.Next(); {
			key.put(e, it.Key())
			elem.put(e, it.Value())
		}
	}
	c.take = func(d *decoder, v reflect.Value) {
		n := d.number()
		if n < sliceOf {
			return
		}
		m := reflect.MakeMap(t)
		for range n - sliceOf {
			k, x := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
			key.take(d, k)
			elem.take(d, x)
			if d.err != nil {
				return
			}
			m.SetMapIndex(k, x)
		}
		v.Set(m)
	}
}

func (c *codec) structure(t reflect.Type) {
	restore := restored[t]
	type field struct {
		index int
		*codec
	}
	var fields []field
	for i := range t.NumField() {
		f := t.Field(i)
		switch {
		case f.IsExported():
			fields = append(fields, field{i, newCodec(f.Type)})
		case restore == nil:
			panic(fmt.Sprintf("worker: %s cannot be sent to another process: its field %s is not exported", t, f.Name))
		}
	}
	c.put = func(e *encoder, v reflect.Value) {
		for _, f := range fields {
			f.put(e, v.Field(f.index))
		}
	}
	c.take = func(d *decoder, v reflect.Value) {
		for _, f := range fields {
			f.take(d, v.Field(f.index))
		}
		if restore != nil && d.err == nil {
			restore(v)
		}
	}
}

// fingerprint returns a hash of how values of the given types are encoded: of the names and types
// of all their fields.
func fingerprint(types ...reflect.Type) uint64 {
	h := fnv.New64a()
	seen := map[reflect.Type]bool{}
	var walk func(t reflect.Type)
	walk = func(t reflect.Type) {
		fmt.Fprintf(h, "%s %s;", t, t.Kind())
		if seen[t] {
			return
		}
		seen[t] = true
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice:
			walk(t.Elem())
		case reflect.Map:
			walk(t.Key())
			walk(t.Elem())
		case reflect.Struct:
			for i := range t.NumField() {
				f := t.Field(i)
				fmt.Fprintf(h, "%s ", f.Name)
				walk(f.Type)
			}
		}
	}
	for _, t := range types {
		walk(t)
	}
	return h.Sum64()
}
