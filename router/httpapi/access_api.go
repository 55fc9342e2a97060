package httpapi

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/gorilla/mux"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/rights"
	"cordwood/router/access"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/httpapi/params"
	"cordwood/router/query/declared"
)

// Statements runs statements about users, roles, grants and tokens.
type Statements interface {
	// RunTexts runs one statement for the caller in ctx. columns and rows are nil if the statement returns no rows.
	// A change is refused with code IllegalState if a condition is not met.
	RunTexts(ctx context.Context, sql string, conditions ...*metapb.AccessCondition) (
		columns []string, rows [][]string, affected int64, err error)
	// AccessVersion returns the version of a user or role, or of a token; nil if there is none. Conditions compare it.
	AccessVersion(token bool, name string) []byte
	// AccessState describes all users and roles, and the quotas if the caller may see them. PlanAccess returns the
	// statements that turn them into what a file says.
	AccessState(ctx context.Context) (*declared.State, error)
	PlanAccess(ctx context.Context, file []byte) ([]string, error)
	// MeantDatabase returns an error if a target without a database is the name of a database, and not of a table.
	MeantDatabase(ctx context.Context, t rights.Target, database string) error
}

const (
	// maxAccessBody bounds the body of a request that changes users, roles, grants or tokens, in bytes.
	maxAccessBody = 256 << 10
	// mostListed is the number of elements of a list by default and at most.
	mostListed = 10_000
)

// accessAPI has the handlers of users, roles, grants and tokens under /v1/access.
type accessAPI struct{ statements Statements }

// routes returns the paths. The statements check further what the sender may do.
func (a *accessAPI) routes() []route {
	use := func(needs access.Privilege, methods []string, path, action string, f exchange.Members) route {
		return route{
			methods: methods, path: "/v1/access/" + path, needs: needs, action: action, handler: exchange.Manage(f),
			asksAgain: true,
		}
	}
	list := func(needs access.Privilege, path, action string, f exchange.Members, params []string) route {
		rt := use(needs, get, path, action, f)
		rt.params = params
		return rt
	}
	changes := func(kind access.ObjectKind, rt route) route {
		rt.changes, rt.object = true, kind
		return rt
	}
	const users, tokens, signedIn = access.ManageAccess, access.Query, access.SignedIn
	const user, role, token = access.Principal, access.Role, access.TokenObject
	put := []string{http.MethodPut}
	routes := []route{
		list(users, "users", "show users", a.list("users", "SHOW USERS"), params.ListAccess),
		list(users, "roles", "show roles", a.list("roles", "SHOW ROLES"), params.ListAccess),
		list(tokens, "tokens", "show tokens", a.list("tokens", "SHOW TOKENS"), params.ListAccess),
		list(signedIn, "grants", "show grants", a.grants, params.ListGrants),
		changes(user, use(users, post, "users", "create user", change(a, noVersion, createUserSQL))),
		changes(user, use(users, put, "users/{name}", "alter user", change(a, principalVersion, alterUserSQL))),
		changes(user, use(users, del, "users/{name}", "drop user", a.drop(principalVersion, "DROP USER "))),
		changes(role, use(users, post, "roles", "create role", change(a, noVersion, createRoleSQL))),
		changes(role, use(users, put, "roles/{name}", "alter role", change(a, principalVersion, alterRoleSQL))),
		changes(role, use(users, del, "roles/{name}", "drop role", a.drop(principalVersion, "DROP ROLE "))),
		changes(token, use(tokens, post, "tokens", "create token", change(a, noVersion, createTokenSQL))),
		changes(token, use(tokens, put, "tokens/{name}", "alter token", change(a, tokenVersion, alterTokenSQL))),
		changes(token, use(tokens, del, "tokens/{name}", "drop token", a.drop(tokenVersion, "DROP TOKEN "))),
		changes(token, use(tokens, post, "tokens/{name}/rotate", "rotate token", change(a, tokenVersion, rotateTokenSQL))),
		changes(user, use(signedIn, post, "grants", "grant", change(a, principalVersion, grantSQL))),
	}
	routes = append(routes, a.stateRoutes()...)
	return append(routes,
		list(users, "users/{name}", "show users", a.one(principalVersion, "user", "SHOW USERS"), nil),
		list(users, "roles/{name}", "show roles", a.one(principalVersion, "role", "SHOW ROLES"), nil),
		list(tokens, "tokens/{name}", "show tokens", a.one(tokenVersion, "token", "SHOW TOKENS"), nil),
		list(access.ReadAudit, "audit", "read audit records", a.audit, params.ListAudit),
	)
}

