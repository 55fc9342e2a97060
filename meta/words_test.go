package meta

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"cordwood/meta/catalog"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/shard/replica"
)

// The language of these tests. A line is a command and its words:
//
//	bootstrap c1 shards=2          node n1            session n1
//	create-db web ttl=7d           drop-db web if-exists cascade
//	ensure web.t time:ts9! host:string# n:int64 ttl=1d | web.u time:ts3! no-create
//	create t time:ts3! a:string if-not-exists append_mode=true
//	add-column t c:string          drop-column t c    rename t u
//	set t ttl=7d                   unset t ttl
//	drop t if-exists               truncate t
//	put nginx text                 delete nginx 2000000000
//	ensure svc_private.t time:ts9! internal
//	restore-pipeline nginx 2000000000 text
//	restore t time:ts3! backup=b1  restored t
//
//	bootstrap c1 shards=4 no-node replication=3 version=1
//	node n1 zone=a max=2           state n1 draining  remove-node n1
//	version 2                      settings replication=3 initial=2 paused=true
//	create-shard n1,n2 want=3      change-shard 1 v=1 add=n3 (promote, remove, forget, want)
//	place 1 epoch=1 shards=1,2     drop-ops 3
//	op shard-move id=1 v=2 shard=3 table=1 node=n1 state=done parent=7
//
// A line that begins with #x, for any x, is a proposal with the id x.
//
// A column is name:type, with ! for the time index, # for a tag, * for not null;
// a table without a database is in public. The answer is printed by describe.

var typeWords = map[string]schema.Type{
	"bool": schema.Boolean, "int8": schema.Int8, "int64": schema.Int64, "uint64": schema.Uint64, "float64": schema.Float64,
	"string": schema.String, "json": schema.JSON,
	"ts0": schema.TimestampSecond, "ts3": schema.TimestampMillisecond, "ts6": schema.TimestampMicrosecond,
	"ts9": schema.TimestampNanosecond,
}

// args are the words after the command's name.
type args struct {
	names   []string
	flags   map[string]bool
	options map[string]string
	columns []*schemapb.Column
}

func parseArgs(words []string) args {
	a := args{flags: map[string]bool{}}
	for _, w := range words {
		switch name, rest, found := strings.Cut(w, ":"); {
		case found:
			a.columns = append(a.columns, columnWord(name, rest))
		case strings.Contains(w, "="):
			k, v, _ := strings.Cut(w, "=")
			if a.options == nil {
				a.options = map[string]string{}
			}
			a.options[k] = strings.ReplaceAll(v, "_", " ")
			if v == "last_non_null" || v == "last_row" {
				a.options[k] = v
			}
		case slices.Contains([]string{
			"if-exists", "if-not-exists", "cascade", "no-create", "internal", "no-node",
			"readmit", "lost",
		}, w):
			a.flags[w] = true
		default:
			a.names = append(a.names, w)
		}
	}
	return a
}

func columnWord(name, text string) *schemapb.Column {
	c := &schemapb.Column{Name: name, Semantic: schemapb.Semantic_SEMANTIC_FIELD}
	switch {
	case strings.HasSuffix(text, "!"):
		c.Semantic = schemapb.Semantic_SEMANTIC_TIMESTAMP
	case strings.HasSuffix(text, "#"):
		c.Semantic = schemapb.Semantic_SEMANTIC_TAG
	case strings.HasSuffix(text, "*"):
		c.NotNull = true
	}
	c.Type = schemapb.Type(typeWords[strings.TrimRight(text, "!#*")])
	return c
}

// tableWord splits web.t; t alone is in public.
func tableWord(w string) (database, name string) {
	if d, n, found := strings.Cut(w, "."); found {
		return d, n
	}
	return schema.DefaultDatabase, w
}

