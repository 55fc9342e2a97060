package jsonwalk

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"cordwood/router/vrl/jsonscan"
)

// decode reads the value at the position and returns what encoding/json would.
func decode(w *Walker) (any, error) {
	switch w.Kind() {
	case '{':
		m := map[string]any{}
		err := w.Object(func(key []byte) error {
			k := string(key)
			v, err := decode(w)
			m[k] = v
			return err
		})
		return m, err
	case '[':
		a := []any{}
		err := w.Array(func(i int) error {
			v, err := decode(w)
			if i != len(a) {
				return errors.New("elements are numbered wrong")
			}
			a = append(a, v)
			return err
		})
		return a, err
	case '"':
		s, _, err := w.String()
		return string(s), err
	case '0':
		kind, i, f, _, err := w.Number()
		switch kind {
		case jsonscan.Int:
			f = float64(i)
		case jsonscan.Uint:
			f = float64(uint64(i))
		}
		return f, err
	case 'n':
		if w.Null() {
			return nil, nil
		}
	}
	raw, err := w.Raw()
	return string(raw) == "true", err
}

func walk(text string) (any, error) {
	w := New([]byte(text))
	v, err := decode(w)
	if err == nil && !w.AtEnd() {
		err = errors.New("something follows")
	}
	return v, err
}

var documents = []string{
	`{}`, `[]`, ` { "a" : [ 1 , -2.5e3 , "x\ny" , null , true , false ] , "b\u0041" : { "c" : {} } } `,
	`{"a":1,"a":2}`, `"\ud83d\ude00"`, `18446744073709551615`, `nul`, `{"a"}`, `{"a":}`, `[1,]`, `[1 2]`, `{,}`,
	`{"a":1,}`, `{"a":1`, `[`, ``,
	`01`, `tru`, `"`, `{"a":"`, `[[[[[]]]]]`, `{"a":1} x`, `{a:1}`,
}

func TestWalk(t *testing.T) {
	for _, text := range documents {
		check(t, text)
	}
}

// check compares the Walker with encoding/json.
func check(t *testing.T, text string) {
	t.Helper()
	var want any
	wantErr := json.Unmarshal([]byte(text), &want)
	got, err := walk(text)
	if (err == nil) != (wantErr == nil) {
		t.Errorf("%.100q: error %v, encoding/json: %v", text, err, wantErr)
	} else if err == nil && !reflect.DeepEqual(got, want) {
		t.Errorf("%.100q: got %v, encoding/json: %v", text, got, want)
	}
}

func TestDepth(t *testing.T) {
	if _, err := walk(strings.Repeat("[", jsonscan.MaxDepth) + strings.Repeat("]", jsonscan.MaxDepth)); err != nil {
		t.Error(err)
	}
	scan := (*jsonscan.Error)(nil)
	if _, err := walk(strings.Repeat("[", jsonscan.MaxDepth+1)); !errors.As(err, &scan) || !scan.TooLarge() {
		t.Errorf("too deep: %v", err)
	}
}

func TestExpect(t *testing.T) {
	w := New([]byte(`{"a":1}`))
	if err := w.Expect('[', "a list"); err == nil || !strings.Contains(err.Error(), "a list") {
		t.Errorf("error %v", err)
	}
	if err := w.Expect('{', "an object"); err != nil {
		t.Error(err)
	}
}

func FuzzWalk(f *testing.F) {
	for _, text := range documents {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.ToValidUTF8(text, "") != text || strings.Count(text, "[")+strings.Count(text, "{") > 100 ||
			strings.Contains(text, `\u`) {
			return // other readers intentionally differ here
		}
		var v any
		if json.Unmarshal([]byte(text), &v) != nil && strings.ContainsAny(text, "eE") {
			return // numbers beyond the range of float64
		}
		check(t, text)
	})
}

// TestValues checks that values are read one after another and from arrays, and that malformed text outside of arrays
// is reported by line.
func TestValues(t *testing.T) {
	for body, want := range map[string]string{
		``:                                   ``,
		` `:                                  ``,
		`{"a":1}`:                            `{"a":1}`,
		`{"a":1} {"b":2}` + "\n[3,4]\r\n[]5": `{"a":1}|{"b":2}|3|4|5`,
		"{\n\"a\":\n1}\n2":                   "{\n\"a\":\n1}|2",
		"1\n{\"a\":\nhello\n\n 2 3 \r\n[4]":  `1|bad:{"a":|bad:hello|2|3|[4]`,
		"x":                                  `bad:x`,
		"[1,2":                               `1|2|error`,
		"[1,]":                               `1|error`,
	} {
		var got []string
		err := Values([]byte(body), func(w *Walker) error {
			raw, err := w.Raw()
			if err == nil {
				got = append(got, string(raw))
			}
			return err
		}, func(line []byte, err error) error {
			if err == nil {
				t.Errorf("%s: no reason", line)
			}
			got = append(got, "bad:"+string(line))
			return nil
		})
		if err != nil {
			got = append(got, "error")
		}
		if have := strings.Join(got, "|"); have != want {
			t.Errorf("%q: %s, want %s", body, have, want)
		}
	}
	stop := errors.New("stop")
	for _, body := range []string{"1", "x", "x\n1"} {
		end := func([]byte, error) error { return stop }
		if body == "x\n1" {
			end = func([]byte, error) error { return nil }
		}
		err := Values([]byte(body), func(w *Walker) error {
			if err := w.Skip(); err != nil {
				return err
			}
			return stop
		}, end)
		if !errors.Is(err, stop) {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// TestValuesNested checks that the rest of a text is not read repeatedly after malformed lines with unclosed brackets.
func TestValuesNested(t *testing.T) {
	body := []byte(strings.Repeat("[[\n", 100) + strings.Repeat("{\"a\":\n", 100_000))
	reads := 0
	err := Values(body, func(w *Walker) error { reads++; return w.Skip() }, func([]byte, error) error { return nil })
	if err == nil || reads > 1 {
		t.Errorf("%d reads, %v", reads, err)
	}
	body = []byte(strings.Repeat("{\"a\":\n", 100_000))
	err = Values(body, func(w *Walker) error { reads++; return w.Skip() }, func([]byte, error) error { return nil })
	if err != nil || reads > 100_002 {
		t.Errorf("%d reads, %v", reads, err)
	}
}
