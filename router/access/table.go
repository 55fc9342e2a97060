package access

import (
	"fmt"
	"reflect"
	"strings"

	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/shardpb"
)

// Row describes what one kind of action needs.
type Row struct {
	Privilege Privilege
	// Action is the action's name in messages and in the log of changes.
	Action string
	// Object is the kind of object that the action concerns.
	Object ObjectKind
	// Changes is set for actions that change something. They are logged with their user.
	Changes bool
}

// Need returns the privilege that the action needs on an object.
func (r Row) Need(o Object) Need {
	o.Kind = r.Object
	return Need{Privilege: r.Privilege, Action: r.Action, Object: o}
}

// calls has a row for each call of the services in the tunnel for backups. Most calls are for nodes only.
var calls = map[string]Row{
	metapb.Meta_Watch_FullMethodName:         {Backup, "back up", Cluster, false},
	metapb.Meta_ReadPipelines_FullMethodName: {Backup, "back up", Cluster, false},
	metapb.Meta_ReadSaved_FullMethodName:     {Backup, "back up", Cluster, false},
	metapb.Meta_ReadIceberg_FullMethodName:   {Nobody, "call Meta.ReadIceberg", NoObject, false},
	metapb.Meta_Propose_FullMethodName:       {Restore, "restore", Cluster, false}, // each command has its own row
	metapb.Meta_ReadIndex_FullMethodName:     {Nobody, "call Meta.ReadIndex", NoObject, false},
	metapb.Meta_Reached_FullMethodName:       {Nobody, "call Meta.Reached", NoObject, false},
	metapb.Meta_Report_FullMethodName:        {Nobody, "call Meta.Report", NoObject, false},
	metapb.Meta_Status_FullMethodName:        {Nobody, "call Meta.Status", NoObject, false},
	metapb.Meta_ShareQuotas_FullMethodName:   {Nobody, "call Meta.ShareQuotas", NoObject, false},
	metapb.Meta_ChangeMembers_FullMethodName: {Nobody, "call Meta.ChangeMembers", NoObject, false},

	shardpb.ShardService_Pin_FullMethodName:            {Backup, "back up", Cluster, true},
	shardpb.ShardService_ReadSegment_FullMethodName:    {Backup, "back up", Cluster, false},
	shardpb.ShardService_FreezeMemtable_FullMethodName: {Nobody, "call ShardService.FreezeMemtable", NoObject, false},
	shardpb.ShardService_Write_FullMethodName:          {Restore, "restore", Cluster, true},
	shardpb.ShardService_Analyze_FullMethodName:        {Nobody, "call ShardService.Analyze", NoObject, false},
	shardpb.ShardService_Query_FullMethodName:          {Nobody, "call ShardService.Query", NoObject, false},
	shardpb.ShardService_Tail_FullMethodName:           {Nobody, "call ShardService.Tail", NoObject, false},
	shardpb.ShardService_Stats_FullMethodName:          {Nobody, "call ShardService.Stats", NoObject, false},
	shardpb.ShardService_ChangeReplicas_FullMethodName: {Nobody, "call ShardService.ChangeReplicas", NoObject, false},
	shardpb.ShardService_ReadBarrier_FullMethodName:    {Nobody, "call ShardService.ReadBarrier", NoObject, false},
	shardpb.ShardService_DefineTables_FullMethodName:   {Nobody, "call ShardService.DefineTables", NoObject, false},
	shardpb.ShardService_CheckKeys_FullMethodName:      {Nobody, "call ShardService.CheckKeys", NoObject, false},
	shardpb.ShardService_Scan_FullMethodName:           {Nobody, "call ShardService.Scan", NoObject, false},
	shardpb.ShardService_HandOver_FullMethodName:       {Nobody, "call ShardService.HandOver", NoObject, false},
	shardpb.ShardService_TableSizes_FullMethodName:     {Nobody, "call ShardService.TableSizes", NoObject, false},
	shardpb.ShardService_ColdObjects_FullMethodName:    {Nobody, "call ShardService.ColdObjects", NoObject, false},
	shardpb.ShardService_ExpireRows_FullMethodName:     {Nobody, "call ShardService.ExpireRows", NoObject, false},
	shardpb.ShardService_Queries_FullMethodName:        {Nobody, "call ShardService.Queries", NoObject, false},
	shardpb.ShardService_KillQuery_FullMethodName:      {Nobody, "call ShardService.KillQuery", NoObject, false},
	shardpb.ShardService_Describe_FullMethodName:       {Nobody, "call ShardService.Describe", NoObject, false},
}

