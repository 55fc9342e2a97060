package pgwire

import "strings"

// fields splits a line into fields. A nil field is null.
func (in *copyIn) fields(line string) ([][]byte, error) {
	if in.f.name == "csv" {
		return in.csvFields(line)
	}
	var out [][]byte
	for {
		field, rest, more := in.textField(line)
		if field == in.f.null {
			out = append(out, nil)
		} else {
			out = append(out, []byte(unescapeCopy(field)))
		}
		if !more {
			return out, nil
		}
		line = rest
	}
}

// textField returns the first field of a line. The field ends at a delimiter without a backslash before it.
func (in *copyIn) textField(line string) (field, rest string, more bool) {
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case in.f.delimiter:
			return line[:i], line[i+1:], true
		}
	}
	return line, "", false
}

// unescapes maps letters after a backslash to the bytes that they stand for.
var unescapes = map[byte]byte{'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v'}

// unescapeCopy decodes the escapes of the text format.
func unescapeCopy(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			out = append(out, s[i])
			continue
		}
		i++
		if b, ok := unescapes[s[i]]; ok {
			out = append(out, b)
			continue
		}
		if b, n := codeOf(s[i:]); n > 0 {
			out = append(out, b)
			i += n - 1
			continue
		}
		out = append(out, s[i])
	}
	return string(out)
}

// codeOf reads one to three octal digits, or x and one or two hexadecimal digits, and returns their length.
func codeOf(s string) (b byte, n int) {
	base, most, from := 8, 3, 0
	if s[0] == 'x' {
		base, most, from = 16, 2, 1
	}
	for n = from; n < min(len(s), from+most); n++ {
		d := strings.IndexByte("0123456789abcdef", s[n]|0x20)
		if s[n] >= '0' && s[n] <= '9' {
			d = int(s[n] - '0')
		}
		if d < 0 || d >= base {
			break
		}
		b = b*byte(base) + byte(d)
	}
	if n == from {
		return 0, 0
	}
	return b, n
}

// csvFields splits a line of CSV into fields. An unquoted field equal to the null string is null.
func (in *copyIn) csvFields(line string) ([][]byte, error) {
	var out [][]byte
	i := 0
	for {
		var field []byte
		wasQuoted, inside := false, false
		for ; i < len(line); i++ {
			b := line[i]
			switch {
			case inside && b == in.f.escape && i+1 < len(line) && (line[i+1] == in.f.quote || line[i+1] == in.f.escape):
				i++
				field = append(field, line[i])
			case b == in.f.quote:
				inside, wasQuoted = !inside, true
			case !inside && b == in.f.delimiter:
				goto end
			default:
				field = append(field, b)
			}
		}
	end:
		switch {
		case inside:
			return nil, failure("22P04", "unterminated CSV quoted field")
		case !wasQuoted && string(field) == in.f.null:
			out = append(out, nil)
		case field == nil:
			out = append(out, []byte{})
		default:
			out = append(out, field)
		}
		if i >= len(line) {
			return out, nil
		}
		i++
	}
}
