package gelf

import (
	"bytes"

	"cordwood/proto/errs"
	"cordwood/router/ingest/jsonwalk"
)

// framing finds the messages in a stream. A NUL ends each.
type framing struct {
	max     int
	tooLong func()
	// skip says that the message under way is too long, and passed over.
	skip bool
	// seen are the bytes of an unfinished message, in which there is no NUL.
	seen int
}

// Next implements sockdoor.Splitter.
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
		return len(data), bytes.TrimSpace(data) // some senders forget the last NUL
	}
	f.seen = len(data)
	return 0, nil
}

// split returns the messages of a body, which must be valid UTF-8: one, those of an array, or several, one after
// another. A line that is not JSON is a message that will be refused. The error is that an array is malformed.
func split(body []byte) (messages [][]byte, err error) {
	w := jsonwalk.New(body)
	one := func(int) error {
		raw, err := w.Raw()
		messages = append(messages, raw)
		return err
	}
	if !w.AtEnd() && w.Kind() == '[' {
		if err := w.Array(one); err != nil {
			return nil, errs.New(errs.InvalidArguments, "the body is no array of GELF messages: %v", err)
		}
		if !w.AtEnd() {
			return nil, errs.New(errs.InvalidArguments, "the body has more than an array of GELF messages")
		}
		return messages, nil
	}
	for !w.AtEnd() {
		start := w.Pos()
		if raw, err := w.Raw(); err == nil {
			messages = append(messages, raw)
			continue
		}
		body = body[start:]
		line := body
		if end := bytes.IndexByte(body, '\n'); end >= 0 {
			line = body[:end]
		}
		messages = append(messages, line)
		body = body[len(line):]
		w = jsonwalk.New(body)
	}
	return messages, nil
}