// OfCall returns what a call through the tunnel needs, and whether the first such call on a connection is logged as a
// change.
func OfCall(method string) (n Need, logged bool) {
	row, ok := calls[method]
	if !ok {
		row = Row{Privilege: Nobody, Action: "call " + method}
	}
	return row.Need(Object{}), row.Changes
}

// commands has a row for each command that Propose accepts through the tunnel.
var commands = map[reflect.Type]Row{
	reflect.TypeFor[*metapb.Command_CreateDatabase]():    {Restore, "create database", Database, true},
	reflect.TypeFor[*metapb.Command_CreateTable]():       {Restore, "create table", Table, true},
	reflect.TypeFor[*metapb.Command_AlterTable]():        {Restore, "alter table", Table, true},
	reflect.TypeFor[*metapb.Command_DropTable]():         {Restore, "drop table", Table, true},
	reflect.TypeFor[*metapb.Command_TruncateTable]():     {Restore, "truncate table", Table, true},
	reflect.TypeFor[*metapb.Command_ReplaceTables]():     {Restore, "replace tables", Table, true},
	reflect.TypeFor[*metapb.Command_RestorePipeline]():   {Restore, "store pipeline", Pipeline, true},
	reflect.TypeFor[*metapb.Command_RestoreSaved]():      {Restore, "restore saved things", NoObject, true},
	reflect.TypeFor[*metapb.Command_RegisterSession]():   {Restore, "register session", NoObject, false},
	reflect.TypeFor[*metapb.Command_Bootstrap]():         {Nobody, "found the cluster", Cluster, true},
	reflect.TypeFor[*metapb.Command_RegisterNode]():      {Nobody, "register node", Node, true},
	reflect.TypeFor[*metapb.Command_SetNodeState]():      {Nobody, "set state of node", Node, true},
	reflect.TypeFor[*metapb.Command_RemoveNode]():        {Nobody, "remove node", Node, true},
	reflect.TypeFor[*metapb.Command_SetClusterVersion](): {Nobody, "set cluster version", Cluster, true},
	reflect.TypeFor[*metapb.Command_SetSettings]():       {Nobody, "change settings", Cluster, true},
	reflect.TypeFor[*metapb.Command_DropDatabase]():      {Nobody, "drop database", Database, true},
	reflect.TypeFor[*metapb.Command_AlterDatabase]():     {Nobody, "alter database", Database, true},
	reflect.TypeFor[*metapb.Command_EnsureSchema]():      {Nobody, "ensure schema", Table, true},
	reflect.TypeFor[*metapb.Command_PutPipeline]():       {Nobody, "store pipeline", Pipeline, true},
	reflect.TypeFor[*metapb.Command_DeletePipeline]():    {Nobody, "delete pipeline", Pipeline, true},
	reflect.TypeFor[*metapb.Command_PutSaved]():          {Nobody, "save", NoObject, true},
	reflect.TypeFor[*metapb.Command_DropSaved]():         {Nobody, "delete what is saved", NoObject, true},
	reflect.TypeFor[*metapb.Command_TouchSaved]():        {Nobody, "note what is read", NoObject, false},
	reflect.TypeFor[*metapb.Command_CreateShard]():       {Nobody, "create shard", Cluster, true},
	reflect.TypeFor[*metapb.Command_ChangeShard]():       {Nobody, "change shard", Cluster, true},
	reflect.TypeFor[*metapb.Command_RetireShard]():       {Nobody, "retire shard", Cluster, true},
	reflect.TypeFor[*metapb.Command_PlaceTable]():        {Nobody, "place table", Table, true},
	reflect.TypeFor[*metapb.Command_FoundShards]():       {Nobody, "note founders of shards", Cluster, true},
	reflect.TypeFor[*metapb.Command_RaiseCounters]():     {Nobody, "raise counters", Cluster, true},
	reflect.TypeFor[*metapb.Command_PutOperation]():      {Nobody, "start operation", Operation, true},
	reflect.TypeFor[*metapb.Command_DropOperations]():    {Nobody, "drop operations", Operation, true},
	reflect.TypeFor[*metapb.Command_ChangeAccess]():      {Nobody, "change users", Principal, true},
	reflect.TypeFor[*metapb.Command_MarkAudit]():         {Nobody, "mark the audit", NoObject, false},
	reflect.TypeFor[*metapb.Command_CommitIceberg]():     {Nobody, "commit an Iceberg table", NoObject, false},
	reflect.TypeFor[*metapb.Command_TouchTokens]():       {Nobody, "note uses of tokens", NoObject, false},
}

