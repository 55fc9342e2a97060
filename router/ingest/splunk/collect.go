package splunk

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"cordwood/proto/errs"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/ingest"
	"cordwood/router/ingest/httpreceiver"
	"cordwood/router/vrl/jsonscan"
)

// Event stores the JSON events in the body of a request.
func (d *Receiver) Event(w http.ResponseWriter, r *http.Request) {
	d.serve(w, r, func(c *httpreceiver.Call) ([]*ingest.Batch, error) {
		body, err := c.Text()
		if err != nil {
			return nil, err
		}
		in := reading{
			tags:    map[string]bool{"host": true, "source": true, "sourcetype": true},
			names:   map[string]string{},
			reserve: c.Inflate,
		}
		if err := in.readEvents(body); err != nil {
			return nil, err
		}
		return d.batches(c, &in, body)
	})
}

// group has the events of a request with the same destination.
type group struct {
	target      httpreceiver.Target
	first, last int
	bytes       int64
}

// batches returns a batch for each table, in the order in which the request mentions the tables.
func (d *Receiver) batches(c *httpreceiver.Call, in *reading, body []byte) ([]*ingest.Batch, error) {
	var groups []*group
	at := map[httpreceiver.Target]*group{}
	for i := range in.events {
		e := &in.events[i]
		t := d.target(c, e)
		g := at[t]
		if g == nil {
			if len(groups) == maxTables {
				return nil, &eventError{
					codeIncorrect, i, "a request may have events for at most " + strconv.Itoa(maxTables) + " indexes",
				}
			}
			g = &group{target: t, first: i}
			at[t], groups = g, append(groups, g)
		} else {
			in.events[g.last].next = i
		}
		g.last, g.bytes = i, g.bytes+int64(e.to-e.from)
	}
	excess, err := d.Ingestion.CheckNewTables(len(groups), func(i int) (string, string) {
		return groups[i].target.Database, groups[i].target.Table
	})
	if err != nil {
		return nil, &eventError{codeIncorrect, groups[excess].first, errs.From(err).ClientMessage()}
	}
	var out []*ingest.Batch
	for _, g := range groups {
		b := c.Batch(g.target)
		b.Tags, b.OnReject, b.Bytes = in.tags, orStore(b.OnReject), g.bytes
		if len(groups) > 1 && in.allTimed() {
			// If a table refuses its events, the client resends all of them. Events with their own times become the same rows
			// again, and are stored once.
			c.KeyByBody(b)
		}
		b.Input = ingest.Records(func(to *ingest.Sink) error { return g.feed(to, c, in.events, body) })
		out = append(out, b)
	}
	return out, nil
}

// allTimed reports whether every event has its own time.
func (r *reading) allTimed() bool { return r.timed == len(r.events) }

// maxTables limits the number of indexes of one request.
const maxTables = 1000

// orStore returns what happens to skipped events. By default they are kept among the rejects, because the answer cannot
// list them.
func orStore(asked string) string {
	if asked == "" {
		return ingest.StoreRejects
	}
	return asked
}

// feed passes the events of a group to the pipeline.
func (g *group) feed(to *ingest.Sink, c *httpreceiver.Call, events []event, body []byte) error {
	var buf []byte
	now := c.X.Start.UnixNano()
	for i := g.first; ; i = events[i].next {
		e := &events[i]
		at := now + int64(i) // so that the rows keep their order
		if e.timed && c.EventTime {
			at = e.nanos
		}
		to.At(at)
		buf = append(e.appendRecord(buf[:0], body, g.target.Pipeline != ingest.IdentityPipeline), padding...)
		if err := to.JSON(buf[:len(buf)-len(padding)]); err != nil {
			return err
		}
		if events[i].next == 0 {
			return nil
		}
	}
}

// padding follows a record, so that it can be read in place.
const padding = "\n               "

// target returns the destination of an event.
func (d *Receiver) target(c *httpreceiver.Call, e *event) httpreceiver.Target {
	named := httpreceiver.Target{Table: httpreceiver.TableName(e.index)}
	if d.BySourcetype && e.sourcetype != "" && c.HasPipeline(e.sourcetype) {
		named.Pipeline = e.sourcetype
	}
	return c.Target(named)
}

// Raw stores the text in the body of a request. Each line is a record, or each part that the parameter linebreaker
// separates.
func (d *Receiver) Raw(w http.ResponseWriter, r *http.Request) {
	d.serve(w, r, func(c *httpreceiver.Call) ([]*ingest.Batch, error) {
		e := event{index: c.Query.Get("index"), sourcetype: c.Query.Get("sourcetype")}
		if at := c.Query.Get("time"); at != "" && !e.setTime([]byte(at)) {
			return nil, &eventError{
				codeInvalidFormat, -1, "the parameter time is not a number of seconds since 1970: " + clip([]byte(at)),
			}
		}
		if len(bytes.TrimSpace(c.Body)) == 0 {
			return nil, &eventError{code: codeNoData, event: -1}
		}
		t := d.target(c, &e)
		b := c.Batch(t)
		b.Tags, b.OnReject = map[string]bool{"host": true, "source": true, "sourcetype": true}, orStore(b.OnReject)
		var rest []byte
		for _, name := range []string{"host", "source", "sourcetype"} {
			if v := c.Query.Get(name); v != "" {
				rest = append(append(append(rest, `,"`...), name...), `":`...)
				rest = jsonscan.AppendQuoted(rest, v)
			}
		}
		body, err := c.Text()
		if err != nil {
			return nil, err
		}
		cut := []byte(c.Query.Get("linebreaker"))
		b.Input = ingest.Records(func(to *ingest.Sink) error { return feedRaw(to, c, &e, body, cut, rest) })
		return []*ingest.Batch{b}, nil
	})
}

