package httpapi

import (
	"strings"

	"cordwood/proto/errs"
	"cordwood/proto/rights"
	"cordwood/router/query/statement"
)

// This file writes requests to /v1/access as SQL statements, so that the API has the rules and errors of SQL. Names,
// privileges and targets are parsed or quoted; no text of a request becomes a part of a statement otherwise.

// AccessUser is a user to create, or the changes of a user. Members that are missing stay as they are.
type AccessUser struct {
	// Name is the name of a user to create. For a change, the path has it.
	Name string `json:"name,omitempty"`
	// Password is a password, or its SCRAM-SHA-256 verifier.
	Password *string `json:"password,omitempty"`
	// ValidUntil is a time; an empty text means forever.
	ValidUntil *string `json:"valid_until,omitempty"`
	Disabled   *bool   `json:"disabled,omitempty"`
	// Certificate is the name in the user's certificates; an empty text means the name of the user.
	Certificate *string `json:"certificate,omitempty"`
	// Database is the database of the user's requests that name none; an empty text means public.
	Database *string `json:"database,omitempty"`
}

// AccessRole is a role to create.
type AccessRole struct {
	Name string `json:"name"`
}

// AccessGroups are the groups of a role, which replace those that it has.
type AccessGroups struct {
	Groups []string `json:"groups"`
}

// AccessToken is a token to create, or the changes of a token.
type AccessToken struct {
	Name string `json:"name,omitempty"`
	// One of the following four is the scope of a new token.
	IngestInto string             `json:"ingest_into,omitempty"`
	QueryOn    string             `json:"query_on,omitempty"`
	User       string             `json:"user,omitempty"`
	Grants     []AccessPrivileges `json:"grants,omitempty"`
	// Pipeline is the only pipeline of a token that ingests.
	Pipeline string `json:"pipeline,omitempty"`
	// From are address ranges. In a change, an empty list allows all addresses.
	From *[]string `json:"from,omitempty"`
	// Expires is a time such as 2027-01-31, or never; ExpiresIn is a duration such as 90d.
	Expires   string  `json:"expires,omitempty"`
	ExpiresIn string  `json:"expires_in,omitempty"`
	Note      *string `json:"note,omitempty"`
}

// AccessPrivileges are privileges on targets.
type AccessPrivileges struct {
	// Privileges are such as SELECT; the only element ALL means all.
	Privileges []string `json:"privileges"`
	On         []string `json:"on"`
}

// AccessRotation is a rotation of a token.
type AccessRotation struct {
	Overlap string `json:"overlap,omitempty"`
}

// AccessGrant grants or revokes privileges on targets, or roles.
type AccessGrant struct {
	Privileges []string `json:"privileges,omitempty"`
	On         []string `json:"on,omitempty"`
	Roles      []string `json:"roles,omitempty"`
	// Principals are the users and roles that get or lose them.
	Principals  []string `json:"principals"`
	Revoke      bool     `json:"revoke,omitempty"`
	GrantOption bool     `json:"grant_option,omitempty"`
	Cascade     bool     `json:"cascade,omitempty"`
}

// names returns names for SQL.
func names(list []string) string {
	quoted := make([]string, len(list))
	for i, name := range list {
		quoted[i] = rights.QuoteName(name)
	}
	return strings.Join(quoted, ", ")
}

// target returns a target as SQL writes it.
func target(text string) (string, error) {
	t, err := statement.ParseTarget(text)
	if err != nil {
		return "", err
	}
	if t.Kind == rights.Tables && t.Database == "" {
		_, table, _ := strings.Cut(rights.Target{Kind: rights.Tables, Database: "d", Name: t.Name}.String(), ".")
		return "TABLE " + table, nil
	}
	return t.String(), nil
}

func (p *AccessPrivileges) sql() (string, error) {
	if len(p.Privileges) == 0 || len(p.On) == 0 {
		return "", errs.New(errs.InvalidArguments, `give "privileges" and "on", such as {"privileges":["SELECT"],`+
			`"on":["app.web"]}`)
	}
	for _, one := range p.Privileges {
		if _, known := rights.Parse(one); !known && (!strings.EqualFold(one, "ALL") || len(p.Privileges) > 1) {
			return "", errs.New(errs.InvalidArguments, "%.40q is not a privilege: they are ALL, %s", one,
				strings.Join((rights.OfTables|rights.OfPipelines|rights.OfCluster).Names(), ", "))
		}
	}
	on := make([]string, len(p.On))
	for i, text := range p.On {
		var err error
		if on[i], err = target(text); err != nil {
			return "", err
		}
	}
	return strings.Join(p.Privileges, ", ") + " ON " + strings.Join(on, ", "), nil
}

// options returns the options of a user.
func (u *AccessUser) options() string {
	out := ""
	if u.Password != nil {
		out += " PASSWORD " + rights.QuoteText(*u.Password)
	}
	switch {
	case u.ValidUntil == nil:
	case *u.ValidUntil == "":
		out += " VALID FOREVER"
	default:
		out += " VALID UNTIL " + rights.QuoteText(*u.ValidUntil)
	}
	switch {
	case u.Certificate == nil:
	case *u.Certificate == "":
		out += " NO CERTIFICATE"
	default:
		out += " CERTIFICATE " + rights.QuoteText(*u.Certificate)
	}
	switch {
	case u.Database == nil:
	case *u.Database == "":
		out += " NO DEFAULT DATABASE"
	default:
		out += " DEFAULT DATABASE " + rights.QuoteName(*u.Database)
	}
	switch {
	case u.Disabled == nil:
	case *u.Disabled:
		out += " DISABLED"
	default:
		out += " ENABLED"
	}
	return out
}

