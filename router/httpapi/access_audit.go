package httpapi

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"cordwood/proto/errs"
	"cordwood/proto/rights"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/httpapi/params"
)

const (
	// defaultRecords and mostRecords are the numbers of records of a page by default and at most.
	defaultRecords = 100
	mostRecords    = 1000
)

// auditColumns are the columns of a record in an answer. The first one is the time in nanoseconds.
var auditColumns = []string{
	"ts", "node", "id", "principal", "auth", "token_id", "address", "action", "object_kind", "database", "object",
	"statement", "outcome", "code", "message", "request_id", "chain",
}

// auditPage is a request for records.
type auditPage struct {
	where []string
	limit int
}

// audit answers with the newest audit records, and with a cursor for the next page if there are more.
func (a *accessAPI) audit(_ *exchange.Exchange, r *http.Request) ([]byte, error) {
	query, err := params.ParseOnce(r.URL.RawQuery, params.ListAudit...)
	if err != nil {
		return nil, err
	}
	page, err := auditPageOf(query)
	if err != nil {
		return nil, err
	}
	_, rows, _, err := a.statements.RunTexts(r.Context(), page.sql())
	if errs.CodeOf(err) == errs.TableNotFound {
		rows, err = nil, nil // nothing was recorded yet
	}
	if err != nil {
		return nil, err
	}
	next := ""
	if len(rows) > page.limit {
		rows = rows[:page.limit]
		last := rows[len(rows)-1]
		next = auditCursor{last[0], last[1], last[2]}.String()
	}
	out := []byte(`"records":[`)
	for i, row := range rows {
		if i > 0 {
			out = append(out, ',')
		}
		if out, err = appendRecord(out, row); err != nil {
			return nil, err
		}
	}
	out = append(out, ']')
	if next != "" {
		out = exchange.AppendJSONString(append(out, `,"next":`...), next)
	}
	return out, nil
}

// appendRecord appends a record as an object. Members without a value are left out.
func appendRecord(out []byte, row []string) ([]byte, error) {
	nanos, err := strconv.ParseInt(row[0], 10, 64)
	if err != nil {
		return nil, errs.Wrap(errs.Internal, err, "read the time of an audit record")
	}
	out = append(out, `{"ts":"`...)
	out = time.Unix(0, nanos).UTC().AppendFormat(out, time.RFC3339Nano)
	out = append(out, '"')
	for i, name := range auditColumns[1:] {
		value := row[i+1]
		if value == "" {
			continue
		}
		out = exchange.AppendJSONString(append(out, ','), name)
		out = append(out, ':')
		if name == "id" || name == "code" {
			out = append(out, value...)
		} else {
			out = exchange.AppendJSONString(out, value)
		}
	}
	return append(out, '}'), nil
}

// auditPageOf reads the parameters of a request.
func auditPageOf(query params.Values) (*auditPage, error) {
	p := &auditPage{limit: defaultRecords}
	for _, name := range []string{"principal", "action", "outcome", "address", "database", "object"} {
		if value := query.Get(name); value != "" {
			if !isText(value) {
				return nil, errs.New(errs.InvalidArguments, "the parameter %s is %.60q: give UTF-8 without NUL", name, value)
			}
			p.where = append(p.where, name+" = "+rights.QuoteText(value))
		}
	}
	for name, op := range map[string]string{"since": ">=", "until": "<"} {
		text := query.Get(name)
		if text == "" {
			continue
		}
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			at, err = time.Parse(time.DateOnly, text)
		}
		if err != nil || !inRange(at.UTC()) {
			return nil, errs.New(errs.InvalidArguments, "the parameter %s is %.60q: give a time from 1970 to 2261, such as "+
				"2026-01-31 or 2026-01-31T12:00:00Z", name, text)
		}
		p.where = append(p.where, "ts "+op+" "+auditTime(at.UnixNano()))
	}
	if text := query.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > mostRecords {
			return nil, errs.New(errs.InvalidArguments, "the parameter limit is %.40q: give a number from 1 to %d", text,
				mostRecords)
		}
		p.limit = n
	}
	if text := query.Get("after"); text != "" {
		c, err := parseAuditCursor(text)
		if err != nil {
			return nil, err
		}
		p.where = append(p.where, c.condition())
	}
	return p, nil
}

// inRange reports whether a time can be compared with ts.
func inRange(at time.Time) bool { return at.Year() >= 1970 && at.Year() <= 2261 }

// isText reports whether a value can be a text in a statement.
func isText(value string) bool { return utf8.ValidString(value) && !strings.ContainsRune(value, 0) }

// auditTime returns a time as a literal that is compared with ts.
func auditTime(nanos int64) string {
	return rights.QuoteText(time.Unix(0, nanos).UTC().Format("2006-01-02 15:04:05.000000000"))
}

// sql returns the query for a page and one more record.
func (p *auditPage) sql() string {
	columns := make([]string, len(auditColumns))
	for i, name := range auditColumns {
		columns[i] = "CAST(" + name + " AS VARCHAR) AS " + name
	}
	columns[0] = "CAST(epoch_ns(ts) AS VARCHAR) AS at"
	where := ""
	if len(p.where) > 0 {
		where = " WHERE " + strings.Join(p.where, " AND ")
	}
	return fmt.Sprintf("SELECT %s FROM (SELECT * FROM svc_private.audit%s ORDER BY ts DESC, node, id DESC LIMIT %d) "+
		"AS page ORDER BY page.ts DESC, page.node, page.id DESC", strings.Join(columns, ", "), where, p.limit+1)
}

// auditCursor is the key of the last record of a page.
type auditCursor struct{ at, node, id string }

func (c auditCursor) String() string {
	return base64.RawURLEncoding.EncodeToString([]byte(c.at + " " + c.id + " " + c.node))
}

func parseAuditCursor(text string) (c auditCursor, err error) {
	plain, err := base64.RawURLEncoding.DecodeString(text)
	parts := strings.SplitN(string(plain), " ", 3)
	good := err == nil && len(parts) == 3 && isText(parts[2])
	if good {
		c = auditCursor{at: parts[0], id: parts[1], node: parts[2]}
		nanos, atErr := strconv.ParseInt(c.at, 10, 64)
		_, idErr := strconv.ParseInt(c.id, 10, 64)
		good = atErr == nil && idErr == nil && inRange(time.Unix(0, nanos).UTC())
	}
	if !good {
		return c, errs.New(errs.InvalidArguments, "the parameter after is %.60q: give the member next of the page before",
			text)
	}
	return c, nil
}

// condition returns the condition that a record comes after the cursor.
func (c auditCursor) condition() string {
	nanos, _ := strconv.ParseInt(c.at, 10, 64) // it was checked
	at, node := auditTime(nanos), rights.QuoteText(c.node)
	return fmt.Sprintf("(ts < %s OR ts = %[1]s AND (node > %s OR node = %[2]s AND id < %s))", at, node, c.id)
}
