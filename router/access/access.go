// Package access defines rights: which user may do what. A Sender is the user who sends a request, with the right
// that the list of users gives. A Need is a privilege on an object. Sender.Require checks that a sender has a
// privilege on an object.
//
// The tables in table.go say what each call of the tunnel for backups, each command in it and each kind of operation
// needs. Package query (statements.go) has the table for SQL statements, and package httpapi (routes.go) the table
// for URLs. An action without a row in a table is refused to everybody.
//
// A Caller is a Sender while the server works for them. It travels in the context of the work and is checked again
// before each step, because a user can lose a right meanwhile.
//
// The package does not check credentials; package auth does. Everything in the package may be used concurrently.
package access

import (
	"cmp"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/rights"
	"cordwood/proto/schema"
	"cordwood/router/access/token"
)

// Privilege is what a caller must be allowed to do.
type Privilege uint8

// The privileges. The zero value is no privilege. An action that needs it is refused to everybody, so a forgotten
// declaration permits nothing.
const (
	Undeclared Privilege = iota
	// Open allows anybody, without authentication.
	Open
	// SignedIn allows any user. The handler checks further privileges itself.
	SignedIn
	// Query allows statements that read. Each table that they read needs Select.
	Query
	Select
	Insert
	// IngestCreate allows ingestion to create a table, and Create allows statements to do so.
	IngestCreate
	Create
	Alter
	Drop
	Delete
	PipelineUse
	// PipelineTry allows dry runs and lists of pipelines. They use only the pipelines that the user may read.
	PipelineTry
	PipelineRead
	PipelineWrite
	Monitor
	Operate
	Backup
	Restore
	// ManageAccess allows to manage users, roles and grants.
	ManageAccess
	// ReadAudit allows to read the audit records.
	ReadAudit
	// Nobody allows no user, because only nodes do this.
	Nobody
)

var privilegeNames = [...]string{
	"undeclared", "open", "signed-in", "query", "select", "insert", "ingest-create", "create", "alter", "drop", "delete",
	"pipeline-use", "pipeline-try", "pipeline-read", "pipeline-write", "monitor", "operate", "backup", "restore",
	"manage-access", "read-audit", "nobody",
}

// String returns the privilege as the description of the API writes it.
func (p Privilege) String() string { return privilegeNames[p] }

// Right is the right that the list of users gives to a user.
type Right uint8

// The rights. The zero value allows nothing.
const (
	NoRight Right = iota
	// ReadWrite allows everything.
	ReadWrite
	// ReadOnly allows reading rows, pipelines, backups and the state of the cluster.
	ReadOnly
	// WriteOnly allows ingestion only.
	WriteOnly
)

// String returns the right as the file of users writes it.
func (r Right) String() string { return [...]string{"none", "rw", "ro", "wo"}[r] }

// allowing lists the rights that give each privilege, in the order in which a message
// recommends them.
var allowing = [Nobody + 1][]Right{
	SignedIn:      {ReadWrite, ReadOnly, WriteOnly},
	Query:         {ReadOnly, ReadWrite},
	Select:        {ReadOnly, ReadWrite},
	Insert:        {WriteOnly, ReadWrite},
	IngestCreate:  {WriteOnly, ReadWrite},
	Create:        {ReadWrite},
	Alter:         {ReadWrite},
	Drop:          {ReadWrite},
	Delete:        {ReadWrite},
	PipelineUse:   {WriteOnly, ReadWrite},
	PipelineTry:   {ReadOnly, ReadWrite},
	PipelineRead:  {ReadOnly, ReadWrite},
	PipelineWrite: {ReadWrite},
	Monitor:       {ReadOnly, ReadWrite},
	Operate:       {ReadWrite},
	Backup:        {ReadOnly, ReadWrite},
	Restore:       {ReadWrite},
	ManageAccess:  {ReadWrite},
	ReadAudit:     {ReadWrite},
}

// ObjectKind is the kind of an object.
type ObjectKind string

// The kinds of objects, as the log of changes writes them.
const (
	NoObject  ObjectKind = ""
	Database  ObjectKind = "database"
	Table     ObjectKind = "table"
	Pipeline  ObjectKind = "pipeline"
	Operation ObjectKind = "operation"
	Cluster   ObjectKind = "cluster"
	Node      ObjectKind = "node"
	Principal ObjectKind = "user"
	Role      ObjectKind = "role"
	// TokenObject is a token.
	TokenObject ObjectKind = "token"
)

// Object is the thing that an action concerns. Fields that do not apply are empty.
type Object struct {
	Kind     ObjectKind
	Database string
	Name     string
}

// String returns the object's name for a message, such as public.logs.
func (o Object) String() string {
	if o.Database != "" && o.Name != "" {
		return o.Database + "." + o.Name
	}
	return cmp.Or(o.Name, o.Database)
}

