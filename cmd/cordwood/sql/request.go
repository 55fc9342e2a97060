package sql

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"cordwood/cmd/cordwood/cli"
	"cordwood/cmd/cordwood/client"
	"cordwood/router/query/statement"
)

// sqlRequest makes the request for a text of SQL. What it does says whether it may be sent
// again: statements that only read may, and INSERT may because it has a key, made here
// unless one is given. Other changes may have been made when their answer is lost, and are
// not sent again then.
func sqlRequest(db, format, text, key string) client.Request {
	r := client.Request{
		Method: http.MethodPost, Path: "/v1/sql", Query: url.Values{"db": {db}, "format": {format}},
		Header: http.Header{"Content-Type": {"application/sql"}}, Body: []byte(text),
	}
	statements, err := statement.Parse(text)
	if err != nil {
		return r // the server has an error for it, or knows more than this program
	}
	r.Reads = true
	for _, st := range statements {
		r.Reads = r.Reads && st.Rows()
		if _, ok := st.(*statement.Insert); !ok {
			continue
		}
		if key == "" {
			key = "sql-" + rand.Text()
		}
		r.Header.Set("Idempotency-Key", key)
	}
	return r
}

// statementTime is how long a statement may take unless the server's settings or --timeout
// say otherwise, and for how long it is tried again.
const statementTime = 30 * time.Second

// within bounds all tries of a request by the time limit of a statement; 0: the usual one.
func within(r client.Request, limit time.Duration) client.Request {
	if limit > 0 {
		r.Header.Set("X-Svc-Timeout", limit.String())
		r.Within, r.Limit = limit, limit
		return r
	}
	r.Within = statementTime
	return r
}

// readFlags are the flags of statements that read.
type readFlags struct {
	consistency  string
	maxStaleness string
	allowPartial bool
}

// check refuses what goes with nothing.
func (f *readFlags) check() error {
	switch f.consistency {
	case "", "linear", "any":
	default:
		return cli.WrongUsage(fmt.Errorf("--consistency %s: use linear or any", f.consistency))
	}
	if f.maxStaleness != "" && f.consistency != "any" {
		return cli.WrongUsage(fmt.Errorf("--max-staleness goes with --consistency any"))
	}
	_, err := cli.ParseDuration("max-staleness", f.maxStaleness)
	return err
}

func (f *readFlags) set(query url.Values) {
	if f.consistency != "" {
		query.Set("consistency", f.consistency)
	}
	if f.maxStaleness != "" {
		query.Set("max_staleness", f.maxStaleness)
	}
	if f.allowPartial {
		query.Set("allow_partial", "true")
	}
}

// explainUnknown says of a statement that failed, and may have had its effect, how to send
// it again without storing rows twice, if it is an INSERT.
func explainUnknown(err error, r *client.Request) error {
	key := r.Header.Get("Idempotency-Key")
	if key == "" {
		return err
	}
	return fmt.Errorf("%w; rows may be stored: run the same statement within 15 minutes with --idempotency-key %s, "+
		"and they are stored once", err, cli.ShellWord(key))
}