// feedRaw passes the parts of a raw body to the pipeline. rest has further members for each record.
func feedRaw(to *ingest.Sink, c *httpreceiver.Call, e *event, body, cut, rest []byte) error {
	at := c.X.Start.UnixNano()
	if e.timed && c.EventTime {
		at = e.nanos
	}
	var buf []byte
	lines := len(cut) == 0
	if lines {
		cut = []byte("\n")
	}
	for len(body) > 0 {
		var part []byte
		part, body, _ = bytes.Cut(body, cut)
		if lines {
			part = bytes.TrimSuffix(part, []byte("\r"))
		}
		if len(part) == 0 {
			continue
		}
		to.At(at)
		if !e.timed || !c.EventTime {
			at++ // so that the rows keep their order
		}
		if err := to.Repeat(len(rest)); err != nil {
			return err
		}
		buf = jsonscan.AppendQuotedBytes(append(buf[:0], `{"message":`...), part)
		buf = append(append(append(buf, rest...), '}'), padding...)
		if err := to.JSON(buf[:len(buf)-len(padding)]); err != nil {
			return err
		}
	}
	return nil
}

// serve answers a request. decode returns the batches of its body.
func (d *Receiver) serve(
	w http.ResponseWriter, r *http.Request, decode func(c *httpreceiver.Call) ([]*ingest.Batch, error),
) {
	err := d.collect(r, decode)
	fault := (*eventError)(nil)
	switch {
	case errors.As(err, &fault):
		answerError(w, r, fault)
	case err != nil:
		exchange.WriteError(w, r, err)
	default:
		more := ""
		if channel(r) != "" {
			more = `,"ackId":` + strconv.FormatInt(d.nextAck(exchange.Of(r).Start), 10)
		}
		answer(w, http.StatusOK, codeSuccess, "", more)
	}
}

func (d *Receiver) collect(r *http.Request, decode func(c *httpreceiver.Call) ([]*ingest.Batch, error)) error {
	c, _, err := d.Open(r)
	if err != nil {
		return err
	}
	defer c.Release()
	batches, err := decode(c)
	if err != nil {
		return c.Refuse(err)
	}
	if len(batches) > 1 { // after an error, the client resends all events, including those that were stored
		if err := c.AdmitAll(batches); err != nil {
			return err
		}
	}
	skipped, first, err := sumUp(c.Store(batches...))
	switch {
	case errs.CodeOf(err) == errs.PermissionDenied && len(batches) > 0:
		return &eventError{codeIncorrect, -1, errs.From(err).ClientMessage()}
	case err != nil:
		return err
	case skipped:
		return &eventError{codeInvalidFormat, 0, "no event of the request could be stored; the first: " + first}
	}
	return nil
}

// sumUp returns the error of the batches, and whether the stored batches skipped all of their records, with the first
// reason.
func sumUp(outcomes []ingest.Outcome) (allSkipped bool, reason string, err error) {
	skipped, records := 0, 0
	for _, out := range outcomes {
		if out.Err != nil {
			// A temporary error takes precedence, because then the client resends the events.
			if err == nil || passing(out.Err) && !passing(err) {
				err = out.Err
			}
			continue
		}
		if skipped += out.Skipped; reason == "" && len(out.Reasons) > 0 {
			reason = out.Reasons[0].Error
		}
		records += out.Records
	}
	return skipped > 0 && skipped == records, reason, err
}

// passing reports whether the same events may be stored later.
func passing(err error) bool { return (&exchange.Refusal{Status: errs.From(err).Status()}).Passing() }

// channel returns the data channel of a request. A request with a channel gets an acknowledgement id.
func channel(r *http.Request) string {
	if c := r.Header.Get("X-Splunk-Request-Channel"); c != "" {
		return c
	}
	return r.URL.Query().Get("channel")
}

// Ack answers that the requests with the ids in the body are stored. This is always true, because they were stored
// before they were answered.
func (d *Receiver) Ack(w http.ResponseWriter, r *http.Request) {
	if channel(r) == "" {
		answer(w, http.StatusBadRequest, codeNoChannel, "send the header X-Splunk-Request-Channel", "")
		return
	}
	ids, err := d.readAcks(r)
	if fault := (*eventError)(nil); errors.As(err, &fault) {
		answerError(w, r, fault)
		return
	} else if err != nil {
		exchange.WriteError(w, r, err)
		return
	}
	out := []byte(`{"acks":{`)
	for i, id := range ids {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(strconv.AppendInt(append(out, '"'), id, 10), `":true`...)
	}
	exchange.WriteJSON(w, http.StatusOK, append(out, "}}"...))
}

// maxAcks limits the size of the body of a request for acknowledgements, because the answer is built in memory.
const maxAcks = 1 << 20

// readAcks reads the ids in a request for acknowledgements.
func (d *Receiver) readAcks(r *http.Request) ([]int64, error) {
	c, err := d.Begin(r)
	if err != nil {
		return nil, err
	}
	defer c.Release()
	if err := c.Receive(httpreceiver.Target{}); err != nil {
		return nil, err
	}
	if len(c.Body) > maxAcks {
		why := "the body has more than " + strconv.Itoa(maxAcks) + " bytes: ask for fewer ids at once"
		return nil, &eventError{codeInvalidFormat, -1, why}
	}
	var q struct {
		Acks []int64 `json:"acks"`
	}
	if err := json.Unmarshal(c.Body, &q); err != nil {
		return nil, &eventError{codeInvalidFormat, -1, `send {"acks":[NUMBER,…]}`}
	}
	return q.Acks, nil
}
