package words

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestJSONFault checks that errors contain JSON types, and no types of Go.
func TestJSONFault(t *testing.T) {
	for in, want := range map[string]string{
		`{"table":"x"}`:             "table is a JSON string, and an object is needed",
		`{"table":{"name":1}}`:      "table.name is a JSON number, and a string is needed",
		`{"count":-1}`:              "count is a JSON number -1, and a whole number, not below 0 and not too large is needed",
		`{"sign":true}`:             "sign is a JSON bool, and a whole number, not too large is needed",
		`{"share":"x"}`:             "share is a JSON string, and a number is needed",
		`{"list":{}}`:               "list is a JSON object, and a list is needed",
		`{"yes":0}`:                 "yes is a JSON number, and true or false is needed",
		`{"map":[]}`:                "map is a JSON array, and an object is needed",
		`[]`:                        "it is a JSON array, and an object is needed",
		`{"table":}`:                "it is not valid JSON at byte 10: invalid character '}' looking for beginning of value",
		`{"table":`:                 "it is not complete",
		``:                          "it is not complete",
		`{"tabel":{"name":"here"}}`: `unknown field "tabel"`,
	} {
		var to struct {
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
