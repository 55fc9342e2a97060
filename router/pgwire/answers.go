package pgwire

import (
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"

	"cordwood/router/pgwire/value"
)

// answers writes what the server says to a client besides rows: errors, notices, descriptions of columns, and the ends
// of statements. The link keeps the errors of writing.
type answers struct {
	link    *link
	metrics *metrics
}

// send sends a message.
func (a *answers) send(m pgproto3.BackendMessage) { a.link.out.Send(m) }

// fail sends an error.
func (a *answers) fail(e *Error) {
	a.metrics.failed(e.State)
	a.send(e.response())
}

// notice sends a notice.
func (a *answers) notice(e *Error) { a.send((*pgproto3.NoticeResponse)(e.response())) }

// warnings sends a warning for each text.
func (a *answers) warnings(texts []string) {
	for _, text := range texts {
		a.notice(warning("01000", "%s", text))
	}
}

// columns sends the description of columns, or that there are none.
func (a *answers) columns(columns []column, formats []value.Format) {
	if columns == nil {
		a.send(&pgproto3.NoData{})
		return
	}
	a.send(describe(columns, formats))
}

// complete sends CommandComplete.
func (a *answers) complete(tag string, n int64) {
	a.send(&pgproto3.CommandComplete{CommandTag: []byte(countIn(tag, n))})
}

// countIn inserts a number of rows into a tag.
func countIn(tag string, n int64) string {
	if strings.Contains(tag, "%d") {
		return fmt.Sprintf(tag, n)
	}
	return tag
}