// Need is a privilege on an object, which an action requires.
type Need struct {
	Privilege Privilege
	// Action is what is done, for example "drop table".
	Action string
	Object Object
}

// Sender is the user who sends a request. A Sender does not change: if a user's right changes, later requests have
// another Sender.
type Sender struct {
	User string
	// Right is the right of a user in the list of users. If Grants is set, it does not matter.
	Right Right
	// Grants are the grants of a user in the metadata. They are replaced when they change.
	Grants *rights.Index
	// Proof is how the sender proved their identity: password, session, token, certificate, oidc, or none if
	// authentication is off.
	Proof string
	// Token is the id of the token that the sender has, or "". User is then the user whose rights the token has, or
	// the name of the token (token.Name) if it has a scope. TokenName is the name that its creator gave it.
	Token, TokenName string
	// TokenFrom is the address from which the token came.
	TokenFrom netip.Addr
	// IngestOnly allows only ingestion and INSERT, whatever Grants contain.
	IngestOnly bool
	// Certificate is the name in the certificate by which the sender signed in, or "".
	Certificate string
	// Person is set if an OIDC provider authenticates the sender.
	Person *Person
	// Fixed are the names that requests with the token need not give.
	Fixed Fixed
	// Database is the database of requests that name none, if the user has one besides public.
	Database string
	// Version distinguishes the user's credentials from earlier ones. Only the source of the list of users, and the
	// metadata group (Issuer), compare it.
	Version uint64
}

// StoredVersion is set in the versions of users of the metadata, so that they differ from those of listed users.
const StoredVersion = 1 << 63

// Person is what an OIDC provider says about a sender. It does not change.
type Person struct {
	Groups []string
	// Until is when it may no longer be true.
	Until time.Time
}

// Fixed are the database, the table and the pipeline of a token's scope, if there is only one. They are the defaults of
// requests that name none.
type Fixed struct{ Database, Table, Pipeline string }

// DefaultDatabase returns the database of requests that name none.
func (s *Sender) DefaultDatabase() string {
	return cmp.Or(s.Fixed.Database, s.Database, schema.DefaultDatabase)
}

// DefaultUser is the user of every request if authentication is off.
const DefaultUser = "svc"

// Everybody returns the sender of all requests if authentication is off.
func Everybody() Sender { return Sender{User: DefaultUser, Right: ReadWrite, Proof: "none"} }

// May reports whether the sender may do n. Rights of the list of users apply to all objects. With grants, a
// privilege on tables is needed on the object: on the table, on all tables of the database, or, if n has no object, on
// at least one table.
func (s *Sender) May(n Need) bool {
	n = n.ofAudit()
	return s.may(&n)
}

func (s *Sender) may(n *Need) bool {
	switch {
	case n.Privilege == Open:
		return true
	case s.IngestOnly && !ingestion[n.Privilege]:
		return false
	case s.Grants != nil:
		return granted(s.Grants, n)
	}
	for _, r := range allowing[n.Privilege] {
		if r == s.Right {
			return true
		}
	}
	return false
}

// ingestion are the privileges that a sender with IngestOnly may have.
var ingestion = [Nobody + 1]bool{SignedIn: true, Insert: true, IngestCreate: true, PipelineUse: true}

// bits has the privilege in grants for each privilege that can be granted.
var bits = [...]rights.Set{
	Select: rights.Select, Insert: rights.Insert, IngestCreate: rights.Create, Create: rights.Create,
	Alter: rights.Alter, Drop: rights.Drop, Delete: rights.Delete,
	PipelineUse: rights.Use, PipelineRead: rights.Read, PipelineWrite: rights.Write,
	Monitor: rights.Monitor, Operate: rights.Operate, Backup: rights.Backup, Restore: rights.Restore,
	ManageAccess: rights.Access, ReadAudit: rights.Audit, Nobody: 0,
}

// granted reports whether grants allow n.
func granted(x *rights.Index, n *Need) bool {
	switch n.Privilege {
	case SignedIn, Query, PipelineTry:
		return true
	}
	inGrants, ok := n.inGrants()
	return ok && x.Allows(inGrants)
}

// inGrants returns the privilege that n needs in grants; ok is false if no grant gives it.
func (n *Need) inGrants() (out rights.Need, ok bool) {
	if int(n.Privilege) >= len(bits) || bits[n.Privilege] == 0 {
		return out, false
	}
	bit, o := bits[n.Privilege], &n.Object
	out = rights.Need{Kind: rights.Tables, Database: o.Database, Name: o.Name, Privileges: bit}
	switch {
	case bit&rights.OfCluster != 0:
		out = rights.Need{Kind: rights.Cluster, Privileges: bit}
	case bit&rights.OfPipelines != 0:
		out = rights.Need{Kind: rights.Pipelines, Name: o.Name, Privileges: bit}
	case o.Kind == Database && n.Privilege == Create:
		out.Database, out.Name = "*", "*"
	case o.Kind == Database:
		out.Name = "*"
	case o.Name != "" && schema.ReservedDatabase(o.Database):
		// Grants know the server's own tables by their names in lower case.
		out.Database, out.Name = strings.ToLower(o.Database), strings.ToLower(o.Name)
	}
	return out, true
}

