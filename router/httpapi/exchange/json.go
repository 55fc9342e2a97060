package exchange

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// WriteJSON answers with JSON and a newline, so that a shell's prompt starts on a new line.
func WriteJSON(w http.ResponseWriter, status int, body []byte) {
	end := []byte("\n")
	if bytes.HasSuffix(body, end) {
		end = nil
	}
	w.Header()["Content-Type"] = jsonType
	if n := len(body) + len(end); n > counted {
		w.Header().Set("Content-Length", strconv.Itoa(n))
		defer limitWriting(w, n)() // a shorter answer is written when the handler has ended
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may be gone, and nothing else needs the error
	if end != nil {
		_, _ = w.Write(end)
	}
}

// The time in which a client must have read an answer: a part for the answer as such, and more for each byte.
const (
	readingTime  = 30 * time.Second
	slowestBytes = 256 << 10 // per second
)

// limitWriting ends the connection if the client does not read an answer of n bytes in time, because the answer stays
// in memory until then. The function that it returns ends the limit.
func limitWriting(w http.ResponseWriter, n int) (end func()) {
	rc := http.NewResponseController(w)
	// Some connections have no deadlines, and nothing can replace them.
	_ = rc.SetWriteDeadline(time.Now().Add(readingTime + time.Duration(n)*time.Second/slowestBytes))
	return func() { _ = rc.SetWriteDeadline(time.Time{}) }
}

// jsonType is shared by all answers. Code that adds a value to it gets a copy.
var jsonType = []string{"application/json"}

// counted is a size up to which net/http sets Content-Length by itself. It does so without an entry in the map
// of headers, which is slower with more than eight.
const counted = 1024

// AppendJSONString appends s as a JSON string. Unlike encoding/json, it does not escape <, > and &, because people
// read and copy the texts.
func AppendJSONString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for _, c := range strings.ToValidUTF8(s, "\uFFFD") {
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', byte(c))
		case c == '\n':
			dst = append(dst, '\\', 'n')
		case c < ' ' || c == 0x7f:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			dst = append(dst, string(c)...)
		}
	}
	return append(dst, '"')
}

// AppendJSONStrings appends a list of texts as a JSON array.
func AppendJSONStrings(dst []byte, list []string) []byte {
	dst = append(dst, '[')
	for i, s := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendJSONString(dst, s)
	}
	return append(dst, ']')
}
