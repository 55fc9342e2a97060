package httpapi

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"cordwood/proto/tracing"
	"cordwood/router/body"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/ingest"
	"cordwood/router/ingest/native"
)

// ingestHandler stores the logs in the body of a request.
type ingestHandler struct {
	ingestion *ingest.Service
	bodies    *body.Reader
}

// ServeHTTP answers a request.
func (h *ingestHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := exchange.Of(r)
	x.PlainTimeout = true
	out, err := h.ingest(x, r)
	if err != nil {
		exchange.WriteError(w, r, err)
		return
	}
	answerIngest(w, x, out)
}

// ingest checks the parts of a request in a fixed order, which decides the error if several are wrong: parameters,
// body, meaning of the parameters, records. Then it writes the rows.
func (h *ingestHandler) ingest(x *exchange.Exchange, r *http.Request) (*ingest.Outcome, error) {
	p, err := readIngestParams(r, &x.Caller.Sender)
	if err == nil && p.batch.Replayed != nil {
		err = ingest.PermitReplay(&x.Caller)
	}
	if err != nil {
		return nil, h.ingestion.Failed(ingest.Native, ingest.StageParameters, err)
	}
	b := &p.batch
	if err := h.ingestion.Admit(r.Context(), &ingest.Arrival{
		Protocol: ingest.Native, Caller: &x.Caller, Database: b.Database, Table: b.Table,
	}); err != nil {
		return nil, err
	}
	x.Database = b.Database
	begin := time.Now()
	_, span := tracing.Start(r.Context(), "read body")
	content, err := h.bodies.Receive(x, r, x.Start, x.Deadline)
	if err == nil {
		span.Number("bytes", int64(len(content.Data)))
	}
	span.End(err)
	if err != nil {
		return nil, h.ingestion.Failed(ingest.Native, ingest.StageBody, err)
	}
	defer content.Release()
	h.ingestion.Received(ingest.Native, time.Since(begin).Seconds())
	if err := h.ingestion.Check(r.Context(), b); err != nil {
		return nil, h.ingestion.Failed(ingest.Native, ingest.StageParameters, err)
	}
	kind, err := native.KindOf(p.contentType)
	if err != nil {
		return nil, h.ingestion.Failed(ingest.Native, ingest.StageBody, err)
	}
	b.Input, b.Bytes = ingest.Body{Data: content.Data, Kind: kind}, int64(len(content.Data))
	q := &p.request
	q.Protocol, q.Caller, q.Deadline, q.Memory = ingest.Native, &x.Caller, x.Deadline, content
	q.Batches = append(p.batches[:0], b)
	out := &h.ingestion.Store(r.Context(), q)[0]
	out.Warnings = slices.Concat(p.warnings, out.Warnings, out.Written.Warnings)
	return out, out.Err
}

// formatName is shared by all answers. Code that adds a value to it gets a copy.
var formatName = []string{"svcdb_v1"}

// answerIngest answers a request that succeeded.
func answerIngest(w http.ResponseWriter, x *exchange.Exchange, res *ingest.Outcome) {
	header := w.Header() // its keys are constants in the form of http.CanonicalHeaderKey
	header[exchange.HeaderFormat] = formatName
	millis := strconv.FormatInt(x.Millis(), 10)
	values := []string{ // one allocation for three headers; code that adds a value to one of them gets a copy
		`{"svc_exec_write_cost":` + strconv.FormatInt(res.WriteTime.Milliseconds(), 10) + `}`,
		strconv.Itoa(res.Skipped), millis,
	}
	header[exchange.HeaderMetrics], header[exchange.HeaderSkipped] = values[0:1:1], values[1:2:2]
	header[exchange.HeaderExecutionTime] = values[2:3:3]
	if res.Dropped > 0 {
		header.Set(exchange.HeaderDropped, strconv.Itoa(res.Dropped))
	}
	if res.Expired > 0 {
		header.Set(exchange.HeaderExpired, strconv.Itoa(res.Expired))
	}
	if len(res.Reasons) > 0 {
		header.Set(exchange.HeaderSkipReasons, exchange.HeaderText(ingest.FirstReasons(res.Reasons)))
	}
	for _, warning := range res.Warnings {
		header.Add(exchange.HeaderWarnings, exchange.HeaderText(warning))
	}

	out := make([]byte, 0, 128)
	out = append(out, '{')
	if len(res.Written.Groups) > 0 {
		out = append(out, `"output":[`...)
		for i, g := range res.Written.Groups {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(out, `{"affectedrows":`...)
			out = strconv.AppendInt(out, int64(g.AffectedRows), 10)
			out = append(out, '}')
		}
		out = append(out, `],`...)
	}
	if res.Skipped > 0 {
		out = appendSkipped(out, res)
	}
	out = append(out, `"execution_time_ms":`...)
	out = append(out, millis...)
	out = append(out, "}\n"...)
	exchange.WriteJSON(w, http.StatusOK, out)
}

// appendSkipped appends the number of skipped records, and the first reasons.
func appendSkipped(out []byte, res *ingest.Outcome) []byte {
	out = append(out, `"skipped":{"count":`...)
	out = strconv.AppendInt(out, int64(res.Skipped), 10)
	if res.Kept {
		out = append(out, `,"stored_in":"svc_private.rejects"`...)
	}
	out = append(out, `,"reasons":[`...)
	for i, r := range res.Reasons {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, `{"index":`...)
		out = strconv.AppendInt(out, int64(r.Index), 10)
		out = append(out, `,"kind":"`...)
		out = append(out, r.Kind.String()...)
		out = append(out, `","error":`...)
		out = exchange.AppendJSONString(out, r.Error)
		out = append(out, '}')
	}
	return append(out, `]},`...)
}
