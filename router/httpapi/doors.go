package httpapi

import (
	"net/http"

	"cordwood/router/access"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/ingest"
	"cordwood/router/ingest/httpdoor"
)

// Door is the URLs of a protocol of another system. What they have in common with all others, users,
// limits, metrics, stands before them; parameters and headers that nobody knows are ignored.
type Door struct {
	Protocol ingest.Protocol
	// Routes are those on the users' port, under a path of our own.
	Routes []httpdoor.Route
	// Own are those on a listener of the door's own, with the paths of the original product; nil: it has
	// none. settings are what the listener says.
	Own func(settings httpdoor.Settings) []httpdoor.Route
	// WriteError answers an error in the words of the protocol: it begins with exchange.Refuse.
	WriteError func(w http.ResponseWriter, r *http.Request, err error)
	// Credentials, if not nil, puts credentials that the protocol sends in a form of its own into the header
	// Authorization, as Basic.
	Credentials func(r *http.Request)
}

// openDoors are all doors that have URLs. A new one is a line here, and a file door_NAME.go with its function.
func (s *Server) openDoors() []Door {
	return nil
}

// door is what the handlers of a door work with. table and pipeline are where its records go if nothing else is said;
// without a pipeline it maps them to columns itself.
func (s *Server) door(p ingest.Protocol, table, pipeline string) *httpdoor.Door {
	return &httpdoor.Door{
		Protocol: p, Service: s.ingestion, Bodies: s.cfg.Bodies, Table: table, Pipeline: pipeline,
	}
}

// DoorHandler serves the paths of a protocol's own listener; nil: it has none.
func (s *Server) DoorHandler(p ingest.Protocol, settings httpdoor.Settings) (http.Handler, error) {
	for i := range s.doors {
		if d := &s.doors[i]; d.Protocol == p && d.Own != nil {
			return s.build(d.routes(d.Own(settings)))
		}
	}
	return nil, nil
}

// routes makes routes of those of a door.
func (d *Door) routes(list []httpdoor.Route) []route {
	var out []route
	for _, r := range list {
		rt := route{methods: r.Methods, path: r.Path, needs: r.Needs, handler: r.Handler, asksAgain: true, door: d}
		if r.Needs == access.Insert {
			rt.action = "ingest"
		}
		out = append(out, rt)
	}
	return out
}

// begin has a request be answered in the words of the protocol from now on, and not too often: some clients
// send again at once whatever they are told.
func (s *Server) begin(d *Door, x *exchange.Exchange, r *http.Request) {
	x.ErrorAs = func(w http.ResponseWriter, r *http.Request, err error) {
		sender := x.Caller.KnownShare()
		if sender == "" {
			sender = "address " + access.Network(x.Client).String()
		}
		s.ingestion.HoldRefusal(r.Context(), sender)
		d.WriteError(w, r, err)
	}
	if d.Credentials != nil {
		d.Credentials(r)
	}
}
