package exchange

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"cordwood/proto/errs"
	"cordwood/proto/words"
)

// ReadBody reads the body of a small request. what describes the body in errors. A body of more than limit bytes is
// refused with status 413.
func ReadBody(w http.ResponseWriter, r *http.Request, limit int64, what string) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return nil, errs.New(errs.InvalidArguments, "the %s has more than %d bytes", what, limit).
			WithStatus(http.StatusRequestEntityTooLarge)
	}
	if err != nil {
		return nil, errs.Wrap(errs.InvalidArguments, err, "read the %s", what)
	}
	return body, nil
}

// DecodeJSON decodes a body that must be one JSON value. Unknown fields, and text after the value, are errors.
func DecodeJSON(body []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return errs.New(errs.InvalidArguments, "the request cannot be read: %.200s", words.JSONFault(err))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errs.New(errs.InvalidArguments, "the request cannot be read: there is text after its end")
	}
	return checkMembers(body)
}

// checkMembers returns an error if an object has a member twice, because only the last one would count. The case of
// names does not matter, as in Decode. body is valid JSON.
func checkMembers(body []byte) error {
	type level struct {
		members map[string]bool // nil in an array
		value   bool            // whether the next token is the value of a member
	}
	var open []level
	d := json.NewDecoder(bytes.NewReader(body))
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return errs.Wrap(errs.InvalidArguments, err, "the request cannot be read")
		}
		if n := len(open); n > 0 && open[n-1].members != nil {
			top := &open[n-1]
			if name, ok := tok.(string); ok && !top.value {
				folded := strings.ToLower(strings.ToUpper(name)) // as Decode, also for letters such as ſ
				if top.members[folded] {
					return errs.New(errs.InvalidArguments, "the request cannot be read: it has the member %.80q twice", name)
				}
				top.members[folded], top.value = true, true
				continue
			}
			top.value = false
		}
		switch tok {
		case json.Delim('{'):
			open = append(open, level{members: map[string]bool{}})
		case json.Delim('['):
			open = append(open, level{})
		case json.Delim('}'), json.Delim(']'):
			open = open[:len(open)-1]
		}
	}
}
