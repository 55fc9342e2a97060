// Package rights contains the rules of access rights that routers and the metadata group share: privileges,
// patterns of names, targets of grants, the built-in roles, and the names of users and roles.
//
// The package is pure: it has no state and does no I/O. An Index is immutable.
package rights

import (
	"math/bits"
	"strings"

	"cordwood/proto/errs"
)

// Set is a set of privileges. Each privilege is one bit; the bits are part of the format of the metadata.
type Set uint32

// The privileges on tables, on pipelines, and on the cluster.
const (
	Select Set = 1 << iota
	Insert
	Create
	Alter
	Drop
	Delete
	Use
	Read
	Write
	Monitor
	Operate
	Backup
	Restore
	Access
	Audit
)

// The privileges on each kind of object.
const (
	OfTables    = Select | Insert | Create | Alter | Drop | Delete
	OfPipelines = Use | Read | Write
	OfCluster   = Monitor | Operate | Backup | Restore | Access | Audit
)

var setNames = [...]string{
	"SELECT", "INSERT", "CREATE", "ALTER", "DROP", "DELETE", "USE", "READ", "WRITE",
	"MONITOR", "OPERATE", "BACKUP", "RESTORE", "ACCESS", "AUDIT",
}

// Parse returns the privilege of a name, in any case. ok is false if there is none.
func Parse(name string) (p Set, ok bool) {
	for i, n := range setNames {
		if strings.EqualFold(n, name) {
			return 1 << i, true
		}
	}
	return 0, false
}

// Names lists the names of the privileges in s, in the order of the constants.
func (s Set) Names() []string {
	var out []string
	for rest := s; rest != 0; rest &= rest - 1 {
		if i := bits.TrailingZeros32(uint32(rest)); i < len(setNames) {
			out = append(out, setNames[i])
		}
	}
	return out
}

// String returns the names joined by commas, or ALL for all privileges of a kind of object.
func (s Set) String() string {
	switch s {
	case OfTables, OfPipelines, OfCluster:
		return "ALL"
	}
	return strings.Join(s.Names(), ", ")
}

// Kind is the kind of objects of a grant; part of the format of the metadata.
type Kind uint32

// The kinds of targets.
const (
	Tables Kind = iota + 1
	Pipelines
	Cluster
)

// All returns all privileges on objects of a kind.
func (k Kind) All() Set {
	switch k {
	case Tables:
		return OfTables
	case Pipelines:
		return OfPipelines
	case Cluster:
		return OfCluster
	}
	return 0
}

// Target is what a grant applies to: the tables, the pipelines, or the cluster. Database and Name are patterns,
// which may end with a star. Database is empty for pipelines, and both are empty for the cluster.
type Target struct {
	Kind           Kind
	Database, Name string
}

// String returns the target as GRANT writes it.
func (t Target) String() string {
	switch t.Kind {
	case Cluster:
		return "CLUSTER"
	case Pipelines:
		return "PIPELINE " + quotePattern(t.Name)
	}
	return quotePattern(t.Database) + "." + quotePattern(t.Name)
}

// PrivateDatabase is the database of the server. No pattern covers it.
const PrivateDatabase = "svc_private"

// Check returns an error if the privileges cannot be granted on the target.
func (t Target) Check(privileges Set) error {
	if privileges == 0 || privileges&^t.Kind.All() != 0 {
		return errs.New(errs.InvalidArguments, "GRANT … ON %s: the privileges on it are %s", t,
			strings.Join(t.Kind.All().Names(), ", "))
	}
	if t.Kind == Cluster {
		return nil
	}
	if err := checkPattern("pipeline", t.Name, t.Kind == Pipelines); err != nil {
		return err
	}
	if err := checkPattern("table", t.Name, t.Kind == Tables); err != nil {
		return err
	}
	if err := checkPattern("database", t.Database, t.Kind == Tables); err != nil {
		return err
	}
	if t.Kind == Tables && t.Database == PrivateDatabase && (privileges != Select || strings.HasSuffix(t.Name, "*")) {
		return errs.New(errs.InvalidArguments, "GRANT … ON %s: in %s, only SELECT can be granted, and only on a table by "+
			"its name", t, PrivateDatabase)
	}
	return nil
}

// maxPattern is the maximum length of a pattern in bytes.
const maxPattern = 512

func checkPattern(what, p string, used bool) error {
	if !used {
		return nil
	}
	body := strings.TrimSuffix(p, "*")
	switch {
	case p == "":
		return errs.New(errs.InvalidArguments, "the name of a %s is missing; write * for all", what)
	case strings.Contains(body, "*"):
		return errs.New(errs.InvalidArguments, "%.100q: a pattern can have one star, at its end", p)
	case len(p) > maxPattern || strings.ContainsFunc(p, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return errs.New(errs.InvalidArguments, "%.100q is not the name of a %s", p, what)
	}
	return nil
}

// covers reports whether all names of the pattern inner belong to the pattern p.
func covers(p, inner string) bool {
	prefix, wild := strings.CutSuffix(p, "*")
	if !wild {
		return p == inner
	}
	return strings.HasPrefix(inner, prefix)
}

// Covers reports whether all objects of inner belong to t.
func (t Target) Covers(inner Target) bool {
	if t.Kind != inner.Kind {
		return false
	}
	if inner.Database == PrivateDatabase && t.Database != PrivateDatabase {
		return false
	}
	return covers(t.Database, inner.Database) && covers(t.Name, inner.Name)
}

// quotePattern quotes a pattern where SQL requires it.
func quotePattern(p string) string {
	body, wild := strings.CutSuffix(p, "*")
	if isWord(body) || body == "" && wild {
		return p
	}
	return `"` + strings.ReplaceAll(p, `"`, `""`) + `"`
}

// QuoteText returns a text as an SQL string.
func QuoteText(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// QuoteName returns the name of a user or role for SQL, with quotes if it needs them.
func QuoteName(name string) string {
	if isWord(name) {
		return name
	}
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

// isWord reports whether s needs no quotes.
func isWord(s string) bool {
	for i, c := range []byte(s) {
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}
