package exchange

import (
	"bytes"
	"fmt"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"cordwood/proto/errs"
)

// WriteJSON answers with JSON and a newline, so that a shell's prompt starts on a new line.
func WriteJSON(w http.ResponseWriter, status int, body []byte) {
	end := []byte("\n")
	if bytes.HasSuffix(body, end) {
		end = nil
	}
	w.Header()["Content-Type"] = jsonType
	if len(body) >= largeAnswer {
		defer unread.Add(-int64(len(body)))
		if unread.Add(int64(len(body))) > maxUnread() {
			status, body = http.StatusTooManyRequests, []byte(tooMuchUnread)
			w.Header().Set("Retry-After", "5")
		}
	}
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

// largeAnswer is the size from which answers count as unread while they are sent, in bytes.
const largeAnswer = 1 << 20

// unread is the size of all large answers of this process that are being sent.
var unread atomic.Int64

// maxUnread returns the limit of unread: a sixteenth of the memory that the process may use, because answers are
// copied while they are made.
func maxUnread() int64 {
	const usual, part = 8 << 30, 16
	return min(debug.SetMemoryLimit(-1), usual) / part // a negative limit only reads it
}

// tooMuchUnread is the answer if the limit is exceeded.
var tooMuchUnread = fmt.Sprintf(`{"code":%d,"error":"the large answers that clients have not read yet fill the memory `+
	`for answers: try again later, or ask for less","execution_time_ms":0}`, errs.RateLimited)

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
