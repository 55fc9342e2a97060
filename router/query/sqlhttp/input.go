package sqlhttp

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/proto/zone"
	"cordwood/router/access"
	"cordwood/router/httpapi/params"
	"cordwood/router/query"
	"cordwood/router/query/format"
	"cordwood/router/query/logquery"
	"cordwood/router/query/statement"
)

// input has the parameters of a request.
type input struct {
	query  query.Request
	format format.Format
	// safe: integers that a double cannot hold are texts.
	safe bool
	// omitNulls: rows in NDJSON have only the columns in which they are not null.
	omitNulls bool
	// noFormulas: texts in CSV that a spreadsheet would run as formulas have an apostrophe in front.
	noFormulas bool
	// filename is the name under which a browser keeps the answer; empty means that it shows it.
	filename string
}

// read reads parameters, headers and body. A parameter may be in the query string or in a form, but not in both.
func (h *Handler) read(a *answer, r *http.Request) (*input, error) {
	values, err := params.Parse(r.URL.RawQuery)
	if err != nil {
		return nil, err
	}
	p := &parameters{query: values}
	in := &input{}
	if in.query.Timeout, err = timeout(params.Header(r.Header, "X-Svc-Timeout")); err != nil {
		return nil, err
	}
	if err := h.readBody(a, r, p, in.query.Timeout); err != nil {
		return nil, err
	}
	if err := in.readLink(p); err != nil {
		return nil, err
	}
	in.query.Database = database(params.Header(r.Header, "X-Svc-Db-Name"), p.get("db"),
		access.From(r.Context()).DefaultDatabase())
	if err := in.readParameters(p); err != nil {
		return nil, err
	}
	in.query.Timezone = params.Header(r.Header, "X-Svc-Timezone")
	if _, err := zone.Load(in.query.Timezone); err != nil {
		return nil, err
	}
	var sql string
	if a.structured {
		sql, err = h.readLogQuery(r, p, in.query.Database, a.start)
	} else {
		sql, err = h.readSQL(p)
	}
	if err != nil {
		return nil, err
	}
	if in.query.Statements, err = statement.Parse(sql); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(in.query.Statements, statement.ShowsSecret) {
		a.w.Header().Set("Cache-Control", "no-store")
	}
	if in.query.Key.Text, err = params.Key(r.Header); err != nil {
		return nil, err
	}
	if in.query.Key.Text != "" {
		in.query.Key.Body = max(xxhash.Sum64String(sql), 1)
	}
	for _, st := range in.query.Statements {
		if _, changes := query.NeedOf(st, ""); changes {
			in.query.Texts = statement.Texts(sql)
			break
		}
	}
	return in, nil
}

// readParameters reads the format of the answer and what rows it has.
func (in *input) readParameters(p *parameters) (err error) {
	name, limit, nulls, formulas := p.get("format"), p.get("limit"), p.get("nulls"), p.get("formulas")
	if p.err != nil {
		return p.err
	}
	if in.format, err = format.Parse(name); err != nil {
		return err
	}
	switch {
	case nulls == "", nulls == "keep":
	case nulls != "omit":
		return errs.New(errs.InvalidArguments, "parameter nulls is %.40q: it must be keep or omit", nulls)
	case in.format != format.NDJSON:
		return errs.New(errs.InvalidArguments, "parameter nulls is omit, which is possible only with format=ndjson")
	default:
		in.omitNulls = true
	}
	switch {
	case formulas == "", formulas == "keep":
	case formulas != "text":
		return errs.New(errs.InvalidArguments, "parameter formulas is %.40q: it must be keep or text", formulas)
	case in.format != format.CSV && in.format != format.CSVWithNames && in.format != format.CSVWithNamesAndTypes:
		return errs.New(errs.InvalidArguments, "parameter formulas is text, which is possible only with a format of CSV")
	default:
		in.noFormulas = true
	}
	if limit != "" {
		if in.query.Limit, err = strconv.ParseUint(limit, 10, 63); err != nil {
			return errs.New(errs.InvalidArguments,
				"parameter limit is %.40q: it must be a whole number of rows, 0 or more", limit)
		}
		in.query.Limited = true
	}
	switch partial := p.get("allow_partial"); partial {
	case "", "false", "0":
	case "true", "1":
		in.query.AllowPartial = true
	default:
		return errs.New(errs.InvalidArguments, "parameter allow_partial is %.40q: it must be true or false", partial)
	}
	if in.query.MaxStaleness, err = staleness(p.get("consistency"), p.get("max_staleness")); err != nil {
		return err
	}
	return p.err
}

