// Package journald receives the entries of systemd journals from systemd-journal-upload: POST /upload, in the
// export format of https://systemd.io/JOURNAL_EXPORT_FORMATS/.
//
// A request has all entries since the last answered request, which may be millions. So it is read and stored in
// pieces. Entries that were stored already, because an answer was lost, are left out. DESIGN.md of router/ingest
// explains how they are recognised.
//
// Without a pipeline, an entry becomes a row with the columns of layout. With a pipeline, it becomes a record with
// the same names and svc_timestamp.
//
// The package decodes, calls router/ingest, and answers.
package journald

import (
	"mime"
	"net/http"
	"time"

	"cordwood/proto/errs"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/ingest"
	"cordwood/router/ingest/httpreceiver"
)

// DefaultTable is the table for requests that do not give one.
const DefaultTable = "journald"

// contentType is the content type of the export format.
const contentType = "application/vnd.fdo.journal"

// Receiver answers requests of uploaders.
type Receiver struct {
	httpreceiver.Receiver
	// silence is the time without a new entry after which the pending entries are stored. longest is the longest time that
	// the first entry of a piece waits before it is stored.
	silence, longest time.Duration
}

// New returns a Receiver. d.Defaults is the destination for requests that do not give one.
func New(d httpreceiver.Receiver) *Receiver {
	d.Protocol = ingest.Journald
	d.Defaults = d.Defaults.Or(httpreceiver.Target{Table: DefaultTable})
	return &Receiver{Receiver: d, silence: time.Second, longest: 5 * time.Second}
}

// Refuse answers an error with its plain text. Uploaders give up at any status from 300 on, and systemd restarts
// them. If a rate limit was reached, the status is that of a busy server.
func Refuse(w http.ResponseWriter, _ *http.Request, why *exchange.Refusal) {
	status := why.Status
	if status == http.StatusTooManyRequests {
		status = http.StatusServiceUnavailable
	}
	httpreceiver.WriteText(w, status, why.Text)
}

// Upload stores the entries in the body of a request.
func (d *Receiver) Upload(w http.ResponseWriter, r *http.Request) {
	if err := d.upload(r); err != nil {
		exchange.WriteError(w, r, err)
		return
	}
	httpreceiver.WriteText(w, http.StatusAccepted, "OK.")
}

func (d *Receiver) upload(r *http.Request) error {
	call, err := d.Begin(r)
	if err != nil {
		return err
	}
	defer call.Release()
	if text := r.Header.Get("Content-Type"); text != "" {
		if media, _, err := mime.ParseMediaType(text); err != nil || media != contentType {
			return call.Refuse(errs.New(errs.Unsupported, "the content type is %.80q: send entries of a journal as %s", text,
				contentType).WithStatus(http.StatusUnsupportedMediaType))
		}
	}
	u := &upload{receiver: d, call: call, target: call.Target(httpreceiver.Target{}), found: map[string]stored{}}
	if u.stream, err = call.Stream(u.target); err != nil {
		return err
	}
	start := time.Now()
	if err := u.run(); err != nil {
		return err
	}
	d.Ingestion.Received(d.Protocol, (time.Since(start) - u.storing).Seconds())
	return nil
}
