package rights

import (
	"slices"
	"strings"

	"cordwood/proto/errs"
)

// The built-in roles. They cannot be changed.
const (
	AdminRole    = "admin"
	OperatorRole = "operator"
	ReaderRole   = "reader"
	WriterRole   = "writer"
)

// BuiltInRoles lists the names of the built-in roles.
func BuiltInRoles() []string { return []string{AdminRole, OperatorRole, ReaderRole, WriterRole} }

// IsBuiltIn reports whether a role is built in.
func IsBuiltIn(role string) bool { return slices.Contains(BuiltInRoles(), role) }

// everyTable and everyPipeline are the targets of the built-in roles.
var (
	everyTable    = Target{Kind: Tables, Database: "*", Name: "*"}
	everyPipeline = Target{Kind: Pipelines, Name: "*"}
)

// builtIn returns the grants of a built-in role except admin, which may do everything.
func builtIn(role string) []Grant {
	switch role {
	case OperatorRole:
		return []Grant{{Target: Target{Kind: Cluster}, Privileges: Monitor | Operate}}
	case ReaderRole:
		return []Grant{{Target: everyTable, Privileges: Select}, {Target: everyPipeline, Privileges: Read}}
	case WriterRole:
		return []Grant{{Target: everyTable, Privileges: Insert | Create}, {Target: everyPipeline, Privileges: Use}}
	}
	return nil
}

// maxName is the maximum length of the name of a user or role in bytes.
const maxName = 63

// CheckName returns an error if s cannot be the name of a user or role.
func CheckName(s string) error {
	switch {
	case s == "" || len(s) > maxName:
		return errs.New(errs.InvalidArguments, "the name of a user or role has 1 to %d bytes, and %.100q has %d", maxName, s,
			len(s))
	case IsBuiltIn(s):
		return errs.New(errs.InvalidArguments, "%s is a built-in role: choose another name", s)
	case strings.HasPrefix(s, "svc"), strings.HasPrefix(s, "cw_"), strings.HasPrefix(s, "oidc:"), s == "token",
		s == "public":
		return errs.New(errs.InvalidArguments, "the name %q is reserved: choose another one", s)
	}
	return checkSigns("a user or role", s)
}

// CheckTokenName returns an error if s cannot be the name of a token.
func CheckTokenName(s string) error {
	if s == "" || len(s) > maxName {
		return errs.New(errs.InvalidArguments, "the name of a token has 1 to %d bytes, and %.100q has %d", maxName, s, len(s))
	}
	return checkSigns("a token", s)
}

func checkSigns(what, s string) error {
	for i, c := range []byte(s) {
		word := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		later := c >= '0' && c <= '9' || c == '.' || c == '@' || c == '-' || c == ':'
		if !word && (i == 0 || !later) {
			return errs.New(errs.InvalidArguments, "%q is not the name of %s: it starts with a letter or _, "+
				"followed by letters, digits, and the signs _ . @ - :", s, what)
		}
	}
	return nil
}