// readLink reads the parameters of links, which have no headers: the time limit, the name of a file, and how integers
// are written.
func (in *input) readLink(p *parameters) error {
	limit, name, integers := p.get("timeout"), p.get("filename"), p.get("integers")
	if p.err != nil {
		return p.err
	}
	if limit != "" {
		if in.query.Timeout != 0 {
			return errs.New(errs.InvalidArguments, "the time limit is given both by timeout and by x-svc-timeout: give it once")
		}
		d, err := timeout(limit)
		if err != nil {
			return errs.New(errs.InvalidArguments, "parameter timeout is %.40q: it must be a duration such as 30s", limit)
		}
		in.query.Timeout = d
	}
	const most = 200
	if len(name) > most || strings.ContainsAny(name, "/\\") || strings.ContainsFunc(name, unicode.IsControl) ||
		!utf8.ValidString(name) {
		return errs.New(errs.InvalidArguments, "parameter filename is %.40q: it must be a name of at most %d bytes without "+
			"slashes", name, most)
	}
	in.filename = name
	switch integers {
	case "", "exact":
	case "safe":
		in.safe = true
	default:
		return errs.New(errs.InvalidArguments, "parameter integers is %.40q: it must be exact or safe", integers)
	}
	return nil
}

// readSQL returns the text of SQL.
func (h *Handler) readSQL(p *parameters) (string, error) {
	sql := p.get("sql")
	if p.err != nil {
		return "", p.err
	}
	if p.text != "" {
		if sql != "" {
			return "", errs.New(errs.InvalidArguments, "the SQL is given both as parameter sql and as the body: give it once")
		}
		sql = p.text
	}
	switch {
	case strings.TrimSpace(sql) == "":
		return "", errs.New(errs.InvalidArguments,
			"parameter sql is required: give it in the query string or a form, or send the statement as a body of type "+
				"application/sql")
	case int64(len(sql)) > h.cfg.MaxTextBytes:
		return "", errs.New(errs.InvalidArguments,
			"the SQL has %d bytes, which is more than the %d allowed; /v1/ingest takes rows in bulk",
			len(sql), h.cfg.MaxTextBytes).WithStatus(http.StatusRequestEntityTooLarge)
	}
	return sql, nil
}

// readLogQuery returns the SQL of a structured query.
func (h *Handler) readLogQuery(r *http.Request, p *parameters, database string, now time.Time) (string, error) {
	text := p.get("query")
	if p.err != nil {
		return "", p.err
	}
	if p.text != "" {
		if text != "" {
			return "", errs.New(errs.InvalidArguments,
				"the query is given both as parameter query and as the body: give it once")
		}
		text = p.text
	}
	switch {
	case strings.TrimSpace(text) == "":
		return "", errs.New(errs.InvalidArguments,
			"the query is missing: send a JSON object with table and time_filter, as the body or as parameter query")
	case len(text) > logquery.MaxBytes:
		return "", errs.New(errs.InvalidArguments, "the query has %d bytes, which is more than the %d allowed", len(text),
			logquery.MaxBytes).WithStatus(http.StatusRequestEntityTooLarge)
	}
	return logquery.Compile([]byte(text), database, func(database, table string) (*schema.Table, error) {
		return h.cfg.Service.Table(r.Context(), database, table)
	}, now)
}

// parameters has the parameters of the query string and of a form, and the first error.
type parameters struct {
	query, form params.Values
	text        string // a body that is SQL
	err         error
}

func (p *parameters) get(name string) string {
	for _, v := range []params.Values{p.query, p.form} {
		if err := v.Once(name); err != nil && p.err == nil {
			p.err = err
		}
	}
	s, inQuery := p.query.Lookup(name)
	f, inForm := p.form.Lookup(name)
	if inQuery && inForm && p.err == nil {
		p.err = errs.New(errs.InvalidArguments, "parameter %s is given both in the query string and in the form: give "+
			"it once",
			name)
	}
	if inForm {
		return f
	}
	return s
}

// stopBody is a body whose read another goroutine can end: a body.Stopper.
type stopBody struct {
	io.ReadCloser
	rc *http.ResponseController
}

// Stop makes reads of the body fail.
func (b stopBody) Stop() { _ = b.rc.SetReadDeadline(time.Unix(1, 0)) }