// scope returns the scope of a token to create.
func (t *AccessToken) scope() (string, error) {
	var parts []string
	for _, one := range []struct{ words, text string }{{"INGEST INTO ", t.IngestInto}, {"QUERY ON ", t.QueryOn}} {
		if one.text != "" {
			on, err := target(one.text)
			if err != nil {
				return "", err
			}
			parts = append(parts, one.words+on)
		}
	}
	if t.User != "" {
		parts = append(parts, "USER "+rights.QuoteName(t.User))
	}
	var grants []string
	for _, g := range t.Grants {
		one, err := g.sql()
		if err != nil {
			return "", err
		}
		grants = append(grants, one)
	}
	if len(grants) > 0 {
		parts = append(parts, strings.Join(grants, ", "))
	}
	if len(parts) != 1 {
		return "", errs.New(errs.InvalidArguments, `give one of "ingest_into", "query_on", "user" and "grants"`)
	}
	if t.Pipeline != "" {
		if t.IngestInto == "" {
			return "", errs.New(errs.InvalidArguments, `"pipeline" is only possible with "ingest_into"`)
		}
		return parts[0] + " PIPELINE " + rights.QuoteName(t.Pipeline), nil
	}
	return parts[0], nil
}

// options returns the options of a token.
func (t *AccessToken) options() (string, error) {
	out := ""
	if t.From != nil {
		ranges := make([]string, len(*t.From))
		for i, one := range *t.From {
			ranges[i] = rights.QuoteText(one)
		}
		if len(ranges) == 0 {
			ranges = []string{"ANYWHERE"}
		}
		out += " FROM " + strings.Join(ranges, ", ")
	}
	switch {
	case t.Expires != "" && t.ExpiresIn != "":
		return "", errs.New(errs.InvalidArguments, `give "expires" or "expires_in", not both`)
	case t.Expires == "never":
		out += " EXPIRES NEVER"
	case t.Expires != "":
		out += " EXPIRES " + rights.QuoteText(t.Expires)
	case t.ExpiresIn != "":
		out += " EXPIRES IN " + rights.QuoteText(t.ExpiresIn)
	}
	if t.Note != nil {
		out += " NOTE " + rights.QuoteText(*t.Note)
	}
	return out, nil
}

func createUserSQL(u *AccessUser, _ string) (string, error) {
	return "CREATE USER " + rights.QuoteName(u.Name) + u.options(), nil
}

func alterUserSQL(u *AccessUser, name string) (string, error) {
	if u.Name != "" && u.Name != name {
		return "", errs.New(errs.InvalidArguments, `"name" is %.80q, but the path has %.80q: a user cannot be renamed`,
			u.Name, name)
	}
	return "ALTER USER " + rights.QuoteName(name) + u.options(), nil
}

func createRoleSQL(r *AccessRole, _ string) (string, error) {
	return "CREATE ROLE " + rights.QuoteName(r.Name), nil
}

func alterRoleSQL(g *AccessGroups, name string) (string, error) {
	sql := "ALTER ROLE " + rights.QuoteName(name)
	if g.Groups == nil {
		return "", errs.New(errs.InvalidArguments, `give "groups"; an empty list takes all groups from the role`)
	}
	if len(g.Groups) == 0 {
		return sql + " UNSET GROUPS", nil
	}
	quoted := make([]string, len(g.Groups))
	for i, one := range g.Groups {
		quoted[i] = rights.QuoteText(one)
	}
	return sql + " SET GROUPS (" + strings.Join(quoted, ", ") + ")", nil
}

func createTokenSQL(t *AccessToken, _ string) (string, error) {
	scope, err := t.scope()
	if err != nil {
		return "", err
	}
	options, err := t.options()
	return "CREATE TOKEN " + rights.QuoteName(t.Name) + " FOR " + scope + options, err
}

func alterTokenSQL(t *AccessToken, name string) (string, error) {
	if t.Name != "" && t.Name != name || t.IngestInto+t.QueryOn+t.User+t.Pipeline != "" || len(t.Grants) > 0 {
		return "", errs.New(errs.InvalidArguments,
			`only "from", "expires", "expires_in" and "note" of a token can be changed`)
	}
	options, err := t.options()
	return "ALTER TOKEN " + rights.QuoteName(name) + " SET" + options, err
}

func rotateTokenSQL(r *AccessRotation, name string) (string, error) {
	sql := "ALTER TOKEN " + rights.QuoteName(name) + " ROTATE"
	if r.Overlap != "" {
		sql += " OVERLAP " + rights.QuoteText(r.Overlap)
	}
	return sql, nil
}

func grantSQL(g *AccessGrant, _ string) (string, error) {
	what := names(g.Roles)
	if len(g.Roles) == 0 || len(g.Privileges)+len(g.On) > 0 {
		if len(g.Roles) > 0 {
			return "", errs.New(errs.InvalidArguments, `give "roles", or "privileges" and "on", not both`)
		}
		var err error
		if what, err = (&AccessPrivileges{g.Privileges, g.On}).sql(); err != nil {
			return "", err
		}
	}
	option := g.GrantOption
	switch {
	case g.Cascade && !g.Revoke:
		return "", errs.New(errs.InvalidArguments, `"cascade" is only possible with "revoke"`)
	case option && g.Revoke:
		what = "GRANT OPTION FOR " + what
		fallthrough
	case g.Revoke:
		sql := "REVOKE " + what + " FROM " + names(g.Principals)
		if g.Cascade {
			sql += " CASCADE"
		}
		return sql, nil
	case option:
		return "GRANT " + what + " TO " + names(g.Principals) + " WITH GRANT OPTION", nil
	}
	return "GRANT " + what + " TO " + names(g.Principals), nil
}
