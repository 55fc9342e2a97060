package pgwire

import (
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgproto3"
)

// maxName is the maximum length of the names of prepared statements, portals, cursors and savepoints, in bytes.
const maxName = 1 << 10

func checkName(name string) error {
	if len(name) > maxName {
		return failure("42622", "a name has %d bytes; %d are allowed", len(name), maxName)
	}
	return checkText(name)
}

// queryText returns the text of a Query.
func queryText(body []byte) (string, error) {
	var m pgproto3.Query
	if len(body) == 0 || body[len(body)-1] != 0 || m.Decode(body) != nil {
		return "", fatal("08P01", "malformed Query message")
	}
	return m.String, checkText(m.String)
}

// checkText returns an error for text that is not valid.
func checkText(s string) error {
	if !utf8.ValidString(s) || strings.Contains(s, "\x00") {
		return failure("22021", "invalid byte sequence for encoding \"UTF8\"")
	}
	return nil
}

// excerpt shortens client text that is returned in an error.
func excerpt(s string) string {
	const most = 128
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