// readBody reads a form, or SQL, within the time limit even if the client stops sending.
func (h *Handler) readBody(a *answer, r *http.Request, p *parameters, limit time.Duration) error {
	if r.Method != http.MethodPost && !a.structured {
		return nil
	}
	if limit == 0 {
		limit = h.cfg.Timeout
	}
	// Not every connection has deadlines.
	deadline := time.Now().Add(limit)
	limited := a.rc.SetReadDeadline(deadline) == nil
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = stopBody{r.Body, a.rc}
	}
	data, release, err := h.cfg.Bodies.Read(r)
	if err != nil && limited && !time.Now().Before(deadline) && errs.CodeOf(err) != errs.RateLimited {
		// The deadline stays, because the server reads the rest of a body before it sends the answer, and would wait
		// without end.
		return &errs.Error{Code: errs.QueryTimeout, Err: err, Msg: fmt.Sprintf(
			"the statement did not arrive within %s; send it faster, or allow more time by the header x-svc-timeout", limit)}
	}
	if err != nil {
		return err // the deadline stays for the reason above
	}
	if limited {
		_ = a.rc.SetReadDeadline(time.Time{}) // setting a deadline has worked before
	}
	defer release()
	if len(data) == 0 {
		return nil
	}
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	return p.parseBody(strings.ToLower(strings.TrimSpace(kind)), string(data), a.structured)
}

// parseBody reads a body by its content type. structured is set for a query at /v1/logs, which is JSON.
func (p *parameters) parseBody(kind, data string, structured bool) error {
	if structured {
		p.text = data
		if kind != "application/json" && kind != "" {
			return errs.New(errs.InvalidArguments, "invalid content type: %.80s, expected application/json", kind)
		}
		return nil
	}
	switch kind {
	case "application/x-www-form-urlencoded":
		var err error
		if p.form, err = params.Parse(data); err == nil {
			err = p.form.Check(params.SQL)
		}
		if _, bad := statement.Parse(data); err != nil && bad == nil {
			return errs.New(errs.InvalidArguments, "the body is a statement, but its content type, which curl -d sends, is "+
				"that of a form: send it by --data-urlencode 'sql=…', or with -H 'Content-Type: application/sql'")
		}
		return err
	case "application/sql", "text/plain", "":
		p.text = data
	default:
		advice := ""
		if kind == "application/json" {
			advice = "; send the statement itself as application/sql, or as parameter sql"
		}
		return errs.New(errs.InvalidArguments, "invalid content type: %.80s, expected one of application/sql, text/plain, "+
			"application/x-www-form-urlencoded%s", kind, advice)
	}
	return nil
}

// database returns the first name that is not empty, or "". The catalog svc may precede a name.
func database(names ...string) string {
	for _, name := range names {
		if name != "" {
			return strings.TrimPrefix(name, "svc-")
		}
	}
	return ""
}

// timeout parses a duration such as 30s, 1m30s, 500ms or 2 minutes. An empty text and zero mean the default.
func timeout(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return d, nil
	}
	if ttl, err := schema.ParseTTL(text); err == nil && ttl.D > 0 && ttl.D < math.MaxInt64 {
		return ttl.D, nil
	}
	return 0, errs.New(errs.InvalidArguments, "Invalid x-svc-timeout: %.40q is not a duration; write it like 30s", text)
}

// The staleness of rows with consistency=any: default, minimum and maximum. Each second, leaders tell their
// replicas what was acknowledged.
const defaultStaleness, minStaleness, maxStaleness = 10 * time.Second, 2 * time.Second, 24 * time.Hour

// staleness parses the maximum age of the state that is shown; 0 means that everything that was acknowledged is
// shown.
func staleness(consistency, most string) (time.Duration, error) {
	switch consistency {
	case "", "linear":
		if most != "" {
			return 0, errs.New(errs.InvalidArguments, "parameter max_staleness requires consistency=any")
		}
		return 0, nil
	case "any":
	default:
		return 0, errs.New(errs.InvalidArguments,
			"parameter consistency is %.40q: it must be linear, which returns everything that was acknowledged, or any",
			consistency)
	}
	if most == "" {
		return defaultStaleness, nil
	}
	d, err := time.ParseDuration(most)
	if err != nil || d < minStaleness || d > maxStaleness {
		return 0, errs.New(errs.InvalidArguments, "parameter max_staleness is %.40q: it must be a duration from %s to %s",
			most, minStaleness, maxStaleness)
	}
	return d, nil
}
