package iceberg

import (
	"net/http"
	"strconv"

	"cordwood/proto/errs"
	"cordwood/router/access/token"
	"cordwood/router/httpapi/exchange"
)

// Refuse writes an error in the form of the REST catalog API. Clients make an exception of their own from the type and
// the status. The headers have cordwood's code.
func Refuse(w http.ResponseWriter, r *http.Request, why *exchange.Refusal) {
	kind := typeOf(why)
	if kind == noTable || kind == noNamespace {
		switch exchange.Of(r).Route {
		case tablePath:
			// Also for a namespace that does not exist. Spark asks for db.app.files as a table of the namespace db.app, and
			// only after this answer for the metadata table files of db.app.
			kind = noTable
		case viewPath:
			kind = "NoSuchViewException"
		}
	}
	out := exchange.AppendJSONString([]byte(`{"error":{"message":`), why.Text)
	out = exchange.AppendJSONString(append(out, `,"type":`...), kind)
	out = strconv.AppendInt(append(out, `,"code":`...), int64(why.Status), 10)
	exchange.WriteJSON(w, why.Status, append(out, '}', '}'))
}

// noTable and noNamespace are the types of the errors for a table or a namespace that does not exist.
const noTable, noNamespace = "NoSuchTableException", "NoSuchNamespaceException"

// typeOf returns the name of the exception for an error.
func typeOf(why *exchange.Refusal) string {
	switch why.Code {
	case errs.DatabaseNotFound:
		return noNamespace
	case errs.TableNotFound:
		return noTable
	}
	switch why.Status {
	case http.StatusBadRequest:
		return "BadRequestException"
	case http.StatusUnauthorized:
		return "NotAuthorizedException"
	case http.StatusForbidden:
		return "ForbiddenException"
	case http.StatusNotFound:
		return "NotFoundException"
	case http.StatusNotAcceptable:
		return "UnsupportedOperationException"
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return "ServiceUnavailableException"
	}
	if why.Status < http.StatusInternalServerError {
		return "RESTException"
	}
	return "ServiceFailureException"
}

// refuseChange answers requests that change something, and others that the catalog does not offer.
func refuseChange(w http.ResponseWriter, r *http.Request) {
	exchange.WriteError(w, r, errs.New(errs.Unsupported, "%s %s: the Iceberg catalog of cordwood can only be read. "+
		"Rows come by ingestion and SQL, and ALTER TABLE changes a table; both appear with the next commit", r.Method,
		shortPath(r)).WithStatus(http.StatusNotAcceptable))
}

// refuseToken answers clients that want to exchange a name and a secret for a token.
func refuseToken(w http.ResponseWriter, r *http.Request) {
	exchange.WriteError(w, r, errs.New(errs.Unsupported, "the Iceberg catalog of cordwood makes no tokens: set the "+
		"client's property token to a token of cordwood, or use basic authentication, and leave out credential").
		WithStatus(http.StatusNotAcceptable))
}

// refusePath answers requests for paths that the catalog does not have.
func refusePath(w http.ResponseWriter, r *http.Request) {
	exchange.WriteError(w, r, errs.New(errs.InvalidArguments,
		"no such path: %s %s; the Iceberg catalog has %s/config, %s and the namespaces and tables below it",
		r.Method, shortPath(r), root, namespacesPath).WithStatus(http.StatusNotFound))
}

// shortPath returns the path of a request for a message.
func shortPath(r *http.Request) string {
	const most = 200
	path := token.Hide(r.URL.Path)
	if len(path) > most {
		return path[:most] + "…"
	}
	return path
}
