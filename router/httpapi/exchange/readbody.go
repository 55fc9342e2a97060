package exchange

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"

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
	return nil
}
