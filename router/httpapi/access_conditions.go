package httpapi

import (
	"encoding/hex"
	"net/http"
	"strings"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/rights"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/httpapi/params"
)

// A change under /v1/access can be made on the condition that nobody has changed the user, role or token since it was
// read: with the header If-Match and the ETag of its answer. So two administrators do not overwrite each other.

// The kinds of objects that have a version. Grants are a part of their user or role.
const (
	noVersion        = ""
	principalVersion = "user"
	tokenVersion     = "token"
)

// tagOf returns the ETag of a version.
func tagOf(version []byte) string { return `"` + hex.EncodeToString(version) + `"` }

// conditionOf returns the condition of a request that changes the object of a kind and name, or nil.
func conditionOf(r *http.Request, kind, name string) ([]*metapb.AccessCondition, error) {
	match := params.Header(r.Header, "If-Match")
	if params.Header(r.Header, "If-None-Match") != "" {
		return nil, errs.New(errs.InvalidArguments, "If-None-Match is not possible here: a POST request creates only what "+
			"does not exist")
	}
	switch {
	case match == "":
		return nil, nil
	case kind == noVersion:
		return nil, errs.New(errs.InvalidArguments, "If-Match is not possible here: the request creates something that has "+
			"no version yet")
	case name == "":
		return nil, errs.New(errs.InvalidArguments, `If-Match is only possible with one element in "principals"`)
	}
	c := &metapb.AccessCondition{Token: kind == tokenVersion, Name: name}
	if match == "*" {
		return []*metapb.AccessCondition{c}, nil
	}
	text, opened := strings.CutPrefix(match, `"`)
	text, closed := strings.CutSuffix(text, `"`)
	version, err := hex.DecodeString(text)
	if !opened || !closed || err != nil || len(version) == 0 {
		return nil, errs.New(errs.InvalidArguments, "If-Match: %s: expected the version in quotes, as in the header ETag of "+
			"the answer to GET", params.Quote(match))
	}
	c.Version = version
	return []*metapb.AccessCondition{c}, nil
}

// conditionError sets the status of the error of a change whose condition is not met.
func conditionError(err error, conditions []*metapb.AccessCondition) error {
	if len(conditions) > 0 && errs.CodeOf(err) == errs.IllegalState {
		return errs.From(err).WithStatus(http.StatusPreconditionFailed)
	}
	return err
}

// one returns a handler that answers with one row of a SHOW statement as an object, and with its version.
func (a *accessAPI) one(kind, what, show string) exchange.Members {
	escape := strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)
	return func(x *exchange.Exchange, r *http.Request) ([]byte, error) {
		name, err := accessName(r)
		if err != nil {
			return nil, err
		}
		// The version is read first: if the object changes meanwhile, a change with the version is refused.
		version := a.statements.AccessVersion(kind == tokenVersion, name)
		columns, rows, _, err := a.statements.RunTexts(r.Context(), show+" LIKE "+rights.QuoteText(escape.Replace(name)))
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			if row[0] != name {
				continue
			}
			if version != nil { // a built-in role has none
				x.Tag = tagOf(version)
			}
			return appendColumns(nil, columns, row), nil
		}
		return nil, errs.New(errs.InvalidArguments, "there is no %s %.80q", what, name).WithStatus(http.StatusNotFound)
	}
}
