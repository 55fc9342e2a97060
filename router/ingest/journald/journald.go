// Package journald takes the entries of systemd's journals, as systemd-journal-upload sends them: POST /upload, in the
// export format of https://systemd.io/JOURNAL_EXPORT_FORMATS/.
//
// One request has all that a machine has written since the last one that was answered, which may be millions of
// entries. So it is read bit by bit and stored in pieces, and what of it is stored already, because an answer did not
// come through, is left out. DESIGN.md of router/ingest says how that is known.
//
// Without a pipeline an entry becomes a row with the columns of layout. With one it is a record of the same names, and
// svc_timestamp.
//
// It decodes, calls router/ingest, and answers.
package journald

import (
	"mime"
	"net/http"
	"time"

	"cordwood/proto/errs"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/ingest"
	"cordwood/router/ingest/httpdoor"
)

// DefaultTable is where entries go of requests that name no table.
const DefaultTable = "journald"

// contentType is the content type of the export format.
const contentType = "application/vnd.fdo.journal"

// Door answers the requests of clients that upload.
type Door struct {
	httpdoor.Door
	// silence is how long nothing comes before what has come is stored, and longest how long the first entry of a piece
	// waits.
	silence, longest time.Duration
}

// New returns a door: d.Defaults says where the records go of requests that do not say it.
func New(d httpdoor.Door) *Door {
	d.Protocol = ingest.Journald
	d.Defaults = d.Defaults.Or(httpdoor.Target{Table: DefaultTable})
	return &Door{Door: d, silence: time.Second, longest: 5 * time.Second}
}

// Refuse answers an error with its text. Clients give up at any status from 300 on, and are started again by systemd.
// A limit that passes has the status of a busy server.
func Refuse(w http.ResponseWriter, _ *http.Request, why *exchange.Refusal) {
	status := why.Status
	if status == http.StatusTooManyRequests {
		status = http.StatusServiceUnavailable
	}
	httpdoor.WriteText(w, status, why.Text)
}

// Upload stores the entries in the body of a request.
func (d *Door) Upload(w http.ResponseWriter, r *http.Request) {
	if err := d.upload(r); err != nil {
		exchange.WriteError(w, r, err)
		return
	}
	httpdoor.WriteText(w, http.StatusAccepted, "OK.")
}

func (d *Door) upload(r *http.Request) error {
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
	u := &upload{door: d, call: call, target: call.Target(httpdoor.Target{}), found: map[string]stored{}}
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
