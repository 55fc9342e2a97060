package clusterapi

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/gorilla/mux"

	"cordwood/proto/errs"
	"cordwood/router/access"
	"cordwood/router/httpapi/exchange"
)

// Handlers answer the paths under /v1/cluster.
type Handlers struct{ Cluster Cluster }

// Status answers with the state of the cluster.
func (h Handlers) Status(w http.ResponseWriter, r *http.Request) {
	status, err := h.Cluster.Status(r.Context())
	answer(w, r, status, err)
}

// Plan answers with what a rebalance would do.
func (h Handlers) Plan(w http.ResponseWriter, r *http.Request) {
	plan, err := h.Cluster.Plan(r.Context())
	answer(w, r, plan, err)
}

// Operations lists the stored operations.
func (h Handlers) Operations(w http.ResponseWriter, r *http.Request) {
	list, err := h.Cluster.Operations(r.Context())
	answer(w, r, map[string]any{"operations": list}, err)
}

// Operation answers with one operation.
func (h Handlers) Operation(w http.ResponseWriter, r *http.Request) {
	id, err := operationID(r)
	if err != nil {
		exchange.WriteError(w, r, err)
		return
	}
	list, err := h.Cluster.Operations(r.Context())
	if err != nil {
		exchange.WriteError(w, r, err)
		return
	}
	for _, op := range list {
		if op.ID == id {
			answer(w, r, &Answer{Operation: &op}, nil)
			return
		}
	}
	exchange.WriteError(w, r, errs.New(errs.InvalidArguments,
		"there is no operation %d: it never existed, or is no longer stored", id).WithStatus(http.StatusNotFound))
}

// maxRequest limits the size of the body of a request, in bytes.
const maxRequest = 64 << 10

// Start starts the operation in the body.
func (h Handlers) Start(w http.ResponseWriter, r *http.Request) {
	text, err := exchange.ReadBody(w, r, maxRequest, "request")
	if err != nil {
		exchange.WriteError(w, r, err)
		return
	}
	request := &Request{}
	if err := exchange.DecodeJSON(text, request); err != nil {
		exchange.WriteError(w, r, errs.New(errs.InvalidArguments, "%s; an operation is, for example, "+
			`{"kind":"shard-add","count":1}`, err))
		return
	}
	x := exchange.Of(r)
	x.Statement, x.Need.Object.Name = string(text), request.Kind
	if need, known := access.OfOperation(request.Kind); known {
		if err := x.Caller.Require(need); err != nil {
			exchange.WriteError(w, r, err)
			return
		}
	}
	done, err := h.Cluster.Start(r.Context(), request, x.Caller.User)
	x.Unchanged = err == nil && (done.Confirm != "" || done.Removal != nil)
	answer(w, r, done, err)
}

// Cancel ends an operation at the next step at which it can be ended.
func (h Handlers) Cancel(w http.ResponseWriter, r *http.Request) {
	id, err := operationID(r)
	if err != nil {
		exchange.WriteError(w, r, err)
		return
	}
	done, err := h.Cluster.Cancel(r.Context(), id)
	answer(w, r, done, err)
}

func operationID(r *http.Request) (uint64, error) {
	text := mux.Vars(r)["id"]
	id, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, errs.New(errs.InvalidArguments, "%.40q is not an id of an operation: want a number", text)
	}
	return id, nil
}

func answer(w http.ResponseWriter, r *http.Request, v any, err error) {
	if err != nil {
		exchange.WriteError(w, r, err)
		return
	}
	out, err := json.Marshal(v)
	if err != nil {
		exchange.WriteError(w, r, errs.Wrap(errs.Internal, err, "cluster"))
		return
	}
	exchange.WriteJSON(w, http.StatusOK, out)
}