// list returns a handler that lists the rows of a SHOW statement as objects.
func (a *accessAPI) list(member, show string) exchange.Members {
	return func(_ *exchange.Exchange, r *http.Request) ([]byte, error) {
		query, err := params.ParseOnce(r.URL.RawQuery, params.ListAccess...)
		if err != nil {
			return nil, err
		}
		sql, limit := show, mostListed
		if like := query.Get("like"); like != "" {
			sql += " LIKE " + rights.QuoteText(like)
		}
		if text := query.Get("limit"); text != "" {
			if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > mostListed {
				return nil, errs.New(errs.InvalidArguments, "the parameter limit is %.40q: give a number from 1 to %d", text,
					mostListed)
			}
		}
		sql += " LIMIT " + strconv.Itoa(limit)
		if text := query.Get("offset"); text != "" {
			offset, err := strconv.ParseUint(text, 10, 31)
			if err != nil {
				return nil, errs.New(errs.InvalidArguments, "the parameter offset is %.40q: give a number of elements to leave "+
					"out", text)
			}
			sql += " OFFSET " + strconv.FormatUint(offset, 10)
		}
		columns, rows, _, err := a.statements.RunTexts(r.Context(), sql)
		if err != nil {
			return nil, err
		}
		out := append(exchange.AppendJSONString(nil, member), ":["...)
		for i, row := range rows {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(appendColumns(append(out, '{'), columns, row), '}')
		}
		return append(out, ']'), nil
	}
}

// appendColumns appends a row as members of a JSON object. The column Last used becomes the member last_used.
func appendColumns(out []byte, columns, row []string) []byte {
	for c, name := range columns {
		if c > 0 {
			out = append(out, ',')
		}
		if c == 0 {
			name = "name" // the columns User, Role and Token
		}
		out = exchange.AppendJSONString(out, strings.ReplaceAll(strings.ToLower(name), " ", "_"))
		out = exchange.AppendJSONString(append(out, ':'), row[c])
	}
	return out
}

// grants lists the grants of the sender, or of another user or role, as statements.
func (a *accessAPI) grants(x *exchange.Exchange, r *http.Request) ([]byte, error) {
	query, err := params.ParseOnce(r.URL.RawQuery, params.ListGrants...)
	if err != nil {
		return nil, err
	}
	sql, of := "SHOW GRANTS", query.Get("for")
	if of != "" {
		sql += " FOR " + rights.QuoteName(of)
	}
	version := a.statements.AccessVersion(false, cmp.Or(of, x.Caller.User))
	_, rows, _, err := a.statements.RunTexts(r.Context(), sql)
	if err != nil {
		return nil, err
	}
	if version != nil {
		x.Tag = tagOf(version)
	}
	out := []byte(`"grants":[`)
	for i, row := range rows {
		if i > 0 {
			out = append(out, ',')
		}
		out = exchange.AppendJSONString(out, row[0])
	}
	return append(out, ']'), nil
}

// change returns a handler that runs the statement that sql makes of the body and of the name in the path. A new
// secret is a member of the answer, which must not be kept. kind is the kind of object that a condition may concern.
func change[Body any](
	a *accessAPI, kind string, sql func(body *Body, name string) (string, error),
) exchange.Members {
	return func(x *exchange.Exchange, r *http.Request) ([]byte, error) {
		text, err := exchange.ReadBody(x, r, maxAccessBody, "request")
		if err != nil {
			return nil, err
		}
		body := new(Body)
		if err := exchange.DecodeJSON(text, body); err != nil {
			return nil, err
		}
		name, err := accessName(r)
		if err != nil {
			return nil, err
		}
		if g, ok := any(body).(*AccessGrant); ok {
			if g.Revoke {
				x.Need.Action = "revoke"
			}
			if len(g.Principals) == 1 {
				name = g.Principals[0]
			}
		}
		statement, err := sql(body, name)
		if err != nil {
			return nil, err
		}
		return a.run(x, r, kind, name, statement)
	}
}

// accessName returns the name in the path, or "" if the path has none.
func accessName(r *http.Request) (string, error) {
	name, err := url.PathUnescape(mux.Vars(r)["name"])
	if err != nil {
		return "", errs.New(errs.InvalidArguments, "the name in the path cannot be read: write it with escapes such as %%40")
	}
	return name, nil
}

func (a *accessAPI) drop(kind, words string) exchange.Members {
	return func(x *exchange.Exchange, r *http.Request) ([]byte, error) {
		name, err := accessName(r)
		if err != nil {
			return nil, err
		}
		return a.run(x, r, kind, name, words+rights.QuoteName(name))
	}
}

// run runs a statement that changes an object, and which is logged as such, if the condition of the request is met.
func (a *accessAPI) run(x *exchange.Exchange, r *http.Request, kind, name, sql string) ([]byte, error) {
	conditions, err := conditionOf(r, kind, name)
	if err != nil {
		return nil, err
	}
	x.Unchanged = true // so that the request is not logged in addition
	columns, rows, affected, err := a.statements.RunTexts(r.Context(), sql, conditions...)
	if err != nil {
		return nil, conditionError(err, conditions)
	}
	if len(rows) == 1 {
		x.Header().Set("Cache-Control", "no-store")
		return appendColumns(nil, columns, rows[0]), nil
	}
	return strconv.AppendInt([]byte(`"changes":`), affected, 10), nil
}
