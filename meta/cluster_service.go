package meta

import (
	"unicode/utf8"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
)

// This file prepares commands about the cluster as a whole.

const (
	// maxShards is the maximum number of shards with which a cluster is bootstrapped.
	maxShards = 256
	maxIDLen  = 256
)

// prepareBootstrap sets the cluster's first version: this program's, unless the founders agreed on
// a lower one.
func prepareBootstrap(b *metapb.Bootstrap) error {
	if err := checkText("cluster id", b.ClusterId, true); err != nil {
		return err
	}
	if err := checkText("node id", b.NodeId, false); err != nil {
		return err
	}
	if b.Shards < 1 || b.Shards > maxShards {
		return errs.New(errs.InvalidArguments, "Bootstrap with %d shards: 1 to %d are possible", b.Shards, maxShards)
	}
	if b.Replication == 0 {
		b.Replication = 1
	}
	if err := checkWant(b.Replication); err != nil {
		return err
	}
	if b.ClusterVersion == 0 {
		b.ClusterVersion = metapb.MaxProtocol
	}
	if b.NodeId == "" && b.ClusterVersion < metapb.ProtocolCluster {
		return errs.New(errs.InvalidArguments, "Bootstrap without a node needs protocol version %d, and a founder "+
			"understands %d at most; start newer programs", metapb.ProtocolCluster, b.ClusterVersion)
	}
	return checkVersion("Bootstrap", b.ClusterVersion)
}

func prepareSetClusterVersion(v *metapb.SetClusterVersion) error {
	return checkVersion("Set the cluster's version", v.Version)
}

func checkVersion(what string, v uint32) error {
	if v < metapb.MinProtocol || v > metapb.MaxProtocol {
		return errs.New(errs.InvalidArguments,
			"%s: this member understands protocol versions %d to %d, not %d; start a program that does", what,
			metapb.MinProtocol, metapb.MaxProtocol, v)
	}
	return nil
}

func prepareSetSettings(s *metapb.SetSettings) error {
	if s.Settings == nil {
		return errs.New(errs.InvalidArguments, "Set the cluster's settings: none are given")
	}
	if s.Settings.InitialShards > maxShards {
		return errs.New(errs.InvalidArguments, "Set the cluster's settings: %d initial shards, at most %d are possible",
			s.Settings.InitialShards, maxShards)
	}
	if s.Settings.Replication == 0 {
		s.Settings.Replication = 1
	}
	return checkWant(s.Settings.Replication)
}

// maxTableID is the highest table id that a report of a shard may have. A higher one is a sign of
// damage, and would leave no ids.
const maxTableID = 1 << 62

func prepareRaiseCounters(r *metapb.RaiseCounters) error {
	if r.TableId > maxTableID {
		return errs.New(errs.InvalidArguments, "Raise the counters: no table has the id %d", r.TableId)
	}
	return nil
}

// minVersion returns the version of the cluster that a command needs. Features that are new in a version are refused
// before the cluster uses it, because older members would halt.
func minVersion(cmd *metapb.Command) uint32 {
	if needs := commandRules[opName(cmd)].needs; needs != nil {
		return needs(cmd)
	}
	return metapb.MinProtocol
}

// checkGate refuses a command that the cluster's version does not have yet. It removes the ids of
// other commands, and the authors of pipelines, if the version does not have these. A cluster that
// is not bootstrapped has version 0, and its only command contains the version.
func checkGate(cmd *metapb.Command, version uint32) error {
	if need := minVersion(cmd); need > version && version > 0 {
		return errs.New(errs.Unsupported, "%s needs protocol version %d, and the cluster uses %d: the version is raised "+
			"once "+
			"all nodes, including those that are down, run programs that support it; remove nodes that are lost",
			opName(cmd), need, version)
	}
	if version < metapb.ProtocolCluster {
		cmd.Id = nil
	}
	if version < metapb.ProtocolSaved {
		if p := cmd.GetPutPipeline(); p != nil {
			p.By = ""
		}
		if p := cmd.GetRestorePipeline().GetPipeline(); p != nil {
			p.By = ""
		}
	}
	return nil
}

// checkWidening refuses the option on_type_conflict while there may be programs that do not know
// it, and removes the marks of columns in that case.
func checkWidening(cmd *metapb.Command, version uint32) error {
	if version >= metapb.ProtocolWidening {
		return nil
	}
	columns := cmd.GetCreateTable().GetTable().GetColumns()
	options := []map[string]string{
		cmd.GetCreateTable().GetTable().GetOptions(), cmd.GetAlterTable().GetSetOptions().GetOptions(),
	}
	for _, d := range cmd.GetEnsureSchema().GetTables() {
		columns, options = append(columns, d.Columns...), append(options, d.Options)
	}
	if c := cmd.GetAlterTable().GetAddColumn(); c != nil {
		columns = append(columns, c)
	}
	for _, c := range columns {
		c.WithinDouble, c.Checking = false, false
	}
	for _, o := range options {
		if rule, ok := o[schema.OptionOnTypeConflict]; ok {
			return errs.New(errs.Unsupported, "on_type_conflict=%s needs protocol version %d, and the cluster uses "+
				"%d: the version is raised once all nodes run programs that support it", rule, metapb.ProtocolWidening, version)
		}
	}
	return nil
}

