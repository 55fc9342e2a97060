package rights

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

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
	case strings.HasPrefix(s, "svc"), strings.HasPrefix(s, "cw_"), IsPerson(s), s == "token", s == "public":
		return errs.New(errs.InvalidArguments, "the name %q is reserved: choose another one", s)
	case strings.Contains(s, ":"):
		return errs.New(errs.InvalidArguments, "the name %.100q contains a colon, which ends the name in HTTP Basic "+
			"authentication: choose another one", s)
	}
	return checkSigns("a user or role", s)
}

// PersonPrefix begins the names of people whom an OIDC provider authenticates.
const PersonPrefix = "oidc:"

// IsPerson reports whether a name is that of a person whom an OIDC provider authenticates.
func IsPerson(name string) bool { return strings.HasPrefix(name, PersonPrefix) }

// maxPerson is the maximum length of the name of a person in bytes.
const maxPerson = 200

// CheckPersonName returns an error if s cannot be the name of a person: PersonPrefix and a text that can be printed.
func CheckPersonName(s string) error {
	rest, found := strings.CutPrefix(s, PersonPrefix)
	if !found || rest == "" || len(s) > maxPerson || !utf8.ValidString(s) {
		return errs.New(errs.InvalidArguments, "%.100q is not the name of a person: it has %s, and 1 to %d bytes of UTF-8 "+
			"behind it", s, PersonPrefix, maxPerson-len(PersonPrefix))
	}
	for _, r := range rest {
		if !unicode.IsPrint(r) {
			return errs.New(errs.InvalidArguments, "the name %.100q contains a character that cannot be printed", s)
		}
	}
	return nil
}

// CheckUserName returns an error if s cannot be the name of a user, who may be a person.
func CheckUserName(s string) error {
	if IsPerson(s) {
		return CheckPersonName(s)
	}
	return CheckName(s)
}

// The limits of groups of a role, and of names in certificates.
const (
	maxGroups      = 100
	maxGroup       = 255
	maxCertificate = 255
)

// CheckGroups returns an error if a role cannot have these groups of an OIDC provider.
func CheckGroups(groups []string) error {
	if len(groups) > maxGroups {
		return errs.New(errs.InvalidArguments, "a role has at most %d groups, and %d were given", maxGroups, len(groups))
	}
	for i, g := range groups {
		if err := checkText("the name of a group", g, maxGroup); err != nil {
			return err
		}
		if slices.Contains(groups[:i], g) {
			return errs.New(errs.InvalidArguments, "the group %q is given twice", g)
		}
	}
	return nil
}

// CheckCertificate returns an error if s cannot be the name in a client's certificate.
func CheckCertificate(s string) error {
	return checkText("the name in a certificate", s, maxCertificate)
}

func checkText(what, s string, most int) error {
	if s == "" || len(s) > most || !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl) {
		return errs.New(errs.InvalidArguments, "%.100q is not %s: it has 1 to %d bytes of UTF-8 without control characters",
			s, what, most)
	}
	return nil
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
