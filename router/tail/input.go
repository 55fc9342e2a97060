package tail

import (
	"context"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/nearest"
	"cordwood/proto/schema"
	"cordwood/proto/shardpb"
	"cordwood/router/access"
	"cordwood/router/audit"
	"cordwood/router/explore/roles"
	"cordwood/router/explore/search"
	"cordwood/router/httpapi/params"
	"cordwood/router/query/statement"
)

// input is the content of a request.
type input struct {
	database, table string
	where           string
	// search is a parsed search; nil if there is none.
	search *search.Query
	// chosen has the columns that the user chose for the message and the level.
	chosen roles.Chosen
	// since is how old the oldest stored rows may be that are sent first; 0: none are sent.
	since time.Duration
	// timeout limits the duration of the tail; 0 means that it lasts until the client ends it.
	timeout time.Duration
	// rows selects the line format of the page for logs: with ids, and with texts cut to most bytes.
	rows bool
	most int
	// safe writes integers that do not fit a double as texts.
	safe bool
	// events selects server-sent events instead of NDJSON.
	events bool
}

func (h *Handler) read(r *http.Request) (*input, error) {
	values, err := params.Parse(r.URL.RawQuery)
	if err != nil {
		return nil, err
	}
	for _, name := range params.Tail {
		if err := values.Once(name); err != nil {
			return nil, err
		}
	}
	get := func(name string) string { s, _ := values.Lookup(name); return s }
	in := &input{database: params.Header(r.Header, "X-Svc-Db-Name"), table: get("table"), where: get("where")}
	if in.database == "" {
		in.database = get("db")
	}
	if in.database = strings.TrimPrefix(in.database, "svc-"); in.database == "" {
		in.database = access.From(r.Context()).DefaultDatabase()
	}
	if in.table == "" {
		return nil, errs.New(errs.InvalidArguments, "parameter table is required: the name of the table to follow")
	}
	if in.since, err = duration("parameter since", get("since")); err != nil {
		return nil, err
	}
	if in.timeout, err = duration("header x-svc-timeout", params.Header(r.Header, "X-Svc-Timeout")); err != nil {
		return nil, err
	}
	if strings.TrimSpace(in.where) == "" {
		in.where = ""
	} else if err := statement.CheckCondition(in.where); err != nil {
		return nil, errs.Wrap(errs.InvalidSyntax, err, "parameter where")
	}
	in.chosen = roles.Chosen{Message: get("message_column"), Level: get("level_column")}
	if text := get("search"); text != "" {
		if in.search, err = search.Parse(text); err != nil {
			return nil, err
		}
	}
	if err := in.readShape(get("shape"), get("integers"), get("max_value_bytes")); err != nil {
		return nil, err
	}
	in.events = wantsEvents(r.Header.Values("Accept"))
	return in, nil
}

// readShape reads how rows are written.
func (in *input) readShape(shape, integers, most string) error {
	switch shape {
	case "", "columns":
	case "row":
		in.rows = true
	default:
		return errs.New(errs.InvalidArguments, "parameter shape is %.40q: it must be columns or row", shape)
	}
	switch integers {
	case "", "exact":
	case "safe":
		in.safe = true
	default:
		return errs.New(errs.InvalidArguments, "parameter integers is %.40q: it must be exact or safe", integers)
	}
	const usual, largest = 1024, 64 << 10
	in.most = usual
	if most == "" {
		return nil
	}
	var err error
	if in.most, err = strconv.Atoi(most); err != nil || in.most < 1 || in.most > largest || !in.rows {
		return errs.New(errs.InvalidArguments, "parameter max_value_bytes is %.40q: it must be from 1 to %d, and goes with "+
			"shape=row only", most, largest)
	}
	return nil
}

// duration parses a duration such as 10m, 1h30m, 500ms or 2 days. An empty text is 0.
func duration(what, text string) (time.Duration, error) {
	if text == "" || text == "0" {
		return 0, nil
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return d, nil
	}
	if ttl, err := schema.ParseTTL(text); err == nil && ttl.D > 0 && ttl.D < math.MaxInt64 {
		return ttl.D, nil
	}
	return 0, errs.New(errs.InvalidArguments, "%s is %.40q: it must be a duration such as 10m or 1h", what, text)
}

// wantsEvents reports whether the client accepts server-sent events.
func wantsEvents(accept []string) bool {
	for _, line := range accept {
		for part := range strings.SplitSeq(line, ",") {
			mediaType, _, _ := strings.Cut(part, ";")
			if strings.EqualFold(strings.TrimSpace(mediaType), "text/event-stream") {
				return true
			}
		}
	}
	return false
}

