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

// sqlRequest makes the request for an SQL text, and determines whether it may be repeated: statements that only read
// may be, and INSERT may be repeated because it has a key, which is generated here unless one is given. An INSERT with
// RETURNING or with a query takes no key. Other statements are not repeated after a lost answer, because they may have
// been executed.
func sqlRequest(db, format, text, key string) client.Request {
	r := client.Request{
		Method: http.MethodPost, Path: "/v1/sql", Query: url.Values{"format": {format}},
		Header: http.Header{"Content-Type": {"application/sql"}}, Body: []byte(text),
	}
	cli.SetParameter(r.Query, "db", db)
	statements, err := statement.Parse(text)
	if err != nil {
		return r // the server returns an error for it, or supports more than this program
	}
	r.Reads = true
	for _, st := range statements {
		r.Reads = r.Reads && statement.OnlyReads(st)
		if insert, ok := st.(*statement.Insert); !ok || insert.Rows() || insert.Query != "" {
			continue
		}
		if key == "" {
			key = "sql-" + rand.Text()
		}
		r.Header.Set("Idempotency-Key", key)
	}
	return r
}

// statementTime is the default time limit of a statement, and the time for which it is retried.
const statementTime = 30 * time.Second

// within limits all tries of a request by the time limit of a statement; 0 means the default.
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

// check returns an error if flags contradict each other.
func (f *readFlags) check() error {
	switch f.consistency {
	case "", "linear", "any":
	default:
		return cli.WrongUsage(fmt.Errorf("--consistency %s: use linear or any", f.consistency))
	}
	if f.maxStaleness != "" && f.consistency != "any" {
		return cli.WrongUsage(fmt.Errorf("--max-staleness needs --consistency any"))
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

// explainUnknown adds advice to the error of an INSERT that may have been executed: how to repeat it without storing
// rows twice.
func explainUnknown(err error, r *client.Request) error {
	key := r.Header.Get("Idempotency-Key")
	if key == "" {
		return err
	}
	return fmt.Errorf("%w; rows may be stored: run the same statement within 15 minutes with --idempotency-key %s, "+
		"and they are stored once", err, cli.ShellWord(key))
}