// Sees reports whether a table may exist for the sender: whether they have any privilege on it. For others, it
// does not exist.
func (s *Sender) Sees(database, table string) bool {
	if IsAudit(database, table) {
		return s.May(Need{Privilege: ReadAudit})
	}
	return s.Grants == nil || s.Grants.OnTable(database, table) != 0
}

// SeesDatabase reports whether a database may exist for the sender. The default database exists for all.
func (s *Sender) SeesDatabase(name string) bool {
	return s.Grants == nil || name == schema.DefaultDatabase || s.Grants.InDatabase(name) != 0
}

// Require returns an error of code PermissionDenied (403) if the sender may not do n. The text says which right
// would allow it.
func (s *Sender) Require(n Need) error {
	n = n.ofAudit()
	if s.may(&n) {
		return nil
	}
	if s.Grants != nil {
		return s.missingGrant(n)
	}
	const refused = "User is not authorized to perform this action"
	enough := allowing[n.Privilege]
	if len(enough) == 0 {
		return errs.New(errs.PermissionDenied, "%s: no user may %s", refused, n.describe())
	}
	has := "has no right"
	switch s.Right {
	case WriteOnly:
		has = "has the right wo and may only ingest"
	case ReadOnly:
		has = "has the right ro and may only read"
	}
	recommended := enough[0].String()
	if len(enough) > 1 {
		recommended += " or " + enough[1].String()
	}
	return errs.New(errs.PermissionDenied, "%s: %s %s; %s needs the right %s: send it as another user, or ask an "+
		"administrator to change the user's right in the list of users",
		refused, s.User, has, n.describe(), recommended)
}

// missingGrant returns the error for a sender without a grant. Its text has the statement that would give it.
func (s *Sender) missingGrant(n Need) error {
	var bit rights.Set
	if int(n.Privilege) < len(bits) {
		bit = bits[n.Privilege]
	}
	if s.IngestOnly && !ingestion[n.Privilege] {
		return errs.New(errs.PermissionDenied, "%s may only ingest, and not %s", s.User, n.describe())
	}
	if bit == 0 {
		return errs.New(errs.PermissionDenied, "%s may not %s: it is not allowed to any user", s.User, n.describe())
	}
	o := n.Object
	target := rights.Target{Kind: rights.Tables, Database: o.Database, Name: o.Name}
	switch {
	case bit&rights.OfCluster != 0:
		target = rights.Target{Kind: rights.Cluster}
	case bit&rights.OfPipelines != 0:
		target = rights.Target{Kind: rights.Pipelines, Name: cmp.Or(o.Name, "…")}
	case o.Kind == Database && n.Privilege == Create:
		target.Database, target.Name = "*", "*"
	case o.Kind == Database:
		target.Name = "*"
	case o.Name == "" && s.Token != "" && token.Like(s.User):
		return errs.New(errs.PermissionDenied, "%s may not %s: the scope of the token does not contain %s on any table; an "+
			"administrator can create a token that has it", s.User, n.describe(), bit)
	case o.Name == "":
		return errs.New(errs.PermissionDenied, "%s may not %s: %s has %s on no table; an administrator can grant it",
			s.User, n.describe(), s.User, bit)
	}
	if s.Token != "" && token.Like(s.User) {
		return errs.New(errs.PermissionDenied, "%s may not %s: the scope of the token does not contain %s ON %s; an "+
			"administrator can create a token that has it", s.User, n.describe(), bit, cutText(target.String()))
	}
	return errs.New(errs.PermissionDenied, "%s may not %s; an administrator can allow it: GRANT %s ON %s TO %s",
		s.User, n.describe(), bit, cutText(target.String()), rights.QuoteName(s.User))
}

// cutText shortens a text for a message.
func cutText(s string) string {
	const most = 200
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// IsAudit reports whether a table has the audit records. Names of the server's own tables have no case.
func IsAudit(database, table string) bool {
	return strings.EqualFold(database, schema.PrivateDatabase) && strings.EqualFold(table, schema.AuditTable)
}

// ofAudit returns the need for reading the audit records instead of that for reading their table, for which no grant of
// SELECT is enough.
func (n Need) ofAudit() Need {
	if n.Privilege == Select && IsAudit(n.Object.Database, n.Object.Name) {
		n.Privilege = ReadAudit
	}
	return n
}

// describe returns the action with its object, for a message.
func (n Need) describe() string {
	what := cmp.Or(n.Action, n.Privilege.String())
	if o := n.Object.String(); o != "" {
		what += fmt.Sprintf(" %s", cutText(o))
	}
	return what
}
