package lines

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"cordwood/router/loki/translate"
)

// walk reads the fields of an object in a text that is valid JSON.
type walk struct {
	text   string
	at     int
	fields []Field
	// places has the place of each name in fields, if there are many.
	places map[string]int
}

// next returns the byte after spaces, without reading it.
func (w *walk) next() byte {
	for {
		switch c := w.text[w.at]; c {
		case ' ', '\t', '\n', '\r':
			w.at++
		default:
			return c
		}
	}
}

// object reads the members of an object.
func (w *walk) object(path []string) {
	w.at++ // the opening bracket
	for w.next() != '}' {
		if w.text[w.at] == ',' {
			w.at++
			w.next()
		}
		inner := append(path[:len(path):len(path)], w.string())
		w.next()
		w.at++ // the colon
		switch w.next() {
		case '{':
			if len(inner) < maxDepth {
				w.object(inner)
			} else {
				w.skip()
			}
		case '[':
			w.skip()
		case '"':
			w.add(inner, w.string())
		case 't':
			w.at += len("true")
			w.add(inner, strconv.FormatBool(true))
		case 'f':
			w.at += len("false")
			w.add(inner, strconv.FormatBool(false))
		case 'n':
			w.at += len("null")
		default:
			n := 0
			for strings.IndexByte(" \t\r\n,}", w.text[w.at+n]) < 0 {
				n++
			}
			w.at += n
			w.add(inner, w.text[w.at-n:w.at])
		}
	}
	w.at++
}

// string reads a string.
func (w *walk) string() string {
	n := quotedLength(w.text[w.at:])
	quoted := w.text[w.at : w.at+n]
	w.at += n
	plain := quoted[1 : n-1]
	if strings.IndexByte(plain, '\\') < 0 && utf8.ValidString(plain) {
		return plain
	}
	_ = json.Unmarshal([]byte(quoted), &plain) // it is valid
	return plain
}

// skip reads an object or array.
func (w *walk) skip() {
	for depth := 0; ; {
		switch w.text[w.at] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"':
			w.at += quotedLength(w.text[w.at:]) - 1
		}
		if w.at++; depth == 0 {
			return
		}
	}
}

// manyFields is the number of fields from which on places is used.
const manyFields = 16

// place returns the place of a name in fields, or -1.
func (w *walk) place(name string) int {
	if w.places != nil {
		if at, ok := w.places[name]; ok {
			return at
		}
		return -1
	}
	for i := range w.fields {
		if w.fields[i].Name == name {
			return i
		}
	}
	return -1
}

func (w *walk) add(path []string, text string) {
	name := path[0]
	if len(path) > 1 {
		name = strings.Join(path, "_")
	}
	if name = translate.LabelName(name); name == "" {
		return
	}
	if at := w.place(name); at >= 0 {
		if len(path) < len(w.fields[at].Path) {
			w.fields[at] = Field{name, path, text}
		}
		return
	}
	if len(w.fields) >= maxFields {
		return
	}
	w.fields = append(w.fields, Field{name, path, text})
	switch {
	case w.places != nil:
		w.places[name] = len(w.fields) - 1
	case len(w.fields) == manyFields:
		w.places = map[string]int{}
		for i := range w.fields {
			w.places[w.fields[i].Name] = i
		}
	}
}
