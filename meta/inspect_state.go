package meta

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"cordwood/meta/catalog"
	"cordwood/proto/metapb"
	"cordwood/proto/rights"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
)

// printState prints everything that tx sees.
func printState(w io.Writer, tx *catalog.Tx) error {
	p := &printer{w: w}
	index, term := tx.Applied()
	p.line("cluster %s of version %d, applied index %d of term %d, %d databases, %d tables", tx.ClusterID(),
		tx.ClusterVersion(), index, term, tx.Databases.Count(), tx.Tables.Count())
	for _, print := range []func(*printer, *catalog.Tx) error{
		printSettings, printNodes, printShards, printRetired, printOperations, printPipelines, printSaved, printPrincipals,
		printTokens, printAudit,
		printDatabases, printTables, printDropped,
	} {
		if err := print(p, tx); err != nil {
			return err
		}
	}
	return p.err
}

func printSettings(p *printer, tx *catalog.Tx) error {
	settings, err := tx.Settings()
	if err != nil {
		return err
	}
	p.line("settings replication=%d initial_shards=%d rebalance_paused=%t", settings.Replication,
		settings.InitialShards, settings.RebalancePaused)
	return nil
}

func printNodes(p *printer, tx *catalog.Tx) error {
	nodes, err := tx.Nodes.All()
	if err != nil {
		return err
	}
	for _, n := range nodes {
		p.line("node %s name=%s rpc=%s http=%s roles=%s zone=%s state=%s version=%s protocol=%d-%d registered=%s",
			n.Id, n.Name, n.RpcAddr, n.HttpAddr, strings.Join(n.Roles, ","), n.Zone, word(n.State, "NODE_STATE_"), n.Version,
			n.MinProtocol, n.MaxProtocol, stamp(n.RegisteredUnixNano))
	}
	for _, id := range tx.Nodes.Removed() {
		p.line("removed node %s", id)
	}
	return nil
}

func printShards(p *printer, tx *catalog.Tx) error {
	shards, err := tx.Shards.All()
	if err != nil {
		return err
	}
	tables := map[uint32]uint64{}
	for _, l := range tx.Shards.Loads() {
		tables[l.ShardID] = l.Tables
	}
	for _, s := range shards {
		state := ""
		if s.Retiring {
			state = " retiring"
		}
		p.line("shard %d incarnation=%d version=%d want=%d replicas=%s learners=%s founders=%s removed=%s tables=%d%s",
			s.Id, s.Incarnation, s.Version, s.Want,
			strings.Join(s.Replicas, ","), strings.Join(s.Learners, ","), strings.Join(s.Founders, ","),
			strings.Join(s.Removed, ","), tables[s.Id], state)
	}
	return nil
}

func printRetired(p *printer, tx *catalog.Tx) error {
	retired, err := tx.Shards.AllRetired()
	if err != nil {
		return err
	}
	for _, s := range retired {
		p.line("retired shard %d incarnation=%d removed=%s", s.Id, s.Incarnation, strings.Join(s.Removed, ","))
	}
	return nil
}

func printPipelines(p *printer, tx *catalog.Tx) error {
	for last := (*metapb.PipelineVersion)(nil); p.err == nil; {
		list, err := tx.Pipelines.From("", last, piecePipelines)
		if err != nil || len(list) == 0 {
			return err
		}
		for _, v := range list {
			p.line("pipeline %s version=%s type=%s bytes=%d by=%s note=%q", v.Name, stamp(v.Version), v.ContentType, v.Size,
				v.By, v.Note)
			last = v
		}
	}
	return nil
}

// printPrincipals omits the verifiers of passwords.
func printPrincipals(p *printer, tx *catalog.Tx) error {
	all, err := tx.Principals.All()
	for _, one := range all {
		state := ""
		if one.Disabled {
			state = ", disabled"
		}
		p.line("%s %s%s: roles %v", kindOfPrincipal(one.Role), one.Name, state, one.Roles)
		for _, g := range one.Grants {
			grant := rights.FromProto(g)
			p.line("  %s on %s, granted by %s", grant.Privileges, grant.Target, g.GrantedBy)
		}
	}
	return err
}

// printTokens omits the hashes.
func printTokens(p *printer, tx *catalog.Tx) error {
	all, err := tx.Tokens.All()
	for _, one := range all {
		p.line("token %s id=%s user=%q ingest-only=%t by=%s expires=%s from=%v", one.Name, one.Id, one.User, one.IngestOnly,
			one.CreatedBy, stamp(one.ExpiresUnixNano), one.From)
		for _, g := range one.Grants {
			grant := rights.FromProto(g)
			p.line("  %s on %s", grant.Privileges, grant.Target)
		}
	}
	return err
}

