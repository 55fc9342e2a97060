package lines

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"cordwood/router/loki/translate"
)

// decoded returns the fields of a line by the decoder of encoding/json.
func decoded(line string) (fields []Field, ok bool) {
	if !strings.HasPrefix(strings.TrimLeft(line, " \t\r\n"), "{") || !json.Valid([]byte(line)) {
		return nil, false
	}
	d := json.NewDecoder(strings.NewReader(line))
	d.UseNumber()
	at := map[string]int{}
	add := func(path []string, text string) {
		name := translate.LabelName(strings.Join(path, "_"))
		if i, ok := at[name]; ok {
			if len(path) < len(fields[i].Path) {
				fields[i] = Field{name, path, text}
			}
		} else if len(fields) < maxFields && name != "" {
			at[name] = len(fields)
			fields = append(fields, Field{name, path, text})
		}
	}
	var value func(path []string)
	value = func(path []string) {
		t, _ := d.Token()
		switch v := t.(type) {
		case json.Delim:
			for d.More() {
				inner := path
				if v == '{' {
					key, _ := d.Token()
					inner = append(path[:len(path):len(path)], key.(string))
				}
				if v == '{' && len(path) < maxDepth {
					value(inner)
				} else {
					var skipped json.RawMessage
					_ = d.Decode(&skipped)
				}
			}
			_, _ = d.Token()
		case string:
			add(path, v)
		case json.Number:
			add(path, v.String())
		case bool:
			add(path, strconv.FormatBool(v))
		}
	}
	value(nil)
	return fields, true
}

// FuzzJSONFields compares the fields of a line with those that encoding/json finds.
func FuzzJSONFields(f *testing.F) {
	many := strings.Builder{}
	for i := range 1100 {
		many.WriteString(`"k` + strconv.Itoa(i) + `":` + strconv.Itoa(i) + `,`)
	}
	for _, line := range []string{
		`{}`, ` { "a" : 1 , "b":"x","c":true,"d":false,"e":null } `, `{"a":{"b":{"c":"d"}},"a_b":1,"a.b":2}`,
		`{"a":[1,{"b":"]"},"}"],"c":[]}`, `{"a":"x\"y\\","b":"\u00e9\n","\u0061":"z","c":"` + "\xff" + `"}`,
		`{"n":-1.5e3,"m":1e400,"z":0.1,"":"x","0a":1}`, `{"a":1,"a":2,"b":{"":{"":3}}}`, `[1]`, `{"a":`, ``, `{"a":1}{`,
		"{" + many.String() + `"last":{"k1":1}}`, strings.Repeat(`{"a":1,"b":`, 70) + "1" + strings.Repeat("}", 70),
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		got, ok := JSONFields(line)
		want, valid := decoded(line)
		if ok != valid || len(got) != len(want) || len(got) > 0 && !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %v %v, want %v %v", line, got, ok, want, valid)
		}
	})
}
