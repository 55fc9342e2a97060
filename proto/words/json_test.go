package words

import (
	"encoding/json"
	"strings"
	"testing"
)

// Embedded is a part of a request that is also a part of others.
type Embedded struct {
	Inner string `json:"inner"`
}

// TestJSONFault checks that errors contain JSON types, and no types of Go.
func TestJSONFault(t *testing.T) {
	for in, want := range map[string]string{
		`{"table":"x"}`:             "table must be an object, but it is a JSON string",
		`{"table":{"name":1}}`:      "table.name must be a string, but it is a JSON number",
		`{"count":-1}`:              "count must be a whole number from 0 on, not too large, but it is a JSON number -1",
		`{"sign":true}`:             "sign must be a whole number, not too large, but it is a JSON bool",
		`{"share":"x"}`:             "share must be a number, but it is a JSON string",
		`{"list":{}}`:               "list must be a list, but it is a JSON object",
		`{"yes":0}`:                 "yes must be true or false, but it is a JSON number",
		`{"map":[]}`:                "map must be an object, but it is a JSON array",
		`{"inner":[]}`:              "inner must be a string, but it is a JSON array",
		`[]`:                        "it must be an object, but it is a JSON array",
		`{"table":}`:                "it is not valid JSON at byte 10: invalid character '}' looking for beginning of value",
		`{"table":`:                 "it is not complete",
		``:                          "it is not complete",
		`{"tabel":{"name":"here"}}`: `unknown field "tabel"`,
	} {
		var to struct {
			Embedded
			Table *struct {
				Name string `json:"name"`
			} `json:"table"`
			Count *uint64           `json:"count"`
			Sign  int               `json:"sign"`
			Share float64           `json:"share"`
			List  []string          `json:"list"`
			Yes   bool              `json:"yes"`
			Map   map[string]string `json:"map"`
		}
		d := json.NewDecoder(strings.NewReader(in))
		d.DisallowUnknownFields()
		err := d.Decode(&to)
		if err == nil {
			t.Errorf("%s: no error", in)
		} else if got := JSONFault(err); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
