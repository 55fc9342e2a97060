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

	"cordwood/proto/errs"
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
	Select
	Insert
	Create
	Alter
	Drop
	Delete
	PipelineRead
	PipelineWrite
	Monitor
	Operate
	Backup
	Restore
	// Nobody allows no user, because only nodes do this.
	Nobody
)

var privilegeNames = [...]string{
	"undeclared", "open", "signed-in", "select", "insert", "create", "alter", "drop", "delete",
	"pipeline-read", "pipeline-write", "monitor", "operate", "backup", "restore", "nobody",
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

// rights lists the rights that give each privilege, in the order in which a message
// recommends them.
var rights = map[Privilege][]Right{
	SignedIn:      {ReadWrite, ReadOnly, WriteOnly},
	Select:        {ReadOnly, ReadWrite},
	Insert:        {WriteOnly, ReadWrite},
	Create:        {ReadWrite},
	Alter:         {ReadWrite},
	Drop:          {ReadWrite},
	Delete:        {ReadWrite},
	PipelineRead:  {ReadOnly, ReadWrite},
	PipelineWrite: {ReadWrite},
	Monitor:       {ReadOnly, ReadWrite},
	Operate:       {ReadWrite},
	Backup:        {ReadOnly, ReadWrite},
	Restore:       {ReadWrite},
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
	User  string
	Right Right
	// Proof is how the sender proved their identity: password, session, or none if authentication is off.
	Proof string
	// Version distinguishes the user's credentials from earlier ones. Only the source of the list of users compares
	// it.
	Version uint64
}

// DefaultUser is the user of every request if authentication is off.
const DefaultUser = "svc"

// Everybody returns the sender of all requests if authentication is off.
func Everybody() Sender { return Sender{User: DefaultUser, Right: ReadWrite, Proof: "none"} }

// May reports whether the sender may do n. There are no rights for single tables, so the object does not matter.
func (s Sender) May(n Need) bool {
	if n.Privilege == Open {
		return true
	}
	for _, r := range rights[n.Privilege] {
		if r == s.Right {
			return true
		}
	}
	return false
}

// Require returns an error of code PermissionDenied (403) if the sender may not do n. The text says which right
// would allow it.
func (s Sender) Require(n Need) error {
	if s.May(n) {
		return nil
	}
	const refused = "User is not authorized to perform this action"
	enough := rights[n.Privilege]
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

// describe returns the action with its object, for a message.
func (n Need) describe() string {
	what := cmp.Or(n.Action, n.Privilege.String())
	if o := n.Object.String(); o != "" {
		const most = 200
		if len(o) > most {
			o = o[:most] + "…"
		}
		what += fmt.Sprintf(" %s", o)
	}
	return what
}
