package httpapi

import (
	"encoding/json"
	"net/http"
	"strings"

	"cordwood/proto/errs"
	"cordwood/proto/rights"
	"cordwood/router/access"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/query/statement"
)

// Whoami describes the sender of a request.
type Whoami struct {
	User string `json:"user"`
	// Auth is how the sender proved their identity, as in Session.
	Auth string `json:"auth"`
	// Token is the id of the token, or empty.
	Token      string `json:"token"`
	IngestOnly bool   `json:"ingest_only"`
	// Grants are the privileges of the sender, as GRANT writes them.
	Grants []string `json:"grants"`
	// The defaults of requests that name no database, table or pipeline.
	Database string `json:"database"`
	Table    string `json:"table"`
	Pipeline string `json:"pipeline"`
}

// listedGrants are the privileges of the rights in the list of users.
var listedGrants = map[access.Right][]rights.Grant{
	access.ReadWrite: {
		{Target: everyTable, Privileges: rights.OfTables},
		{Target: everyPipeline, Privileges: rights.OfPipelines},
		{Target: theCluster, Privileges: rights.OfCluster},
	},
	access.ReadOnly: {
		{Target: everyTable, Privileges: rights.Select},
		{Target: everyPipeline, Privileges: rights.Read},
		{Target: theCluster, Privileges: rights.Monitor | rights.Backup},
	},
	access.WriteOnly: {
		{Target: everyTable, Privileges: rights.Insert | rights.Create}, {Target: everyPipeline, Privileges: rights.Use},
	},
}

var (
	everyTable    = rights.Target{Kind: rights.Tables, Database: "*", Name: "*"}
	everyPipeline = rights.Target{Kind: rights.Pipelines, Name: "*"}
	theCluster    = rights.Target{Kind: rights.Cluster}
)

// grantsOf returns the privileges of a sender.
func grantsOf(s *access.Sender) []rights.Grant {
	switch {
	case s.Grants == nil:
		return listedGrants[s.Right]
	case s.Grants.Admin():
		return listedGrants[access.ReadWrite]
	}
	return s.Grants.Grants()
}

// whoami answers with the sender of the request and the sender's privileges.
func whoami(w http.ResponseWriter, r *http.Request) {
	s := &exchange.Of(r).Caller.Sender
	out := Whoami{
		User: s.User, Auth: authOf(s.Proof), Token: s.Token, IngestOnly: s.IngestOnly || s.Right == access.WriteOnly,
		Grants: []string{}, Database: s.DefaultDatabase(), Table: s.Fixed.Table, Pipeline: s.Fixed.Pipeline,
	}
	for _, g := range grantsOf(s) {
		out.Grants = append(out.Grants, g.Privileges.String()+" ON "+g.Target.String())
	}
	writeAccess(w, r, out)
}

func writeAccess(w http.ResponseWriter, r *http.Request, answer any) {
	text, err := json.Marshal(answer)
	if err != nil {
		exchange.WriteError(w, r, errs.Wrap(errs.Internal, err, "describe rights"))
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	exchange.WriteJSON(w, http.StatusOK, text)
}

// AccessCheck asks whether the sender has a privilege on an object, which is written as in GRANT.
type AccessCheck struct {
	Privilege string `json:"privilege"`
	Object    string `json:"object"`
}

// AccessChecked has an answer for each question, in their order.
type AccessChecked struct {
	Allowed []bool `json:"allowed"`
}

const (
	// maxChecks bounds the questions of a request, and maxCheckBody the length of its body in bytes.
	maxChecks    = 1000
	maxCheckBody = 256 << 10
)

// checkAccess returns the handler that answers whether the sender has privileges. statements may be nil.
func checkAccess(statements Statements) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		out, err := checked(w, r, statements)
		if err != nil {
			exchange.WriteError(w, r, err)
			return
		}
		writeAccess(w, r, out)
	}
}

func checked(w http.ResponseWriter, r *http.Request, statements Statements) (*AccessChecked, error) {
	body, err := exchange.ReadBody(w, r, maxCheckBody, "request")
	if err != nil {
		return nil, err
	}
	var asked []AccessCheck
	if err := exchange.DecodeJSON(body, &asked); err != nil {
		return nil, err
	}
	if len(asked) > maxChecks {
		return nil, errs.New(errs.InvalidArguments, "the request asks for %d privileges; at most %d are possible", len(asked),
			maxChecks)
	}
	s := &exchange.Of(r).Caller.Sender
	out := &AccessChecked{Allowed: make([]bool, len(asked))}
	held := rights.NewIndex(grantsOf(s), nil)
	for i, one := range asked {
		privilege, known := rights.Parse(one.Privilege)
		if !known {
			return nil, errs.New(errs.InvalidArguments, "%.40q is not a privilege: they are %s", one.Privilege,
				strings.Join((rights.OfTables|rights.OfPipelines|rights.OfCluster).Names(), ", "))
		}
		target, err := statement.ParseTarget(one.Object)
		if err != nil {
			return nil, err
		}
		if target.Kind == rights.Tables && target.Database == "" {
			if statements != nil {
				if err := statements.MeantDatabase(r.Context(), target, s.DefaultDatabase()); err != nil {
					return nil, err
				}
			}
			target.Database = s.DefaultDatabase()
		}
		if err := target.Check(privilege); err != nil {
			return nil, err
		}
		out.Allowed[i] = holds(held, privilege, target)
		if s.IngestOnly && privilege&^(rights.Insert|rights.Create|rights.Use) != 0 {
			out.Allowed[i] = false
		}
	}
	return out, nil
}

// holds reports whether an index has a privilege on everything that a target covers. Privileges of several grants add
// up only for a single object.
func holds(x *rights.Index, privilege rights.Set, t rights.Target) bool {
	switch {
	case t.Kind == rights.Cluster:
		return x.OnCluster()&privilege != 0
	case t.Kind == rights.Tables && !strings.HasSuffix(t.Name, "*") && !strings.HasSuffix(t.Database, "*"):
		return x.OnTable(t.Database, t.Name)&privilege != 0
	}
	return x.Holds(privilege, t)
}
