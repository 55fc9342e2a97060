package value

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
)

// arrayLiteral returns the list literal for an array.
func arrayLiteral(t *Type, f Format, b []byte) (string, error) {
	cast := orVarchar(t.elem.cast) + "[]"
	if b == nil {
		return "CAST(NULL AS " + cast + ")", nil
	}
	read := readArrayBinary
	if f == FormatText {
		if err := checkText(b); err != nil {
			return "", err
		}
		read = readArrayText
	}
	body, depth, err := read(t, b)
	if err != nil {
		return "", err
	}
	switch {
	case t.elem.kind == kindNumeric:
		if cast, err = decimalsOf(body); err != nil {
			return "", err
		}
	case t.elem.kind == kindMoment && strings.Contains(body, "TIMESTAMP '"):
		cast = "TIMESTAMP[]" // an element is beyond the range of nanoseconds, or infinite
	}
	return "CAST(" + body + " AS " + cast + strings.Repeat("[]", max(depth-1, 0)) + ")", nil
}

// readArrayText parses an array such as {1,NULL,"a,b"}, which may be nested, into list literals.
func readArrayText(t *Type, b []byte) (body string, depth int, err error) {
	s := strings.TrimSpace(string(b))
	if t.kind == kindVector {
		s = "{" + strings.Join(strings.Fields(s), ",") + "}"
	}
	r := &arrayReader{text: s, elem: t.elem}
	r.list(1)
	if r.err == nil && r.at != len(s) {
		r.fail()
	}
	return r.out.String(), r.depth, r.err
}

// Texts returns the elements of an array of texts such as {a,"b c"}, which has one dimension and no nulls.
func Texts(s string) (list []string, ok bool) {
	list = []string{}
	r := &arrayReader{text: strings.TrimSpace(s), elem: Text, each: func(text string) { list = append(list, text) }}
	r.list(1)
	return list, r.err == nil && r.at == len(r.text) && r.depth == 1 && len(list) == r.n
}

// arrayReader parses the text of an array.
type arrayReader struct {
	text  string
	at    int
	elem  *Type
	out   strings.Builder
	depth int
	n     int
	err   error
	// leaf is the depth of the elements, or 0 before the first one.
	leaf int
	// sizes are the lengths of the lists that have ended, by their depth.
	sizes [maxDimensions + 1]int
	// each is called with the text of each element that is not null, if it is set.
	each func(text string)
}

func (r *arrayReader) fail() {
	if r.err == nil {
		r.err = &Error{"22P02", "malformed array literal: " + strconv.Quote(excerpt(r.text))}
	}
}

func (r *arrayReader) peek() byte {
	for r.at < len(r.text) && (r.text[r.at] == ' ' || r.text[r.at] == '\t' || r.text[r.at] == '\n') {
		r.at++
	}
	if r.at >= len(r.text) {
		return 0
	}
	return r.text[r.at]
}

// maxDimensions is the maximum number of dimensions of an array.
const maxDimensions = 6

func tooManyDimensions(n int) error {
	return &Error{
		"54000", fmt.Sprintf("number of array dimensions (%d) exceeds the maximum allowed (%d)", n, maxDimensions),
	}
}

func (r *arrayReader) list(depth int) {
	if r.peek() != '{' {
		r.fail()
		return
	}
	if depth > maxDimensions {
		r.err = tooManyDimensions(depth + len(r.text[r.at:]) - len(strings.TrimLeft(r.text[r.at:], "{ ")) - 1)
		return
	}
	r.at++
	r.depth = max(r.depth, depth)
	r.out.WriteByte('[')
	for n := 1; r.err == nil; n++ {
		switch r.peek() {
		case '}':
			if n > 1 || depth > 1 {
				r.fail()
			}
			r.at++
			r.out.WriteByte(']')
			return
		case '{':
			r.list(depth + 1)
		case 0:
			r.fail()
			return
		default:
			if r.leaf == 0 {
				r.leaf = depth
			}
			if r.element(); r.leaf != depth {
				r.fail() // an element beside a list
			}
		}
		switch r.peek() {
		case ',':
			r.at++
			r.out.WriteByte(',')
		case '}':
			r.at++
			r.out.WriteByte(']')
			r.end(depth, n)
			return
		default:
			r.fail()
		}
	}
}

