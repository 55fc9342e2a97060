package pgwire

import (
	"encoding/binary"
	"strings"
	"unicode/utf8"

	"cordwood/proto/schema"
	"cordwood/router/pgwire/value"
	"cordwood/router/query/statement"
)

// next parses a row, and returns its length, or 0 if the row is incomplete. The row is nil if the line has no values.
func (in *copyIn) next(last bool) (row []statement.Literal, used int, err error) {
	if in.f.name == "binary" {
		return in.nextBinary()
	}
	end := in.lineEnd(last)
	if end < 0 {
		return nil, 0, nil
	}
	text := strings.TrimSuffix(strings.TrimSuffix(string(in.data[:end]), "\n"), "\r")
	in.line++
	switch {
	case text == `\.`:
		in.endMark = true
		return nil, end, nil
	case in.f.header && !in.read:
		in.read = true
		return nil, end, in.header(text)
	case !utf8.ValidString(text) || strings.Contains(text, "\x00"):
		return nil, end, failure("22021", "invalid byte sequence for encoding \"UTF8\"")
	}
	fields, err := in.fields(text)
	if err != nil {
		return nil, end, err
	}
	if len(fields) != len(in.names) {
		what := "missing data for column " + quoted(in.names, len(fields))
		if len(fields) > len(in.names) {
			what = "extra data after last expected column"
		}
		return nil, end, failure("22P04", "%s", what)
	}
	row = make([]statement.Literal, len(fields))
	for i, f := range fields {
		if row[i], err = in.literal(i, value.FormatText, f); err != nil {
			return nil, end, err
		}
	}
	return row, end, nil
}

// header checks the names in the first line, if the client asked for it.
func (in *copyIn) header(text string) error {
	if !in.f.match {
		return nil
	}
	fields, err := in.fields(text)
	if err != nil {
		return err
	}
	if len(fields) != len(in.names) {
		return failure("22P04", "wrong number of fields in header line: got %d, expected %d", len(fields), len(in.names))
	}
	for i, name := range in.names {
		if string(fields[i]) != name {
			return failure("22P04", "column name mismatch in header line field %d: got %q, expected %q", i+1,
				excerpt(string(fields[i])), name)
		}
	}
	return nil
}

func quoted(names []string, i int) string {
	if i < len(names) {
		return schema.QuoteIdent(names[i])
	}
	return ""
}

// lineEnd returns the offset after the line feed of the first line, or -1 if the line is incomplete. In CSV, a line
// feed in quotes does not end a line.
func (in *copyIn) lineEnd(last bool) int {
	inside := false
	for i, b := range in.data {
		switch {
		case in.f.name == "csv" && b == in.f.quote:
			inside = !inside
		case in.f.name == "csv" && inside && b == in.f.escape && in.f.escape != in.f.quote:
			if i+1 < len(in.data) && (in.data[i+1] == in.f.quote || in.data[i+1] == in.f.escape) {
				inside = !inside // the quote after it reverts this
			}
		case b == '\n' && !inside:
			return i + 1
		}
	}
	if last && len(in.data) > 0 && !inside {
		return len(in.data)
	}
	return -1
}

// literal converts a value to the form that INSERT accepts; nil is null.
func (in *copyIn) literal(i int, f value.Format, b []byte) (statement.Literal, error) {
	v, err := value.Store(in.types[i], f, b)
	switch {
	case err != nil:
		return statement.Literal{}, err
	case v.Null:
		return statement.Literal{Kind: statement.Null}, nil
	case v.Bytes:
		return statement.Literal{Kind: statement.Bytes, Text: v.Text}, nil
	}
	return statement.Literal{Kind: statement.Text, Text: v.Text}, nil
}

// nextBinary parses a row of the binary format.
func (in *copyIn) nextBinary() (row []statement.Literal, used int, err error) {
	bad := failure("22P04", "malformed data in binary format")
	if !in.read {
		if len(in.data) < len(binaryHead) {
			return nil, 0, nil
		}
		extra := binary.BigEndian.Uint32(in.data[15:])
		if string(in.data[:11]) != binaryHead[:11] || extra != 0 || binary.BigEndian.Uint32(in.data[11:])>>16 != 0 {
			return nil, 0, failure("22P04", "COPY file signature not recognized")
		}
		in.read = true
		return nil, len(binaryHead), nil
	}
	if len(in.data) < 2 {
		return nil, 0, nil
	}
	n := int16(binary.BigEndian.Uint16(in.data))
	if n == -1 {
		in.endMark = true
		return nil, 2, nil
	}
	if int(n) != len(in.names) {
		return nil, 0, failure("22P04", "row field count is %d, expected %d", n, len(in.names))
	}
	at := 2
	row = make([]statement.Literal, n)
	for i := range row {
		if len(in.data) < at+4 {
			return nil, 0, nil
		}
		size := int32(binary.BigEndian.Uint32(in.data[at:]))
		at += 4
		var b []byte
		switch {
		case size < -1 || size > maxCopyRow:
			return nil, 0, bad
		case size >= 0 && len(in.data) < at+int(size):
			return nil, 0, nil
		case size >= 0:
			b = in.data[at : at+int(size) : at+int(size)]
			at += int(size)
		}
		if row[i], err = in.literal(i, value.FormatBinary, b); err != nil {
			in.line++
			return nil, at, err
		}
	}
	in.line++
	return row, at, nil
}
