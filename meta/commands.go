package meta

import (
	"cordwood/meta/catalog"
	"cordwood/proto/metapb"
)

// commandRule determines how one kind of command is handled.
type commandRule struct {
	// needs returns the version of the cluster that a command needs. If it is nil, every version
	// has the command.
	needs func(*metapb.Command) uint32
	// prepare completes a command before the log, or refuses it. It does not read the state. If it
	// is nil, there is nothing to complete.
	prepare func(*metapb.Command) error
	// apply applies a command of the log to the state, or refuses it and changes nothing.
	apply func(*applying) (*metapb.Result, error)
}

// applying is a command that is being applied.
type applying struct {
	tx  *catalog.Tx
	cmd *metapb.Command
	c   *change
}

// now returns the time of the command, by the clock of the node that proposed it.
func (a *applying) now() int64 { return a.cmd.TimeUnixNano }

// commandRules contains the rules of all kinds of commands, by their names (opName).
var commandRules = map[string]commandRule{
	"bootstrap": {
		prepare: func(c *metapb.Command) error { return prepareBootstrap(c.GetBootstrap()) },
		apply: func(a *applying) (*metapb.Result, error) {
			return applyBootstrap(a.tx, a.cmd.GetBootstrap(), a.now(), a.c)
		},
	},
	"register_node": {
		needs:   needsOfNode,
		prepare: func(c *metapb.Command) error { return prepareRegisterNode(c.GetRegisterNode()) },
		apply: func(a *applying) (*metapb.Result, error) {
			return applyRegisterNode(a.tx, a.cmd.GetRegisterNode(), a.now(), a.c)
		},
	},
	"register_session": {
		prepare: func(c *metapb.Command) error { return prepareRegisterSession(c.GetRegisterSession()) },
		apply: func(a *applying) (*metapb.Result, error) {
			return applyRegisterSession(a.tx)
		},
	},
	"set_node_state": {
		needs:   always(metapb.ProtocolCluster),
		prepare: func(c *metapb.Command) error { return prepareSetNodeState(c.GetSetNodeState()) },
		apply: func(a *applying) (*metapb.Result, error) {
			return applySetNodeState(a.tx, a.cmd.GetSetNodeState(), a.c)
		},
	},
	"remove_node": {
		needs:   always(metapb.ProtocolCluster),
		prepare: func(c *metapb.Command) error { return prepareRemoveNode(c.GetRemoveNode()) },
		apply: func(a *applying) (*metapb.Result, error) {
			return applyRemoveNode(a.tx, a.cmd.GetRemoveNode(), a.now(), a.c)
		},
	},
	"set_cluster_version": {
		prepare: func(c *metapb.Command) error { return prepareSetClusterVersion(c.GetSetClusterVersion()) },
		apply: func(a *applying) (*metapb.Result, error) {
			return applySetClusterVersion(a.tx, a.cmd.GetSetClusterVersion(), a.c)
		},
	},
	"set_settings": {
		needs:   always(metapb.ProtocolCluster),
		prepare: func(c *metapb.Command) error { return prepareSetSettings(c.GetSetSettings()) },
		apply: func(a *applying) (*metapb.Result, error) {
			return applySetSettings(a.tx, a.cmd.GetSetSettings(), a.c)
		},
	},
	"create_shard": {
		needs:   always(metapb.ProtocolCluster),
		prepare: func(c *metapb.Command) error { return prepareCreateShard(c.GetCreateShard()) },
		apply: func(a *applying) (*metapb.Result, error) {
			return applyCreateShard(a.tx, a.cmd.GetCreateShard(), a.c)
		},
	},
	"change_shard": {
		needs:   needsOfShard,
		prepare: func(c *metapb.Command) error { return prepareChangeShard(c.GetChangeShard()) },
		apply: func(a *applying) (*metapb.Result, error) {
			return applyChangeShard(a.tx, a.cmd.GetChangeShard(), a.c)
		},
	},
	"retire_shard": {
		needs: always(metapb.ProtocolRetire),
		apply: func(a *applying) (*metapb.Result, error) {
			return applyRetireShard(a.tx, a.cmd.GetRetireShard(), a.c)
		},
	},
	"found_shards": {
		needs:   always(metapb.ProtocolMarks),
		prepare: func(c *metapb.Command) error { return prepareFoundShards(c.GetFoundShards()) },
		apply: func(a *applying) (*metapb.Result, error) {
			return applyFoundShards(a.tx, a.cmd.GetFoundShards(), a.c)
		},
	},
	"raise_counters": {
		needs:   always(metapb.ProtocolMarks),
		prepare: func(c *metapb.Command) error { return prepareRaiseCounters(c.GetRaiseCounters()) },
		apply: func(a *applying) (*metapb.Result, error) {
			return applyRaiseCounters(a.tx, a.cmd.GetRaiseCounters(), a.c)
		},
	},
	"place_table": {
		needs:   needsOfPlace,
		prepare: func(c *metapb.Command) error { return preparePlaceTable(c.GetPlaceTable()) },
		apply: func(a *applying) (*metapb.Result, error) {
			return applyPlaceTable(a.tx, a.cmd.GetPlaceTable(), a.now(), a.c)
		},
	},
	"put_operation": {
		needs:   needsOfOperation,
		prepare: func(c *metapb.Command) error { return preparePutOperation(c.GetPutOperation()) },
		apply: func(a *applying) (*metapb.Result, error) {
			return applyPutOperation(a.tx, a.cmd.GetPutOperation(), a.now(), a.c)
		},
	},
	"drop_operations": {
		needs: always(metapb.ProtocolCluster),
		apply: func(a *applying) (*metapb.Result, error) {
			return applyDropOperations(a.tx, a.cmd.GetDropOperations(), a.c)
		},
	},
	"create_database": {
		prepare: func(c *metapb.Command) error { return prepareCreateDatabase(c.GetCreateDatabase()) },
		apply: func(a *applying) (*metapb.Result, error) {
			return applyCreateDatabase(a.tx, a.cmd.GetCreateDatabase(), a.now(), a.c)
		},
	},
	"alter_database": {
		prepare: func(c *metapb.Command) error { return prepareAlterDatabase(c.GetAlterDatabase()) },
		apply: func(a *applying) (*metapb.Result, error) {
			return applyAlterDatabase(a.tx, a.cmd.GetAlterDatabase(), a.c)
		},
	},
	"drop_database": {
		prepare: func(c *metapb.Command) error { return prepareDropDatabase(c.GetDropDatabase()) },
		apply: func(a *applying) (*metapb.Result, error) {
			return applyDropDatabase(a.tx, a.cmd.GetDropDatabase(), a.now(), a.c)
		},
	},
	"ensure_schema": {
		prepare: func(c *metapb.Command) error { return prepareEnsureSchema(c.GetEnsureSchema()) },
		apply: func(a *applying) (*metapb.Result, error) {
			return applyEnsureSchema(a.tx, a.cmd.GetEnsureSchema(), tableLimit(a.cmd), a.now(), a.c)
		},
	},
	"create_table": {
		needs:   needsOfTable,
		prepare: func(c *metapb.Command) error { return prepareCreateTable(c.GetCreateTable()) },
		apply: func(a *applying) (*metapb.Result, error) {
			return applyCreateTable(a.tx, a.cmd.GetCreateTable(), tableLimit(a.cmd), a.now(), a.c)
		},
	},
	"alter_table": {
		needs:   needsOfAlteration,
		prepare: func(c *metapb.Command) error { return prepareAlterTable(c.GetAlterTable()) },
		apply: func(a *applying) (*metapb.Result, error) {
			return applyAlterTable(a.tx, a.cmd.GetAlterTable(), a.c)
		},
	},
	"drop_table": {
		prepare: func(c *metapb.Command) error { return checkDatabase(c.GetDropTable().GetDatabase()) },
		apply: func(a *applying) (*metapb.Result, error) {
			return applyDropTable(a.tx, a.cmd.GetDropTable(), a.now(), a.c)
		},
	},
	"truncate_table": {
		prepare: func(c *metapb.Command) error { return checkDatabase(c.GetTruncateTable().GetDatabase()) },
		apply: func(a *applying) (*metapb.Result, error) {
			return applyTruncateTable(a.tx, a.cmd.GetTruncateTable(), a.now(), a.c)
		},
	},
	"replace_tables": {
		needs:   always(metapb.ProtocolReplace),
		prepare: func(c *metapb.Command) error { return prepareReplaceTables(c.GetReplaceTables()) },
		apply: func(a *applying) (*metapb.Result, error) {
			return applyReplaceTables(a.tx, a.cmd.GetReplaceTables(), a.now(), a.c)
		},
	},
	"put_pipeline": {
		needs:   needsOfPut,
		prepare: func(c *metapb.Command) error { return preparePutPipeline(c.GetPutPipeline()) },
		apply: func(a *applying) (*metapb.Result, error) {
			return applyPutPipeline(a.tx, a.cmd.GetPutPipeline(), a.now(), a.c)
		},
	},
	"delete_pipeline": {
		prepare: func(c *metapb.Command) error { return prepareDeletePipeline(c.GetDeletePipeline()) },
		apply: func(a *applying) (*metapb.Result, error) {
			return applyDeletePipeline(a.tx, a.cmd.GetDeletePipeline(), a.c)
		},
	},
	"restore_pipeline": {
		needs:   needsOfRestored,
		prepare: func(c *metapb.Command) error { return prepareRestorePipeline(c.GetRestorePipeline()) },
		apply: func(a *applying) (*metapb.Result, error) {
			return applyRestorePipeline(a.tx, a.cmd.GetRestorePipeline(), a.c)
		},
	},
	"put_saved": {
		needs: always(metapb.ProtocolSaved),
		prepare: func(c *metapb.Command) error {
			return checkSaved(c.GetPutSaved().GetSaved(), c.GetPutSaved().GetValue())
		},
		apply: func(a *applying) (*metapb.Result, error) {
			return applyPutSaved(a.tx, a.cmd.GetPutSaved(), a.now())
		},
	},
	"drop_saved": {
		needs:   always(metapb.ProtocolSaved),
		prepare: func(c *metapb.Command) error { return prepareDropSaved(c.GetDropSaved()) },
		apply: func(a *applying) (*metapb.Result, error) {
			return applyDropSaved(a.tx, a.cmd.GetDropSaved())
		},
	},
	"touch_saved": {
		needs: always(metapb.ProtocolSaved),
		prepare: func(c *metapb.Command) error {
			return CheckSavedName(c.GetTouchSaved().GetKind(), c.GetTouchSaved().GetName())
		},
		apply: func(a *applying) (*metapb.Result, error) {
			return applyTouchSaved(a.tx, a.cmd.GetTouchSaved(), a.now())
		},
	},
	"change_access": {
		needs:   needsOfAccess,
		prepare: func(c *metapb.Command) error { return prepareChangeAccess(c.GetChangeAccess()) },
		apply: func(a *applying) (*metapb.Result, error) {
			return applyChangeAccess(a.tx, a.cmd.GetChangeAccess(), a.now(), a.c)
		},
	},
	"touch_tokens": {
		needs:   always(metapb.ProtocolTokens),
		prepare: func(c *metapb.Command) error { return prepareTouchTokens(c.GetTouchTokens()) },
		apply: func(a *applying) (*metapb.Result, error) {
			return applyTouchTokens(a.tx, a.cmd.GetTouchTokens(), a.c)
		},
	},
	"commit_iceberg": {
		needs:   always(metapb.ProtocolIceberg),
		prepare: func(c *metapb.Command) error { return prepareCommitIceberg(c.GetCommitIceberg()) },
		apply: func(a *applying) (*metapb.Result, error) {
			return applyCommitIceberg(a.tx, a.cmd.GetCommitIceberg())
		},
	},
	"mark_audit": {
		needs:   always(metapb.ProtocolAudit),
		prepare: func(c *metapb.Command) error { return prepareMarkAudit(c.GetMarkAudit()) },
		apply: func(a *applying) (*metapb.Result, error) {
			return applyMarkAudit(a.tx, a.cmd.GetMarkAudit(), a.now())
		},
	},
	"restore_saved": {
		needs:   always(metapb.ProtocolSaved),
		prepare: func(c *metapb.Command) error { return prepareRestoreSaved(c.GetRestoreSaved()) },
		apply: func(a *applying) (*metapb.Result, error) {
			return applyRestoreSaved(a.tx, a.cmd.GetRestoreSaved(), a.now())
		},
	},
}
