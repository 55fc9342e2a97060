package httpapi

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"cordwood/proto/errs"
	"cordwood/router/access"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/httpapi/params"
)

const (
	// maxStateBody bounds a file of users and roles, in bytes.
	maxStateBody = 1 << 20
	// maxStateStatements bounds the statements of one request.
	maxStateStatements = 1000
)

// stateRoutes returns the paths of the description of all users and roles.
func (a *accessAPI) stateRoutes() []route {
	change := route{
		methods: []string{http.MethodPut}, path: "/v1/access/state", needs: access.ManageAccess, action: "apply users",
		handler: exchange.Manage(a.applyState), asksAgain: true, params: params.AccessState, changes: true,
		object: access.Principal,
	}
	show := route{
		methods: get, path: "/v1/access/state", needs: access.ManageAccess, action: "show users",
		handler: exchange.Manage(a.state), asksAgain: true,
	}
	return []route{show, change}
}

// state answers with all users, roles and quotas.
func (a *accessAPI) state(_ *exchange.Exchange, r *http.Request) ([]byte, error) {
	s, err := a.statements.AccessState(r.Context())
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(s)
	if err != nil {
		return nil, errs.Wrap(errs.Internal, err, "describe users and roles")
	}
	return append([]byte(`"state":`), text...), nil
}

// applyState runs the statements that make users, roles and quotas what the body says, or only answers with them. Each
// statement is a change with its own record. Users and roles are dropped only if the request allows it. If a statement
// fails, those before it remain, and the file can be sent again.
func (a *accessAPI) applyState(x *exchange.Exchange, r *http.Request) ([]byte, error) {
	x.Unchanged = true // so that the request is not logged in addition to its statements
	query, err := params.ParseOnce(r.URL.RawQuery, params.AccessState...)
	if err != nil {
		return nil, err
	}
	only, err := query.Bool("dry_run", false)
	if err != nil {
		return nil, err
	}
	drop, err := query.Bool("drop", false)
	if err != nil {
		return nil, err
	}
	body, err := exchange.ReadBody(x, r, maxStateBody, "file")
	if err != nil {
		return nil, err
	}
	plan, err := a.statements.PlanAccess(r.Context(), body)
	if err != nil {
		return nil, err
	}
	if len(plan) > maxStateStatements {
		return nil, errs.New(errs.InvalidArguments, "the file needs %d statements; at most %d are possible in one request: "+
			"apply a file with fewer changes first", len(plan), maxStateStatements)
	}
	if i := slices.IndexFunc(plan, isDrop); i >= 0 && !only && !drop {
		return nil, errs.New(errs.InvalidArguments, "the file does not have a user or role that exists, so this would run "+
			"%s: add it to the file, or allow that with drop=true (cordwood access apply --drop); nothing was changed", plan[i])
	}
	text, err := json.Marshal(append([]string{}, plan...))
	if err != nil {
		return nil, errs.Wrap(errs.Internal, err, "describe the changes")
	}
	out := append([]byte(`"statements":`), text...)
	if only {
		return append(out, `,"changes":0`...), nil
	}
	changes := int64(0)
	for i, sql := range plan {
		_, _, n, err := a.statements.RunTexts(r.Context(), sql)
		if err != nil {
			return nil, errs.Wrap(errs.CodeOf(err), err, "statement %d of %d, %.200s, failed; the ones before it were "+
				"executed, and the file can be sent again", i+1, len(plan), sql)
		}
		changes += n
	}
	return strconv.AppendInt(append(out, `,"changes":`...), changes, 10), nil
}

// isDrop reports whether a statement of a plan drops a user or a role.
func isDrop(sql string) bool { return strings.HasPrefix(sql, "DROP ") }