// checkNewOptions refuses options of tables that earlier versions lack while there may be programs that do not know
// them.
func checkNewOptions(cmd *metapb.Command, version uint32) error {
	for _, o := range []map[string]string{
		cmd.GetCreateTable().GetTable().GetOptions(), cmd.GetAlterTable().GetSetOptions().GetOptions(),
	} {
		if o[schema.OptionIceberg] == schema.IcebergDaily && version < metapb.ProtocolColdMerging {
			return errs.New(errs.Unsupported, "iceberg=daily needs protocol version %d, and the cluster uses %d: the version "+
				"is raised once all nodes run programs that support it", metapb.ProtocolColdMerging, version)
		}
		for option, since := range map[string]uint32{
			schema.OptionMessageColumn: metapb.ProtocolSaved, schema.OptionLokiLabels: metapb.ProtocolLokiLabels,
			schema.OptionCold: metapb.ProtocolCold, schema.OptionMaxSize: metapb.ProtocolMaxSize,
			schema.OptionLocalFor: metapb.ProtocolLocalFor,
			schema.OptionIceberg:  metapb.ProtocolIceberg, schema.OptionIcebergNames: metapb.ProtocolIceberg,
		} {
			if name, ok := o[option]; ok && version < since {
				return errs.New(errs.Unsupported, "%s=%s needs protocol version %d, and the cluster uses "+
					"%d: the version is raised once all nodes run programs that support it", option, name, since, version)
			}
		}
	}
	return nil
}

// checkStorage refuses the option iceberg if the member has no object storage.
func checkStorage(cmd *metapb.Command, has bool) error {
	for _, o := range []map[string]string{
		cmd.GetCreateTable().GetTable().GetOptions(), cmd.GetAlterTable().GetSetOptions().GetOptions(),
	} {
		if value, ok := o[schema.OptionIceberg]; ok && !has {
			return errs.New(errs.InvalidArguments, "iceberg=%s shows rows in object storage, and the servers have none: "+
				"set --object-storage-url on all nodes", value)
		}
	}
	return nil
}

// checkQuotas refuses quotas while there may be programs that do not know them: members of the metadata group would
// decide differently about a new table.
func checkQuotas(cmd *metapb.Command, version uint32) error {
	for _, set := range []map[string]string{cmd.GetAlterDatabase().GetSet(), cmd.GetCreateDatabase().GetOptions()} {
		if _, ok := set[schema.OptionAuditReads]; ok && version < metapb.ProtocolAudit {
			return errs.New(errs.Unsupported, "the option %s needs protocol version %d, and the cluster uses %d: the version "+
				"is raised once all nodes run programs that support it", schema.OptionAuditReads, metapb.ProtocolAudit, version)
		}
	}
	for key := range cmd.GetAlterDatabase().GetSet() {
		needs := uint32(metapb.ProtocolQuotas)
		switch key {
		case schema.QuotaCPU, schema.QuotaDuration:
			needs = metapb.ProtocolQueryQuotas
		case schema.QuotaTails:
			needs = metapb.ProtocolTailQuotas
		}
		if schema.IsQuota(key) && version < needs {
			return errs.New(errs.Unsupported, "quotas need protocol version %d, and the cluster uses %d: the version is raised "+
				"once all nodes run programs that support it", needs, version)
		}
	}
	return nil
}

// checkSpread refuses new tables that merge rows and have several shards while there may be
// programs that do not know where each row belongs.
func checkSpread(cmd *metapb.Command, version uint32) error {
	if version >= metapb.ProtocolHandoff {
		return nil
	}
	if c := cmd.GetCreateTable(); c != nil {
		return schema.CheckPartitions(c.Table.GetOptions())
	}
	for _, d := range cmd.GetEnsureSchema().GetTables() {
		if err := schema.CheckPartitions(d.Options); err != nil {
			return err
		}
	}
	return nil
}

func checkText(what, text string, required bool) error {
	switch {
	case required && text == "":
		return errs.New(errs.InvalidArguments, "The %s is empty", what)
	case len(text) > maxIDLen:
		return errs.New(errs.InvalidArguments, "The %s has %d bytes, at most %d are possible", what, len(text), maxIDLen)
	case !utf8.ValidString(text):
		return errs.New(errs.InvalidArguments, "The %s is not valid UTF-8", what)
	}
	return nil
}
