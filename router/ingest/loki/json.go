package loki

import (
	"errors"
	"strconv"

	"cordwood/router/ingest/jsonwalk"
	"cordwood/router/vrl/jsonscan"
)

var errStreams = errors.New(`the body has no list "streams": ` +
	`expected {"streams":[{"stream":{"app":"web"},"values":[["1700000000000000000","a line"]]}]}`)

// maxLists limits the number of lists of values of one stream. Clients send one.
const maxLists = 1000

// readJSON reads the streams of a JSON body, like readProto. eachValue reads their values.
func readJSON(body []byte, each func(s *stream) error) error {
	s := stream{labels: pairs{withoutHidden: true}}
	found := false
	w := jsonwalk.New(body)
	err := w.Object(func(key []byte) error {
		if string(key) != "streams" {
			return w.Skip()
		}
		found = true
		return w.Array(func(int) error {
			s.labels.empty()
			s.labelText, s.values = nil, s.values[:0]
			if err := w.Expect('{', "a stream, which is an object"); err != nil {
				return err
			}
			err := w.Object(func(key []byte) error {
				switch {
				case string(key) == "stream" && w.Kind() == '{':
					from := w.Pos()
					err := readPairs(w, &s.labels)
					s.labelText = body[from:w.Pos()]
					return err
				case string(key) == "values" && w.Kind() == '[':
					raw, err := w.Raw()
					if s.values = append(s.values, raw); len(s.values) > maxLists {
						return errLists
					}
					return err
				}
				return w.Skip()
			})
			if err != nil {
				return err
			}
			return each(&s)
		})
	})
	if err == nil && !w.AtEnd() {
		err = errors.New("there is text after the JSON object")
	}
	if err == nil && !found {
		err = errStreams
	}
	return err
}

var errLists = errors.New(`a stream has "values" more than 1,000 times: send one list`)

// readPairs reads an object of strings. Other values are taken as JSON text.
func readPairs(w *jsonwalk.Walker, to *pairs) error {
	return w.Object(func(key []byte) error {
		if to.n >= maxPairs {
			to.n++
			return w.Skip()
		}
		p := pair{name: append([]byte(nil), key...)}
		var err error
		if w.Kind() != '"' {
			p.value, err = w.Raw()
		} else {
			var inPlace bool
			if p.value, inPlace, err = w.String(); !inPlace {
				p.value = append([]byte(nil), p.value...)
			}
		}
		to.add(p)
		return err
	})
}

var errEntry = errors.New(
	`an entry is not a list such as ["1700000000000000000","a line"], with the time in nanoseconds`)

// eachValue reads the entries in a stream's values, which must be valid JSON. If a value is not an entry, it calls
// bad with its text.
func eachValue(values []byte, w *jsonwalk.Walker, e *entry, each func() error, bad func(text []byte) error) error {
	w.Reset(values)
	return w.Array(func(int) error {
		from := w.Pos()
		good, err := e.readJSON(w)
		if err != nil {
			return err
		}
		if !good {
			return bad(values[from:w.Pos()])
		}
		e.raw = values[from:w.Pos()]
		return each()
	})
}

// readJSON reads an entry. good is false if the value is not an entry.
func (e *entry) readJSON(w *jsonwalk.Walker) (good bool, err error) {
	if w.Kind() != '[' {
		return false, w.Skip()
	}
	e.line, e.outOfRange = nil, false
	e.metadata.empty()
	good = true
	n, inPlace := 0, true
	err = w.Array(func(i int) error {
		n++
		kind := w.Kind()
		switch {
		case i == 0 && kind == '"':
			text, _, err := w.String()
			if err == nil {
				good = e.parseTime(text)
			}
			return err
		case i == 0 && kind == '0':
			number, v, _, _, err := w.Number()
			e.nanos = v
			good = number == jsonscan.Int
			e.outOfRange = number == jsonscan.Uint || number == jsonscan.Inexact
			good = good || e.outOfRange
			return err
		case i == 1 && kind == '"':
			var err error
			e.line, inPlace, err = w.String()
			return err
		case i == 2 && kind == '{':
			if !inPlace { // the metadata contains strings too
				e.line = append([]byte(nil), e.line...)
			}
			return readPairs(w, &e.metadata)
		}
		good = good && i >= 2
		return w.Skip()
	})
	return good && n >= 2, err
}

// parseTime parses a time in nanoseconds, and reports whether it is valid.
func (e *entry) parseTime(text []byte) bool {
	v, err := strconv.ParseInt(string(text), 10, 64)
	e.nanos = v
	if err != nil {
		e.outOfRange = errors.Is(err, strconv.ErrRange)
		return e.outOfRange
	}
	return true
}