// end checks that the lists of a depth have the same length.
func (r *arrayReader) end(depth, n int) {
	if r.sizes[depth] != 0 && r.sizes[depth] != n {
		r.fail()
	}
	r.sizes[depth] = n
}

// element parses one element, which may be quoted.
func (r *arrayReader) element() {
	if r.n++; r.n > maxElements {
		r.err = &Error{"54000", fmt.Sprintf("an array has at most %d elements", maxElements)}
		return
	}
	var s strings.Builder
	quoted := r.text[r.at] == '"'
	if quoted {
		r.at++
	}
	for ; r.at < len(r.text); r.at++ {
		b := r.text[r.at]
		switch {
		case b == '\\' && r.at+1 < len(r.text):
			r.at++
			s.WriteByte(r.text[r.at])
			continue
		case quoted && b == '"':
			r.at++
			r.literal(s.String())
			return
		case !quoted && (b == ',' || b == '}'):
			if text := strings.TrimSpace(s.String()); strings.EqualFold(text, "NULL") {
				r.out.WriteString("NULL")
			} else {
				r.literal(text)
			}
			return
		}
		s.WriteByte(b)
	}
	r.fail()
}

func (r *arrayReader) literal(s string) {
	text, err := textLiteral(r.elem, s)
	if err != nil {
		r.err = err
		return
	}
	r.out.WriteString(text)
	if r.each != nil {
		r.each(s)
	}
}

// readArrayBinary decodes the binary format of an array into list literals.
func readArrayBinary(t *Type, b []byte) (body string, depth int, err error) {
	bad := badBinary(t.Name)
	if len(b) < 12 {
		return "", 0, bad
	}
	dimensions := binary.BigEndian.Uint32(b)
	elem := binary.BigEndian.Uint32(b[8:])
	if dimensions > maxDimensions {
		return "", 0, tooManyDimensions(int(dimensions))
	}
	if elem != t.elem.OID && !bothText(elem, t.elem) {
		return "", 0, bad
	}
	b = b[12:]
	sizes, all := make([]int, dimensions), 1
	for i := range sizes {
		if len(b) < 8 {
			return "", 0, bad
		}
		n := binary.BigEndian.Uint32(b)
		if n > maxElements || all*int(n) > maxElements {
			return "", 0, &Error{"54000", fmt.Sprintf("an array has at most %d elements", maxElements)}
		}
		sizes[i], all, b = int(n), all*int(n), b[8:]
	}
	if dimensions == 0 {
		return "[]", 1, nil
	}
	var out strings.Builder
	b, err = binaryElements(&out, t, sizes, b)
	if err == nil && len(b) > 0 {
		err = bad
	}
	return out.String(), int(dimensions), err
}

// bothText reports whether a client's type and t are both texts, so that a value of one can be decoded as the other.
func bothText(oid uint32, t *Type) bool {
	other := ByOID(oid)
	return other != nil && other.kind == kindText && t.kind == kindText
}

func binaryElements(out *strings.Builder, t *Type, sizes []int, b []byte) ([]byte, error) {
	out.WriteByte('[')
	for i := range sizes[0] {
		if i > 0 {
			out.WriteByte(',')
		}
		var err error
		if len(sizes) > 1 {
			if b, err = binaryElements(out, t, sizes[1:], b); err != nil {
				return nil, err
			}
			continue
		}
		if len(b) < 4 {
			return nil, badBinary(t.Name)
		}
		n := int32(binary.BigEndian.Uint32(b))
		b = b[4:]
		if n == -1 {
			out.WriteString("NULL")
			continue
		}
		if n < 0 || int(n) > len(b) {
			return nil, badBinary(t.Name)
		}
		literal, err := binaryLiteral(t.elem, b[:n:n])
		if err != nil {
			return nil, err
		}
		out.WriteString(literal)
		b = b[n:]
	}
	out.WriteByte(']')
	return b, nil
}