// nameAndID splits t/7; t alone has the id 0.
func nameAndID(t *testing.T, w string) (name string, id uint64) {
	t.Helper()
	name, text, found := strings.Cut(w, "/")
	if found {
		var err error
		if id, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	return name, id
}

func command(t *testing.T, line string) *metapb.Command {
	t.Helper()
	words := strings.Fields(line)
	if id, isID := strings.CutPrefix(words[0], "#"); isID {
		cmd := command(t, strings.TrimPrefix(line, words[0]))
		cmd.Id = []byte(fmt.Sprintf("%-16s", id))
		return cmd
	}
	a := parseArgs(words[1:])
	database, table := "", ""
	if len(a.names) > 0 {
		database, table = tableWord(a.names[0])
	}
	alter := func(set func(*metapb.AlterTable)) *metapb.Command {
		x := &metapb.AlterTable{Database: database, Name: table}
		set(x)
		return &metapb.Command{Op: &metapb.Command_AlterTable{AlterTable: x}}
	}
	switch words[0] {
	case "bootstrap":
		n, err := strconv.Atoi(a.options["shards"])
		if err != nil {
			t.Fatal(err)
		}
		b := &metapb.Bootstrap{
			ClusterId: a.names[0], Shards: uint32(n), NodeId: "n1", Replication: a.number("replication"),
			ClusterVersion: a.number("version"),
		}
		if a.flags["no-node"] {
			b.NodeId = ""
		}
		return &metapb.Command{Op: &metapb.Command_Bootstrap{Bootstrap: b}}
	case "node":
		n := &metapb.Node{
			Id: a.names[0], Version: a.options["version"], Zone: a.options["zone"], MinProtocol: 1,
			MaxProtocol: metapb.MaxProtocol,
		}
		if a.options["max"] != "" {
			n.MinProtocol, n.MaxProtocol = 0, a.number("max")
		}
		r := &metapb.RegisterNode{Node: n, Readmit: a.flags["readmit"]}
		for _, m := range strings.FieldsFunc(a.options["marks"], func(r rune) bool { return r == ',' }) {
			if n.Mark != nil {
				r.Earlier = append(r.Earlier, n.Mark)
			}
			n.Mark = markWord(m)
		}
		return &metapb.Command{Op: &metapb.Command_RegisterNode{RegisterNode: r}}
	case "session":
		return &metapb.Command{
			Op: &metapb.Command_RegisterSession{RegisterSession: &metapb.RegisterSession{NodeId: a.names[0]}},
		}
	case "create-db":
		return &metapb.Command{
			Op: &metapb.Command_CreateDatabase{
				CreateDatabase: &metapb.CreateDatabase{Name: a.names[0], IfNotExists: a.flags["if-not-exists"], Options: a.options},
			},
		}
	case "alter-db":
		return &metapb.Command{
			Op: &metapb.Command_AlterDatabase{
				AlterDatabase: &metapb.AlterDatabase{Name: a.names[0], Set: a.options, Unset: a.names[1:]},
			},
		}
	case "drop-db":
		return &metapb.Command{
			Op: &metapb.Command_DropDatabase{
				DropDatabase: &metapb.DropDatabase{Name: a.names[0], IfExists: a.flags["if-exists"], Cascade: a.flags["cascade"]},
			},
		}
	case "ensure":
		e := &metapb.EnsureSchema{}
		for _, part := range strings.Split(strings.TrimPrefix(line, "ensure"), "|") {
			a := parseArgs(strings.Fields(part))
			database, table := tableWord(a.names[0])
			e.Tables = append(e.Tables, &metapb.TableDemand{
				Database: database, Name: table, Columns: a.columns, Options: a.options, NoCreate: a.flags["no-create"],
				Internal: a.flags["internal"],
			})
		}
		return &metapb.Command{Op: &metapb.Command_EnsureSchema{EnsureSchema: e}}
	case "create":
		return &metapb.Command{Op: &metapb.Command_CreateTable{CreateTable: &metapb.CreateTable{
			Table:       &schemapb.Table{Database: database, Name: table, Columns: a.columns, Options: a.options},
			IfNotExists: a.flags["if-not-exists"],
		}}}
	case "add-column":
		return alter(func(x *metapb.AlterTable) { x.Change = &metapb.AlterTable_AddColumn{AddColumn: a.columns[0]} })
	case "drop-column":
		return alter(func(x *metapb.AlterTable) { x.Change = &metapb.AlterTable_DropColumn{DropColumn: a.names[1]} })
	case "rename":
		return alter(func(x *metapb.AlterTable) { x.Change = &metapb.AlterTable_RenameTo{RenameTo: a.names[1]} })
	case "set":
		return alter(func(x *metapb.AlterTable) {
			x.Change = &metapb.AlterTable_SetOptions{SetOptions: &metapb.SetOptions{Options: a.options}}
		})
	case "unset":
		return alter(func(x *metapb.AlterTable) {
			x.Change = &metapb.AlterTable_UnsetOptions{UnsetOptions: &metapb.UnsetOptions{Keys: a.names[1:]}}
		})
	case "drop":
		return &metapb.Command{
			Op: &metapb.Command_DropTable{
				DropTable: &metapb.DropTable{Database: database, Name: table, IfExists: a.flags["if-exists"]},
			},
		}
	case "truncate":
		return &metapb.Command{
			Op: &metapb.Command_TruncateTable{TruncateTable: &metapb.TruncateTable{Database: database, Name: table}},
		}
	case "put":
		return &metapb.Command{Op: &metapb.Command_PutPipeline{PutPipeline: &metapb.PutPipeline{
			Name: words[1], ContentType: "yaml", Source: []byte(strings.Join(words[2:], " ")),
		}}}
	case "restore":
		backup, replaces := a.options["backup"], a.options["replaces"]
		delete(a.options, "backup")
		delete(a.options, "replaces")
		return &metapb.Command{Op: &metapb.Command_CreateTable{CreateTable: &metapb.CreateTable{Table: &schemapb.Table{
			Database: database, Name: table, Columns: a.columns, Options: a.options,
			Restored: &schemapb.Restored{BackupId: backup, Complete: true, Replaces: replaces},
		}}}}
	case "restored":
		return alter(func(x *metapb.AlterTable) { x.Change = &metapb.AlterTable_RestoreComplete{RestoreComplete: true} })
	case "replace": // replace b1 from/id>name/id …
		cmd := &metapb.ReplaceTables{BackupId: words[1]}
		for _, w := range words[2:] {
			if w == "without-rows" {
				cmd.WithoutRows = true
				continue
			}
			from, to, _ := strings.Cut(w, ">")
			r := &metapb.TableReplacement{Database: schema.DefaultDatabase}
			r.From, r.FromId = nameAndID(t, from)
			r.Name, r.ReplacedId = nameAndID(t, to)
			cmd.Tables = append(cmd.Tables, r)
		}
		return &metapb.Command{Op: &metapb.Command_ReplaceTables{ReplaceTables: cmd}}
	case "restore-pipeline":
		version, err := strconv.ParseInt(words[2], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return &metapb.Command{Op: &metapb.Command_RestorePipeline{RestorePipeline: &metapb.RestorePipeline{
			Pipeline: &metapb.PipelineVersion{Name: words[1], Version: version, ContentType: "yaml"},
			Source:   []byte(strings.Join(words[3:], " ")),
		}}}
	case "delete":
		version, err := strconv.ParseInt(words[2], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return &metapb.Command{
			Op: &metapb.Command_DeletePipeline{DeletePipeline: &metapb.DeletePipeline{Name: words[1], Version: version}},
		}
	}
	if cmd := clusterCommand(words[0], a); cmd != nil {
		return cmd
	}
	t.Fatalf("unknown command %q", line)
	return nil
}

// describe returns a result as text: the code and text of an error, or else the affected objects.
func describe(r *metapb.Result) string {
	if r.ErrorCode != 0 {
		s := fmt.Sprintf("%d %s", r.ErrorCode, r.ErrorMessage)
		if n := len(r.Conflicts); n > 0 {
			s += fmt.Sprintf(" [%d conflicts]", n)
		}
		return s
	}
	var out []string
	for _, t := range r.Tables {
		out = append(out, describeTable(t))
	}
	if r.SessionId != 0 {
		out = append(out, fmt.Sprintf("session %d", r.SessionId))
	}
	if len(r.DroppedTables) > 0 {
		out = append(out, fmt.Sprintf("dropped %v", r.DroppedTables))
	}
	if p := r.Pipeline; p != nil {
		out = append(out, fmt.Sprintf("%s@%d %s %d", p.Name, p.Version, p.ContentType, p.Size))
	}
	if sh := r.Shard; sh != nil {
		text := fmt.Sprintf("shard %d v%d want%d %v learners%v founders%v removed%v", sh.Id, sh.Version, sh.Want,
			sh.Replicas, sh.Learners, sh.Founders, sh.Removed)
		if sh.Retiring {
			text += " retiring"
		}
		if len(sh.Founded) > 0 {
			text += fmt.Sprintf(" founded%v", sh.Founded)
		}
		out = append(out, text)
	}
	if o := r.Operation; o != nil {
		out = append(out, fmt.Sprintf("op %d v%d %s %s", o.Id, o.Version, o.Kind, word(o.State, "OPERATION_STATE_")))
	}
	if len(out) == 0 && r.ClusterId != "" {
		out = append(out, "cluster "+r.ClusterId)
	}
	return strings.Join(out, "; ")
}

func describeTable(t *schemapb.Table) string {
	s := fmt.Sprintf("%s=%d v%d", schema.TableLabel(t.Database, t.Name), t.Id, t.Version)
	if t.MinWriterVersion != 1 {
		s += fmt.Sprintf(" min%d", t.MinWriterVersion)
	}
	for _, p := range t.Placement {
		s += fmt.Sprintf(" @%d", p.ShardId)
		if p.Closed {
			s += "closed"
		}
		if p.Handed {
			s += "handed"
		}
		for _, id := range p.MoreShards {
			s += fmt.Sprintf("+%d", id)
		}
	}
	if t.Handoff != nil {
		s += fmt.Sprintf(" copy%d", t.Handoff.TableId)
	}
	for _, c := range t.Columns {
		s += fmt.Sprintf(" %s:%s/%d", c.Name, strings.ToLower(schema.Type(c.Type).String()), c.Id)
		switch {
		case c.Semantic == schemapb.Semantic_SEMANTIC_TIMESTAMP:
			s += "!"
		case c.Semantic == schemapb.Semantic_SEMANTIC_TAG:
			s += "#"
		case c.NotNull:
			s += "*"
		}
	}
	for _, k := range slices.Sorted(maps.Keys(t.Options)) {
		if t.Options[k] != schema.CreatedOnInsertion {
			s += fmt.Sprintf(" %s=%s", k, t.Options[k])
		}
	}
	if r := t.Restored; r != nil {
		s += fmt.Sprintf(" from %s complete=%t", r.BackupId, r.Complete)
		if r.Replaces != "" {
			s += " for " + r.Replaces
		}
	}
	return s
}

// runner is a state machine without a log.
type runner struct {
	t       *testing.T
	machine *machine
	index   uint64
	// maxTables is added to the commands.
	maxTables uint32
}

func newRunner(t *testing.T) *runner {
	t.Helper()
	cat, err := catalog.Open(filepath.Join(t.TempDir(), StateFile))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cat.Close() })
	m, err := newMachine(cat, newMetrics(nil))
	if err != nil {
		t.Fatal(err)
	}
	return &runner{t: t, machine: m}
}

// entry returns the line's command in the form of the log.
func (r *runner) entry(line string) (replica.Entry, *metapb.Result) {
	r.t.Helper()
	cmd := command(r.t, line)
	cmd.MaxTables = r.maxTables
	cmd.TimeUnixNano = int64(r.index+1) * 1e9
	if err := prepare(cmd); err != nil {
		return replica.Entry{}, refused(errs.From(err))
	}
	data, err := proto.Marshal(cmd)
	if err != nil {
		r.t.Fatal(err)
	}
	r.index++
	return replica.Entry{Index: r.index, Term: 1, Data: data}, nil
}

// do runs a line and describes the result.
func (r *runner) do(line string) string {
	r.t.Helper()
	e, refusal := r.entry(line)
	if refusal != nil {
		return describe(refusal)
	}
	result, ok := r.machine.Apply(e.Index, e.Term, e.Data).(*metapb.Result)
	if !ok {
		r.t.Fatalf("%s: no result", line)
	}
	return describe(result)
}

// raw runs a command unchanged, as if a newer member had proposed it, and returns the result of the
// state machine.
func (r *runner) raw(cmd *metapb.Command) any {
	r.t.Helper()
	data, err := proto.Marshal(cmd)
	if err != nil {
		r.t.Fatal(err)
	}
	r.index++
	return r.machine.Apply(r.index, 1, data)
}