func printAudit(p *printer, tx *catalog.Tx) error {
	heads, err := tx.Audit.Heads()
	if err != nil {
		return err
	}
	for _, h := range heads {
		p.line("audit source=%q through=%d chain=%x lost=%d at=%s", h.Source, h.Through, h.Chain, h.Lost,
			stamp(h.TimeUnixNano))
	}
	entries, err := tx.Audit.First(catalog.MaxAudit)
	for _, e := range entries {
		p.line("audit record %d at=%s by=%q action=%q", e.Index, stamp(e.TimeUnixNano), e.Record.GetPrincipal(),
			e.Record.GetAction())
	}
	return err
}

// printSaved omits the values, since they are private searches of users.
func printSaved(p *printer, tx *catalog.Tx) error {
	for last := []byte(nil); p.err == nil; {
		list, err := tx.Saved.From("", last, piecePipelines)
		if err != nil || len(list) == 0 {
			return err
		}
		for _, s := range list {
			p.line("saved %s %q owner=%s shared=%t version=%d updated=%s used=%s bytes=%d", s.Kind, s.Name, s.Owner, s.Shared,
				s.Version, stamp(s.UpdatedUnixNano), stamp(s.UsedUnixNano), s.Size)
			last = tx.Saved.Key(s)
		}
	}
	return nil
}

func printDatabases(p *printer, tx *catalog.Tx) error {
	databases, err := tx.Databases.All()
	if err != nil {
		return err
	}
	for _, d := range databases {
		p.line("database %s%s created=%s", d.Name, optionText(d.Options), stamp(d.CreatedUnixNano))
	}
	return nil
}

func printTables(p *printer, tx *catalog.Tx) error {
	for after, done := uint64(0), false; !done && p.err == nil; {
		var list []*schemapb.Table
		var err error
		if list, done, err = tx.Tables.From(after, pieceTables, pieceBytes); err != nil {
			return err
		}
		for _, t := range list {
			printTable(p, t)
			after = t.Id
		}
	}
	return nil
}

func printDropped(p *printer, tx *catalog.Tx) error {
	for after := uint64(0); p.err == nil; {
		list := tx.Tables.DroppedFrom(after, pieceDropped)
		if len(list) == 0 {
			break
		}
		for _, d := range list {
			p.line("dropped table %d %s.%s at index %d, %s", d.ID, d.Database, d.Name, d.Index, stamp(d.UnixNano))
			after = d.ID
		}
	}
	return nil
}

func printOperations(p *printer, tx *catalog.Tx) error {
	operations, err := tx.Operations.All()
	if err != nil {
		return err
	}
	for _, o := range operations {
		p.line("operation %d %s state=%s version=%d step=%s attempt=%d parent=%d shard=%d table=%d node=%s from=%s "+
			"to=%s created=%s updated=%s reason=%q",
			o.Id, o.Kind, word(o.State, "OPERATION_STATE_"), o.Version, o.Step, o.Attempt, o.Parent, o.ShardId,
			o.TableId, o.NodeId, o.FromNode, o.ToNode,
			stamp(o.CreatedUnixNano), stamp(o.UpdatedUnixNano), o.Reason)
	}
	return nil
}

// word returns the name of a state without the prefix that all names share. Without a state it
// returns "up", for nodes from before there were states.
func word(state fmt.Stringer, prefix string) string {
	w := strings.ToLower(strings.TrimPrefix(state.String(), prefix))
	if w == "unspecified" {
		return "up"
	}
	return w
}

func printTable(p *printer, t *schemapb.Table) {
	p.line("table %d %s.%s version=%d min_writer_version=%d next_column_id=%d%s created=%s",
		t.Id, t.Database, t.Name, t.Version, t.MinWriterVersion, t.NextColumnId, optionText(t.Options),
		stamp(t.CreatedUnixNano))
	for _, pl := range t.Placement {
		more := ""
		for _, id := range pl.MoreShards {
			more += fmt.Sprintf(",%d", id)
		}
		if pl.Closed {
			more += ", closed"
		}
		if pl.Handed {
			more += ", handed over"
		}
		p.line("  epoch %d on shard %d%s", pl.Epoch, pl.ShardId, more)
	}
	if h := t.Handoff; h != nil {
		p.line("  is handed over to shards %v as table %d", h.ShardIds, h.TableId)
	}
	for _, c := range t.Columns {
		col := schema.ColumnFromProto(c)
		null, def := "", ""
		if col.NotNull {
			null = " NOT NULL"
		}
		if col.Default != nil {
			def = " DEFAULT " + *col.Default
		}
		p.line("  column %d %q %s %s%s%s", col.ID, col.Name, col.Type, col.Semantic, null, def)
	}
}

func optionText(options map[string]string) string {
	var s strings.Builder
	for _, k := range slices.Sorted(maps.Keys(options)) {
		s.WriteString(" " + k + "='" + options[k] + "'")
	}
	return s.String()
}
