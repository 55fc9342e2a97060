package parse

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/value"
)

// cborReader reads items of CBOR (RFC 8949).
type cborReader struct {
	s     string
	depth int
}

var errCBOREnd = errors.New("the data ends inside an item")

// head reads the first byte of an item and its argument. indefinite reports whether a container or string continues
// until a break.
func (r *cborReader) head() (major byte, info byte, arg uint64, indefinite bool, err error) {
	if r.s == "" {
		return 0, 0, 0, false, errCBOREnd
	}
	major, info = r.s[0]>>5, r.s[0]&31
	r.s = r.s[1:]
	switch {
	case info < 24:
		return major, info, uint64(info), false, nil
	case info == 31:
		return major, info, 0, true, nil
	case info > 27:
		return 0, 0, 0, false, fmt.Errorf("reserved additional information %d", info)
	}
	n := 1 << (info - 24)
	if len(r.s) < n {
		return 0, 0, 0, false, errCBOREnd
	}
	var b [8]byte
	copy(b[8-n:], r.s)
	r.s = r.s[n:]
	return major, info, binary.BigEndian.Uint64(b[:]), false, nil
}

// broken reports whether the next item is a break, and skips it.
func (r *cborReader) broken() bool {
	if r.s != "" && r.s[0] == 0xff {
		r.s = r.s[1:]
		return true
	}
	return false
}

func (r *cborReader) item() (value.Value, error) {
	var none value.Value
	if r.depth++; r.depth > value.MaxJSONDepth {
		return none, fmt.Errorf("items are nested more than %d deep", value.MaxJSONDepth)
	}
	defer func() { r.depth-- }()
	major, info, arg, indefinite, err := r.head()
	if err != nil {
		return none, err
	}
	if indefinite && (major < 2 || major == 6) {
		return none, errors.New("an integer or tag without an end")
	}
	switch major {
	case 0:
		if arg > math.MaxInt64 {
			return value.NewFloat(float64(arg)), nil
		}
		return value.NewInt(int64(arg)), nil
	case 1:
		if arg > math.MaxInt64 {
			return value.NewFloat(-1 - float64(arg)), nil
		}
		return value.NewInt(-1 - int64(arg)), nil
	case 2, 3:
		s, err := r.text(major, arg, indefinite)
		return value.NewString(s), err
	case 4:
		return r.array(arg, indefinite)
	case 5:
		return r.mapping(arg, indefinite)
	case 6:
		return r.item() // the tag is ignored
	}
	return cborSimple(info, arg, indefinite)
}

// text reads a string, of bytes or of text.
func (r *cborReader) text(major byte, n uint64, indefinite bool) (string, error) {
	if !indefinite {
		if n > uint64(len(r.s)) {
			return "", errCBOREnd
		}
		s := r.s[:n]
		r.s = r.s[n:]
		return s, nil
	}
	var out []byte
	for !r.broken() {
		m, _, n, nested, err := r.head()
		if err != nil {
			return "", err
		}
		if m != major || nested || n > uint64(len(r.s)) {
			return "", errors.New("a piece of a string is not a string")
		}
		out = append(out, r.s[:n]...)
		r.s = r.s[n:]
	}
	return fn.Unsafe(out), nil
}

func (r *cborReader) array(n uint64, indefinite bool) (value.Value, error) {
	if n > uint64(len(r.s)) {
		return value.Value{}, errCBOREnd
	}
	list := make([]value.Value, 0, min(n, 64))
	for i := uint64(0); indefinite || i < n; i++ {
		if indefinite && r.broken() {
			break
		}
		v, err := r.item()
		if err != nil {
			return v, err
		}
		list = append(list, v)
	}
	return value.NewArray(list), nil
}

func (r *cborReader) mapping(n uint64, indefinite bool) (value.Value, error) {
	if n > uint64(len(r.s))/2 {
		return value.Value{}, errCBOREnd
	}
	o := newFields(int(min(n, 64)))
	for i := uint64(0); indefinite || i < n; i++ {
		if indefinite && r.broken() {
			break
		}
		key, err := r.item()
		if err != nil {
			return key, err
		}
		if !key.IsString() {
			return key, fmt.Errorf("a key is %s, not a string", key.Kind())
		}
		v, err := r.item()
		if err != nil {
			return v, err
		}
		o.add(key.Text(), v)
	}
	return o.value(), nil
}

// cborSimple returns a simple value or a float.
func cborSimple(info byte, arg uint64, indefinite bool) (value.Value, error) {
	switch {
	case indefinite:
		return value.Value{}, errors.New("a break outside of a container")
	case info == 20 || info == 21:
		return value.NewBool(info == 21), nil
	case info == 22 || info == 23:
		return value.Value{}, nil
	case info == 25:
		return value.NewFloat(halfFloat(uint16(arg))), nil
	case info == 26:
		return value.NewFloat(float64(math.Float32frombits(uint32(arg)))), nil
	case info == 27:
		return value.NewFloat(math.Float64frombits(arg)), nil
	}
	return value.Value{}, fmt.Errorf("unknown simple value %d", arg)
}

// halfFloat returns the value of a float of 16 bits.
func halfFloat(h uint16) float64 {
	exponent, fraction := int(h>>10&31), float64(h&1023)
	var x float64
	switch exponent {
	case 0:
		x = math.Ldexp(fraction, -24)
	case 31:
		if x = math.Inf(1); fraction != 0 {
			return math.NaN()
		}
	default:
		x = math.Ldexp(1024+fraction, exponent-25)
	}
	if h>>15 != 0 {
		return -x
	}
	return x
}

var parseCBOR = &fn.Function{
	Name:  "parse_cbor",
	Group: fn.Parse,
	Doc: "Parses an item of CBOR (RFC 8949). Byte strings become strings, tags are ignored, undefined becomes " +
		"null, and integers beyond 64 bits become floats. Data after the item is ignored.",
	Params:   []fn.Param{fn.ValueParam("The bytes of the item.")},
	Returns:  kind.JSON,
	Fallible: true,
	Errors:   []string{"the bytes are not CBOR", "a key is not a string", "items are nested more than 128 deep"},
	Examples: []fn.Example{
		{Title: "an object", Source: `parse_cbor!(decode_base16!("a16161182a"))`, Result: `{"a":42}`},
		{Title: "a truncated item", Source: `parse_cbor!(decode_base16!("a161"))`, Fails: `unable to parse cbor`},
	},
	Impl: fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) {
		// An element of one byte takes 24 in memory.
		if !f.Reserve(24*v.Len()) || !f.Spend(v.Len()/4) {
			return value.Value{}, false
		}
		r := cborReader{s: v.Str()}
		out, err := r.item()
		if err != nil {
			return f.FailErr("unable to parse cbor: ", err)
		}
		return out, true
	}},
}
