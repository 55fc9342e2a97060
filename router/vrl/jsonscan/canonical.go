package jsonscan

import (
	"bytes"
	"slices"
)

// Writer writes JSON values as canonical text: no white space, object keys in byte order, only the last of equal
// keys, strings with as few escapes as possible, integers digit by digit, and floats as AppendFloat writes them.
// The zero value is ready for use. It keeps buffers between calls.
type Writer struct {
	// Lone counts the lone surrogates in the last value that was written. Repeated counts the members that were left out
	// because a later member has the same key.
	Lone, Repeated int
	// Vanished counts the nonzero numbers in the last value that were written as 0.0 because they are too small for a
	// float.
	Vanished int

	members []member
	keys    []byte
	tmp     []byte
	text    Text
}

// member is a key of the current object, and the position of its value in the output.
type member struct {
	key     int // start of its decoded bytes, in the text or in Writer.keys
	klen    int
	escaped bool // whether they are in Writer.keys
	order   int
	from    int // position in the output of the quoted key, the colon and the value
	to      int
}

// AppendValue appends the value at pos of t, which must not be white space, and returns the position after it.
// depth is the number of containers around it. After an error, dst starts with the same bytes as before, but more
// may follow.
func (w *Writer) AppendValue(dst []byte, t Text, pos, depth int) ([]byte, int, error) {
	w.text = t
	w.members, w.keys = w.members[:0], w.keys[:0]
	w.Lone, w.Repeated, w.Vanished = 0, 0, 0
	return w.value(dst, pos, depth)
}

func (w *Writer) value(dst []byte, pos, depth int) ([]byte, int, error) {
	t := w.text
	switch t.src[pos] {
	case '"':
		return w.str(dst, pos)
	case '{':
		if depth >= MaxDepth {
			return dst, pos, TooDeep(pos)
		}
		return w.object(dst, pos, depth+1)
	case '[':
		if depth >= MaxDepth {
			return dst, pos, TooDeep(pos)
		}
		return w.array(dst, pos, depth+1)
	}
	next, err := t.Skip(pos, depth)
	if err != nil {
		return dst, next, err
	}
	if t.src[pos] == '-' || t.src[pos] <= '9' {
		if raw := t.src[pos:next]; bytes.ContainsAny(raw, ".eE") {
			_, _, _, f := t.Number(pos)
			if f == 0 && Underflows(raw) {
				w.Vanished++
			}
			return AppendFloat(dst, f), next, nil
		}
	}
	return append(dst, t.src[pos:next]...), next, nil
}

func (w *Writer) str(dst []byte, pos int) ([]byte, int, error) {
	t := w.text
	if end := StringEnd(t.src, pos+1); t.src[end] == '"' {
		return append(dst, t.src[pos:end+1]...), end + 1, nil
	}
	var next int
	var err error
	if w.tmp, next, err = t.AppendString(w.tmp[:0], pos+1); err != nil {
		return dst, next, err
	}
	w.Lone += t.LoneSurrogates(w.tmp, pos+1)
	return AppendQuotedBytes(dst, w.tmp), next, nil
}

func (w *Writer) array(dst []byte, pos, depth int) ([]byte, int, error) {
	t := w.text
	dst = append(dst, '[')
	pos = t.Space(pos + 1)
	if t.src[pos] == ']' {
		return append(dst, ']'), pos + 1, nil
	}
	for {
		var err error
		if dst, pos, err = w.value(dst, pos, depth); err != nil {
			return dst, pos, err
		}
		pos = t.Space(pos)
		switch t.src[pos] {
		case ',':
			dst = append(dst, ',')
			pos = t.Space(pos + 1)
		case ']':
			return append(dst, ']'), pos + 1, nil
		default:
			return dst, pos, t.Unexpected(pos, "',' or ']'")
		}
	}
}

func (w *Writer) object(dst []byte, pos, depth int) ([]byte, int, error) {
	t := w.text
	start, base, keys := len(dst), len(w.members), len(w.keys)
	dst = append(dst, '{')
	pos = t.Space(pos + 1)
	if t.src[pos] == '}' {
		return append(dst, '}'), pos + 1, nil
	}
	sorted := true
	for {
		if t.src[pos] != '"' {
			return dst, pos, t.Unexpected(pos, "a key in quotes")
		}
		if len(w.members) >= MaxKeys {
			return dst, pos, TooManyKeys(pos)
		}
		m := member{key: pos + 1, order: len(w.members), from: len(dst)}
		end := StringEnd(t.src, pos+1)
		if t.src[end] == '"' {
			m.klen = end - pos - 1
			dst = append(dst, t.src[pos:end+1]...)
			pos = end + 1
		} else {
			var err error
			m.escaped, m.key = true, len(w.keys)
			from := pos + 1
			if w.keys, pos, err = t.AppendString(w.keys, from); err != nil {
				return dst, pos, err
			}
			w.Lone += t.LoneSurrogates(w.keys[m.key:], from)
			m.klen = len(w.keys) - m.key
			dst = AppendQuotedBytes(dst, w.keys[m.key:])
		}
		var err error
		if pos, err = t.Colon(pos); err != nil {
			return dst, pos, err
		}
		if n := len(w.members); n > base && bytes.Compare(w.key(&w.members[n-1]), w.key(&m)) >= 0 {
			sorted = false
		}
		n := len(w.members)
		w.members = append(w.members, m)
		dst = append(dst, ':')
		if dst, pos, err = w.value(dst, pos, depth); err != nil {
			return dst, pos, err
		}
		w.members[n].to = len(dst)
		pos = t.Space(pos)
		switch t.src[pos] {
		case ',':
			dst = append(dst, ',')
			pos = t.Space(pos + 1)
			continue
		case '}':
		default:
			return dst, pos, t.Unexpected(pos, "',' or '}'")
		}
		if !sorted {
			dst = w.reorder(dst, start, w.members[base:])
		}
		w.members, w.keys = w.members[:base], w.keys[:keys]
		return append(dst, '}'), pos + 1, nil
	}
}

func (w *Writer) key(m *member) []byte {
	if m.escaped {
		return w.keys[m.key : m.key+m.klen]
	}
	return w.text.src[m.key : m.key+m.klen]
}

// reorder sorts the members of the object that begins at dst[start] by key.
func (w *Writer) reorder(dst []byte, start int, members []member) []byte {
	slices.SortFunc(members, func(a, b member) int {
		if c := bytes.Compare(w.key(&a), w.key(&b)); c != 0 {
			return c
		}
		return a.order - b.order
	})
	w.tmp = append(w.tmp[:0], dst[start:]...)
	dst = append(dst[:start], '{')
	for i := range members {
		m := &members[i]
		if i+1 < len(members) && bytes.Equal(w.key(m), w.key(&members[i+1])) {
			w.Repeated++
			continue
		}
		if len(dst) > start+1 {
			dst = append(dst, ',')
		}
		dst = append(dst, w.tmp[m.from-start:m.to-start]...)
	}
	return dst
}