// OfCommand returns what a metadata command that comes through the tunnel needs, and whether it is logged as a
// change.
func OfCommand(cmd *metapb.Command) (n Need, changes bool) {
	row, ok := commands[reflect.TypeOf(cmd.GetOp())]
	if !ok {
		row = Row{Privilege: Nobody, Action: "propose an unknown command", Changes: true}
	}
	var o Object
	switch op := cmd.GetOp().(type) {
	case *metapb.Command_CreateDatabase:
		o.Database = op.CreateDatabase.GetName()
	case *metapb.Command_CreateTable:
		o.Database, o.Name = op.CreateTable.GetTable().GetDatabase(), op.CreateTable.GetTable().GetName()
	case *metapb.Command_AlterTable:
		o.Database, o.Name = op.AlterTable.GetDatabase(), op.AlterTable.GetName()
	case *metapb.Command_DropTable:
		o.Database, o.Name = op.DropTable.GetDatabase(), op.DropTable.GetName()
	case *metapb.Command_TruncateTable:
		o.Database, o.Name = op.TruncateTable.GetDatabase(), op.TruncateTable.GetName()
	case *metapb.Command_ReplaceTables:
		o.Name = replacedNames(op.ReplaceTables.GetTables())
	case *metapb.Command_RestorePipeline:
		o.Name = op.RestorePipeline.GetPipeline().GetName()
	}
	return row.Need(o), row.Changes
}

// replacedNames returns the names of the first few tables that replace others, for a message.
func replacedNames(tables []*metapb.TableReplacement) string {
	const most = 10
	var names []string
	for _, t := range tables[:min(len(tables), most)] {
		names = append(names, schema.FormatTableName(t.GetDatabase(), t.GetName()))
	}
	list := strings.Join(names, ", ")
	if more := len(tables) - most; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return list
}

// operations has a row for each kind of operation, and for each request that replaces an operation.
var operations = map[string]Row{
	"shard-add":         {Operate, "start operation", Operation, true},
	"shard-move":        {Operate, "start operation", Operation, true},
	"shard-split-hot":   {Operate, "start operation", Operation, true},
	"shard-drop":        {Operate, "start operation", Operation, true},
	"shard-remove":      {Operate, "start operation", Operation, true},
	"replica-repair":    {Nobody, "start operation", Operation, true}, // only the cluster itself does this
	"replica-rebuild":   {Operate, "start operation", Operation, true},
	"replica-change":    {Operate, "start operation", Operation, true},
	"table-move":        {Operate, "start operation", Operation, true},
	"table-partition":   {Operate, "start operation", Operation, true},
	"node-drain":        {Operate, "start operation", Operation, true},
	"node-undrain":      {Operate, "start operation", Operation, true},
	"node-decommission": {Operate, "start operation", Operation, true},
	"node-remove":       {Operate, "start operation", Operation, true},
	"rebalance":         {Operate, "start operation", Operation, true},
	"rebalance-pause":   {Operate, "start operation", Operation, true},
	"rebalance-resume":  {Operate, "start operation", Operation, true},
}

// OfOperation returns what a kind of operation needs, and whether there is a row for it. If there is none, the kind
// does not exist.
func OfOperation(kind string) (n Need, known bool) {
	row, known := operations[kind]
	return row.Need(Object{Name: kind}), known
}
