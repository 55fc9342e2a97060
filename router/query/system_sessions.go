package query

import (
	"context"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/router/access"
)

// clients has what the server knows about users and the sessions of PostgreSQL clients.
type clients struct {
	users func() []access.Sender
	// principals are the users and roles of the metadata; nil: users are not authenticated.
	principals func() []*metapb.AccessPrincipal
	sessions   func(ctx context.Context, all bool) ([]*metapb.ClientSession, error)
}

// sessionsTable is svc_private.pg_sessions: the sessions of PostgreSQL clients on all nodes. Users see their own
// sessions. They see the sessions of other users if they may see the queries of these users.
var sessionsTable = &systemTable{
	id: 10, database: schema.PrivateDatabase, name: "pg_sessions", needs: access.Query,
	columns: []schema.Column{
		text("node_id"), text("node"), number("pid"), text("principal"), text("address"), text("application_name"),
		text("database"), moment("since"), text("state"), text("query_id"),
	},
	rows: func(f *facts, w *rowWriter) error {
		list, err := f.clientSessions(true)
		if err != nil {
			return err
		}
		names := f.nodeNames()
		for _, s := range list {
			w.add(s.NodeId, orNull(names[s.NodeId]), s.Pid, s.Principal, s.Address, s.ApplicationName, s.Database,
				s.SinceUnixNano, s.State, orNull(s.QueryId))
		}
		return nil
	},
}

// clientSessions returns the sessions that the caller may see.
func (f *facts) clientSessions(all bool) ([]*metapb.ClientSession, error) {
	if f.clients.sessions == nil {
		return nil, nil
	}
	share, err := queriesOf(f.ctx)
	if err != nil {
		return nil, err
	}
	list, err := f.clients.sessions(f.ctx, all)
	if err != nil {
		if f.ctx.Err() != nil {
			return nil, err
		}
		f.warnings = append(f.warnings, errs.From(err).Msg)
	}
	var own []*metapb.ClientSession
	for _, s := range list {
		if share == "" || s.Share == share {
			own = append(own, s)
		}
	}
	return own, nil
}

// userNames returns the users that the caller may know besides itself.
func (f *facts) userNames() []string {
	if f.clients.users == nil {
		return nil
	}
	if !access.From(f.ctx).May(access.Need{Privilege: access.ManageAccess}) {
		return nil
	}
	var names []string
	for _, s := range f.clients.users() {
		names = append(names, s.User)
	}
	return names
}
