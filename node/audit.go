package node

import (
	"context"
	"errors"
	"net/netip"
	"sync/atomic"
	"time"

	"cordwood/node/config"
	"cordwood/node/trail"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/router/access"
	"cordwood/router/audit"
	"cordwood/router/write"
	"cordwood/shard/vfs"
)

// auditing is how the node records changes.
type auditing struct {
	// changes makes the records.
	changes *audit.Log
	trail   *trail.Trail
	// keeper writes the records of the metadata log; nil if the node is no member of the metadata group.
	keeper atomic.Pointer[trail.Keeper]
	// table writes rows to svc_private.audit; nil until the node knows the cluster.
	table atomic.Pointer[trail.Table]
	off   bool
}

// flushRepeated is how often repeated sign-ins and refusals are counted in a record.
const flushRepeated = 5 * time.Second

// openAudit opens the files with audit records. Records that are made before the node knows the cluster wait in them.
func (n *node) openAudit() (err error) {
	n.trail, err = trail.Open(trail.Config{
		FS: vfs.OS, Dir: n.cfg.Path("audit"), Node: n.cfg.NodeName, Write: n.writeAudit, Now: time.Now, Logger: n.log,
		Registerer: n.registry,
	})
	if err != nil {
		return err
	}
	n.trouble.audit.Store(&n.front.auditing)
	n.run("storing audit records", n.trail.Run)
	if n.auditing.off = n.cfg.Users.Audit == config.AuthOff; n.auditing.off {
		n.log.Warn("this node stores no audit records (--audit=off)")
		audit.New(n.log, n.trail).Record(context.Background(), audit.Change{
			By:   &access.Caller{Sender: access.Sender{User: n.cfg.NodeName, Proof: "settings"}},
			Need: access.Need{Action: "switch off audit", Object: access.Object{Kind: access.Node, Name: n.cfg.NodeName}},
		})
		n.changes = audit.New(n.log, nil)
		return nil
	}
	n.changes = audit.New(n.log, n.trail)
	n.run("counting repeated audit records", func(ctx context.Context) error {
		tick := time.NewTicker(flushRepeated)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				n.changes.Flush(true)
				return nil
			case <-tick.C:
				n.changes.Flush(false)
			}
		}
	})
	return nil
}

// errNoCluster is why audit records are not in the table yet.
var errNoCluster = errors.New("the node does not know the cluster yet")

func (n *node) writeAudit(ctx context.Context, rows []trail.Row) error {
	if t := n.auditing.table.Load(); t != nil {
		return t.Write(ctx, rows)
	}
	return errNoCluster
}

// storeAudit begins to write audit records to the table. It has a Writer of its own, so that its rows are not counted
// as ingestion.
func (n *node) storeAudit() error {
	w, err := write.New(write.Config{Meta: n.meta, Shards: n.shards, ClusterVersion: n.meta.ClusterVersion, Logger: n.log})
	if err != nil {
		return err
	}
	n.auditing.table.Store(&trail.Table{Writer: w, Catalog: n.meta})
	n.run("recording the chain of audit records", n.markAudit)
	if n.member == nil {
		return nil
	}
	k := trail.NewKeeper(trail.KeeperConfig{
		Group: n.member, Propose: n.meta.Propose, Write: n.writeAudit, Now: time.Now, Logger: n.log,
	})
	n.keeper.Store(k)
	n.run("storing audit records of the metadata group", k.Run)
	return nil
}

// markAuditEvery is how often the chain value of the node's last audit record goes into the metadata log, where
// nobody can change it together with the table.
const markAuditEvery = time.Hour

func (n *node) markAudit(ctx context.Context) error {
	tick := time.NewTicker(markAuditEvery)
	defer tick.Stop()
	for last := int64(0); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		cmd := n.trail.Mark(n.data.nodeID)
		if cmd == nil || int64(cmd.Through) == last || n.meta.ClusterVersion() < metapb.ProtocolAudit {
			continue
		}
		if _, err := n.meta.Propose(ctx, &metapb.Command{
			TimeUnixNano: time.Now().UnixNano(), Op: &metapb.Command_MarkAudit{MarkAudit: cmd},
		}); err != nil {
			n.log.Warn("the chain of audit records cannot be recorded; this is tried again in an hour", "error", err)
			continue
		}
		last = int64(cmd.Through)
	}
}

// refusedSignIn records a failed sign-in.
func (n *front) refusedSignIn(s access.Sender, from netip.Addr, err error) {
	n.changes.Record(context.Background(), audit.Change{
		By:   &access.Caller{Sender: s, Address: from},
		Need: access.Need{Action: audit.SignIn, Object: access.Object{Kind: access.Principal, Name: s.User}},
		Err:  refusal(err),
	})
}

// refusal returns err as a refusal, which failed sign-ins are, also those that are refused because of too many others.
func refusal(err error) error {
	if e := errs.From(err); e.Code == errs.RateLimited {
		return (&errs.Error{Code: e.Code, Msg: e.Msg}).WithStatus(401)
	}
	return err
}

// warnings describes what is wrong with the audit of this node.
func (a *auditing) auditWarnings() (out []string) {
	if a.off {
		out = append(out, "this node stores no audit records: --audit=off")
	}
	if a.trail != nil {
		s := a.trail.State()
		if s.Failing != nil && time.Since(s.Since) > auditPatience {
			out = append(out, "audit records cannot be written to svc_private.audit since "+
				s.Since.UTC().Format(time.RFC3339)+": "+s.Failing.Error())
		}
		if s.Lost > 0 {
			out = append(out, "audit records were lost since the start of this node: their number is in "+
				"cordwood_audit_lost_total")
		}
	}
	if k := a.keeper.Load(); k != nil {
		if s := k.State(); s.Failing != nil && time.Since(s.Since) > auditPatience {
			out = append(out, "audit records of the metadata group cannot be written to svc_private.audit since "+
				s.Since.UTC().Format(time.RFC3339)+": "+s.Failing.Error())
		}
	}
	return out
}

// auditPatience is how long the table may fail before this is a warning, because elections take some seconds.
const auditPatience = 30 * time.Second

// auditedProposal adds the record of a change, and who makes it, to a command of a user's, and replaces what the user
// has set.
func auditedProposal(cmd *metapb.Command, c audit.Change, changes bool) {
	cmd.Audit, cmd.Issuer = nil, audit.IssuerOf(c)
	if changes {
		cmd.Audit = audit.RecordOf(c)
	}
}
