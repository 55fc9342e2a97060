package gelf

import (
	"bytes"

	"cordwood/proto/errs"
	"cordwood/router/ingest/jsonwalk"
)

// framing finds the messages in a stream. Each ends with a NUL.
type framing struct {
	max     int
	tooLong func()
	// skip is set if the current message is too long and is being skipped.
	skip bool
	// seen is the number of bytes of an incomplete message that have been searched for a NUL.
	seen int
}

// Next implements sockreceiver.Splitter.
func (f *framing) Next(data []byte, whole bool) (n int, message []byte) {
	end := bytes.IndexByte(data[f.seen:], 0)
	if end >= 0 {
		end += f.seen
	}
	switch {
	case f.skip && end < 0:
		return len(data), nil
	case f.skip:
		f.skip = false
		return end + 1, nil
	case end >= 0:
		f.seen = 0
		if end > f.max {
			f.tooLong()
			return end + 1, nil
		}
		return end + 1, bytes.TrimSpace(data[:end])
	case len(data) > f.max:
		f.tooLong()
		f.seen, f.skip = 0, true
		return len(data), nil
	case whole:
		f.seen = 0
		return len(data), bytes.TrimSpace(data) // some senders omit the last NUL
	}
	f.seen = len(data)
	return 0, nil
}

// split calls add for each message in a body, which must be valid UTF-8. The body has one message, an array of
// messages, or several messages one after another. A line that is not JSON counts as a message, and is refused
// later. split returns an error if an array is malformed, or the error of add.
func split(body []byte, add func(message []byte) error) error {
	w := jsonwalk.New(body)
	if !w.AtEnd() && w.Kind() == '[' {
		var failed error
		err := w.Array(func(int) error {
			raw, err := w.Raw()
			if err == nil {
				failed = add(raw)
				err = failed
			}
			return err
		})
		switch {
		case failed != nil:
			return failed
		case err != nil:
			return errs.New(errs.InvalidArguments, "the body is not an array of GELF messages: %v", err)
		case !w.AtEnd():
			return errs.New(errs.InvalidArguments, "the body has more than an array of GELF messages")
		}
		return nil
	}
	for !w.AtEnd() {
		start := w.Pos()
		message, err := w.Raw()
		if err != nil {
			body = body[start:]
			message = body
			if end := bytes.IndexByte(body, '\n'); end >= 0 {
				message = body[:end]
			}
			body = body[len(message):]
			w.Reset(body)
		}
		if err := add(message); err != nil {
			return err
		}
	}
	return nil
}
