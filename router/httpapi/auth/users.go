package auth

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"cordwood/router/access"
	"cordwood/router/access/scram"
)

// user is one line of a list.
type user struct {
	sender   access.Sender
	password verifier
	// stored is the digest of the stored password. A changed digest shows that the password was changed.
	stored [sha256.Size]byte
	// keys are the SCRAM keys; nil if there are none.
	keys *scram.Keys
	// certificate is the name in the user's certificates, if it is not the name of the user.
	certificate string
	// text is a password in plain text. publish derives keys from it and clears it.
	text string
}

// userList is a list of users. It does not change after publish.
type userList struct {
	byName map[string]*user
	// stored is set if the metadata have users.
	stored bool
	// owners are the users of the metadata whose tokens are valid: also users without a password.
	owners map[string]*user
	// certificates are the users whose certificates have another name than the user, by the name in the certificate.
	certificates map[string]*user
	people       *people
	// tokens has the tokens of the metadata, which change independently of users. clock returns the time.
	tokens *tokens
	clock  func() time.Time
	// tooOld returns an error for a sender whose rights may be too old.
	tooOld func(s *access.Sender) error
}

// badLine is a line that was ignored. Its text is not stored, because it may contain a password.
type badLine struct {
	line    int
	problem string
}

// parseFile parses a file of users. Blank lines and lines that start with # are ignored.
func parseFile(text string) (*userList, []badLine) {
	l := &userList{byName: map[string]*user{}}
	var bad []badLine
	n := 0
	for line := range strings.Lines(strings.TrimPrefix(text, "\uFEFF")) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		u, err := parseUser(line)
		if err != nil {
			bad = append(bad, badLine{n, err.Error()})
			continue
		}
		if _, found := l.byName[u.sender.User]; found {
			bad = append(bad, badLine{
				n, fmt.Sprintf("user %s is listed twice: this line replaces the earlier one", u.sender.User),
			})
		}
		l.byName[u.sender.User] = u
	}
	return l, bad
}

// parseInline parses a list of users separated by commas.
func parseInline(text string) (*userList, error) {
	l := &userList{byName: map[string]*user{}}
	n := 0
	for part := range strings.SplitSeq(text, ",") {
		n++
		u, err := parseUser(strings.TrimSpace(part))
		if err != nil {
			return nil, fmt.Errorf("auth: static_user_provider:cmd: user %d: %w", n, err)
		}
		if _, found := l.byName[u.sender.User]; found {
			return nil, fmt.Errorf("auth: static_user_provider:cmd: user %s is listed twice", u.sender.User)
		}
		l.byName[u.sender.User] = u
	}
	return l, nil
}

// parseUser parses user[:mode]=password.
func parseUser(s string) (*user, error) {
	if !utf8.ValidString(s) {
		return nil, fmt.Errorf("not UTF-8")
	}
	left, password, found := strings.Cut(s, "=")
	left, password = strings.TrimSpace(left), strings.TrimSpace(password)
	if !found {
		return nil, fmt.Errorf("no = between user and password")
	}
	// Only the base64 parts of a SCRAM secret may end with equals signs.
	if strings.Contains(password, "=") && !strings.HasPrefix(password, prefixScram) && !scram.IsText(password) {
		return nil, fmt.Errorf("more than one =")
	}
	name, mode, hasMode := strings.Cut(left, ":")
	name, mode = strings.TrimSpace(name), strings.TrimSpace(mode)
	if name == "" {
		return nil, fmt.Errorf("no user name before =")
	}
	u := &user{sender: access.Sender{User: name, Right: access.ReadWrite, Proof: "password"}}
	if hasMode {
		switch strings.ToLower(mode) {
		case "rw", "readwrite", "read_write":
		case "ro", "readonly", "read_only":
			u.sender.Right = access.ReadOnly
		case "wo", "writeonly", "write_only":
			u.sender.Right = access.WriteOnly
		default:
			return nil, fmt.Errorf("user %s: unknown mode %q: use rw, ro or wo", name, mode)
		}
	}
	v, err := parseVerifier(password)
	if err != nil {
		return nil, fmt.Errorf("user %s: %w", name, err)
	}
	u.password, u.stored = v, sha256.Sum256([]byte(password))
	if _, ok := v.(plain); ok {
		u.text = strings.TrimPrefix(password, prefixPlain)
	}
	return u, nil
}
