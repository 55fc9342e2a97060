package exchange

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"cordwood/proto/errs"
)

func TestReadBody(t *testing.T) {
	for body, want := range map[string]string{
		`{"a":1}`:               "",
		"{\"a\":1} \n":          "",
		`{"a":1} {"a":2}`:       "there is text after its end",
		`{"b":1}`:               "unknown field",
		`{"a":`:                 "cannot be read",
		`{"a":1,"a":2}`:         `the member "a" twice`,
		`{"a":1,"A":2}`:         `the member "A" twice`,
		strings.Repeat(" ", 65): "more than 64 bytes",
	} {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
		text, err := ReadBody(httptest.NewRecorder(), r, 64, "request")
		if err == nil {
			err = DecodeJSON(text, &struct {
				A int `json:"a"`
			}{})
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(errs.From(err).ClientMessage(), want)) {
			t.Errorf("%q: %v, want %q", body, err, want)
		}
	}
}