// requests finds the table and creates the request for each of its shards.
func (h *Handler) requests(ctx context.Context, in *input) (*schema.Table, []*shardpb.TailRequest, error) {
	t, err := h.table(access.From(ctx), in)
	if err != nil {
		h.recordRead(ctx, in, err)
		return nil, nil, err
	}
	if err := h.checkColumnsOnly(ctx, t, in.where); err != nil {
		return nil, nil, err
	}
	ttl := h.ttl(t)
	if ttl.Instant {
		return nil, nil, errs.New(errs.InvalidArguments,
			"table %s.%s has ttl='instant': its rows are discarded as they arrive, so there is nothing to follow", t.Database,
			t.Name)
	}
	where, err := in.condition(t)
	if err != nil {
		return nil, nil, err
	}
	def := t.ToProto()
	var reqs []*shardpb.TailRequest
	for _, shard := range t.Shards() {
		req := &shardpb.TailRequest{
			ShardId: shard, Name: &shardpb.TableName{Database: t.Database, Name: t.Name}, Table: def, Where: where,
			TtlNanos: int64(ttl.D),
			Share:    access.From(ctx).KnownShare(),
		}
		if in.since > 0 {
			from, ok := schema.TTL{D: in.since}.ExpiredBefore(h.cfg.Now(), t.TimeIndex().Type)
			if !ok {
				from = math.MinInt64
			}
			req.Since = &from
		}
		reqs = append(reqs, req)
	}
	if len(reqs) == 0 {
		return nil, nil, errs.New(errs.TableUnavailable, "table %s.%s has no shard yet; try again", t.Database, t.Name)
	}
	return t, reqs, nil
}

// condition returns the condition for rows of t, from the search and the condition of the request.
func (in *input) condition(t *schema.Table) (string, error) {
	if in.search == nil {
		return in.where, nil
	}
	found, err := in.search.Condition(search.NewColumns(t, in.chosen))
	if err != nil || in.where == "" {
		return found, err
	}
	return "(" + found + ") AND (" + in.where + "\n)", nil
}

// tails returns the need for following a table.
func tails(database, name string) access.Need {
	return access.Need{
		Privilege: access.Select, Action: "tail", Object: access.Object{Kind: access.Table, Database: database, Name: name},
	}
}

// recordRead records a tail of a table in a database with the option audit.reads when all shards have accepted it, or
// that the caller may not read the table.
func (h *Handler) recordRead(ctx context.Context, in *input, err error) {
	d, _ := h.cfg.Meta.Database(in.database)
	if h.cfg.Changes == nil || d.GetOptions()[schema.OptionAuditReads] != "true" ||
		err != nil && errs.From(err).Status() != http.StatusForbidden {
		return
	}
	h.cfg.Changes.Record(ctx, audit.Change{
		By: access.From(ctx), Need: tails(in.database, in.table), Statement: in.where, Err: err,
	})
}

// table finds the table, which the caller must be allowed to read. Stored tables of the server, such as
// svc_private.rejects, can be followed. System tables that are computed for each query cannot.
func (h *Handler) table(caller *access.Caller, in *input) (*schema.Table, error) {
	if schema.ReservedDatabase(in.database) {
		if t, ok := h.cfg.Meta.Table(strings.ToLower(in.database), in.table); ok {
			return t, caller.Require(tails(t.Database, t.Name))
		}
		return nil, errs.New(errs.Unsupported,
			"%s.%s cannot be followed: a system table is computed when it is read; use /v1/sql", in.database, in.table)
	}
	if t, ok := h.cfg.Meta.Table(in.database, in.table); ok && caller.Sees(in.database, in.table) {
		return t, caller.Require(tails(t.Database, t.Name))
	}
	if _, ok := h.cfg.Meta.Database(in.database); !ok || !caller.SeesDatabase(in.database) {
		var known []string
		for _, d := range h.cfg.Meta.Databases() {
			if caller.SeesDatabase(d.Name) {
				known = append(known, d.Name)
			}
		}
		return nil, errs.New(errs.DatabaseNotFound, "database %q does not exist%s", in.database,
			nearest.DidYouMean("; ", in.database, known))
	}
	var known []string
	for _, t := range h.cfg.Meta.Tables(in.database) {
		if caller.May(tails(in.database, t.Name)) {
			known = append(known, t.Name)
		}
	}
	return nil, errs.New(errs.TableNotFound, "table %s.%s does not exist%s", in.database, in.table,
		nearest.DidYouMean("; ", in.table, known))
}

func (h *Handler) ttl(t *schema.Table) schema.TTL {
	d, _ := h.cfg.Meta.Database(t.Database)
	return schema.EffectiveTTL(t.Options[schema.OptionTTL], d.GetOptions()[schema.OptionTTL])
}

// selectHead returns the SQL text that a shard puts before the condition.
func selectHead(database, table string) string {
	return "SELECT * FROM " + schema.QuoteIdent(database) + "." + schema.QuoteIdent(table) + " WHERE ("
}

// checkColumnsOnly returns an error if the condition contains more than an expression over columns, for example a
// query, because new rows are tested one by one.
func (h *Handler) checkColumnsOnly(ctx context.Context, t *schema.Table, where string) error {
	if where == "" {
		return nil
	}
	a, err := h.cfg.Analyze(ctx, &shardpb.AnalyzeRequest{
		Sql: statement.Alone(where), Database: t.Database,
		Share: access.From(ctx).KnownShare(),
	})
	if err != nil {
		return statement.InAlone(err)
	}
	if len(a.Tables) > 0 || statement.HasQuery(where) {
		return errs.New(errs.Unsupported, "parameter where: a condition of a tail uses the columns of %s.%s; it cannot "+
			"contain a query", t.Database, t.Name)
	}
	return nil
}
