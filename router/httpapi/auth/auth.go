// Package auth finds out which user sends a request. It checks the credentials of HTTP Basic authentication against
// a list of users and their rights, and tokens.
//
// The list comes from an option text (static_user_provider:cmd:…, :file:…, watch_file_user_provider:…) or from a user
// file, both with lines of the form user[:mode]=password. Rights apply to the whole server, not to single databases
// or tables. What each right allows is in package access.
//
// Open reads the list and fails if it has no users. Run watches the file for changes until its context ends. If no
// file is watched, Run only waits. Reload reads a user file again. An invalid new list is ignored, and the last valid
// one remains in use. All methods may be called concurrently. A nil *Provider means that authentication is off:
// everybody is the default user and has all rights.
package auth

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"os"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"cordwood/proto/errs"
	"cordwood/router/access"
	"cordwood/router/access/scram"
)

// Config has the location of the list of users. At most one of Option and UserFile may be set, and one of them must be
// set unless Stored is.
type Config struct {
	// Stored says that the metadata have users, too. Provider.Apply passes them.
	Stored bool
	// Option is the option text of a user provider.
	Option string
	// UserFile is a file with users. Reload reads it again.
	UserFile string
	// Scram requests keys for passwords that are stored as plain text, so that their users can sign in by
	// Provider.Challenge. Each costs 2.4 ms.
	Scram bool
	// MaxAge is how long users and tokens of the metadata are trusted without news of the metadata; 0: forever.
	MaxAge time.Duration
	// Iterations is the number of iterations of these keys. The default is scram.Iterations.
	Iterations int
	// CertificateName returns the name of the user for whom the certificate of a client stands. It returns "" if the
	// client has no certificate, or certificates stand for nobody, as by default.
	CertificateName func(state *tls.ConnectionState) (string, error)
	// OIDC verifies tokens of an OIDC provider. By default there are none.
	OIDC Verifier
	// Refused, if not nil, is called for each failed sign-in with a password, a token or a certificate. s has the name
	// or the token's id that the client sent.
	Refused func(s access.Sender, from netip.Addr, err error)
	// Logger logs malformed lines and changes of the list; nil means slog's default.
	Logger *slog.Logger
}

// Provider has the list of users.
type Provider struct {
	log    *slog.Logger
	file   string // the file of the list; empty if the list is inline
	reread bool   // whether Reload reads the file again

	refused func(s access.Sender, from netip.Addr, err error)
	oidc    Verifier // nil if there is no OIDC provider
	// certificateName is Config.CertificateName.
	certificateName func(state *tls.ConnectionState) (string, error)

	watch *watcher // nil if file is not watched

	users atomic.Pointer[userList]
	lists lists
	work  openWork
	// tokens has the tokens of the metadata.
	tokens tokens
	// hadStored is set when the metadata have users or tokens. firstStored then receives a value.
	hadStored   atomic.Bool
	firstStored chan struct{}

	now        func() time.Time
	remembered *remembered
	guesses    *guesses
	slow       *slowChecks
	// heard is when this router last knew all users of the metadata, in nanoseconds of Unix time, and maxAge how long
	// it trusts them then.
	heard  atomic.Int64
	maxAge time.Duration
	// scram requests keys for plain passwords. unknown returns the secret for the salts of users that do not exist.
	scram      bool
	iterations int // of new keys
	unknown    func() []byte

	reloading sync.Mutex // held during a reload, so that the last reload wins
	versions  uint64     // number of credential versions so far; guarded by reloading
}

// Open reads the list of users.
func Open(cfg Config) (*Provider, error) {
	p := &Provider{
		log: cfg.Logger, now: time.Now, refused: cfg.Refused, slow: newSlowChecks(), scram: cfg.Scram,
		iterations: cmp.Or(cfg.Iterations, scram.Iterations), firstStored: make(chan struct{}, 1), maxAge: cfg.MaxAge,
		certificateName: cfg.CertificateName, oidc: cfg.OIDC,
	}
	p.lists.people = newPeople(nil)
	secret := make([]byte, sha256.Size)
	_, _ = rand.Read(secret) // never fails
	p.HideUnknown(func() []byte { return secret })
	p.work.all = map[*Work]struct{}{}
	p.remembered, p.guesses = newRemembered(p.now), newGuesses(p.now)
	if p.log == nil {
		p.log = slog.Default()
	}
	p.users.Store(&userList{tokens: &p.tokens, clock: p.time, tooOld: p.tooOld, people: p.lists.people})
	p.Heard(p.now())
	switch {
	case cfg.Option != "" && cfg.UserFile != "", cfg.Option == "" && cfg.UserFile == "" && !cfg.Stored:
		return nil, fmt.Errorf("auth: set either a user provider or a user file")
	case cfg.Option == "" && cfg.UserFile == "":
		return p, nil
	}
	if cfg.UserFile != "" {
		p.file, p.reread = cfg.UserFile, true
		return p, p.load()
	}
	kind, rest, _ := strings.Cut(cfg.Option, ":")
	switch kind {
	case "static_user_provider":
		mode, arg, _ := strings.Cut(rest, ":")
		switch mode {
		case "file":
			p.file = arg
			return p, p.load()
		case "cmd":
			users, err := parseInline(arg)
			if err != nil {
				return nil, err
			}
			p.publish(users)
			return p, nil
		}
	case "watch_file_user_provider":
		p.file, p.reread = rest, true
		return p, p.openWatched()
	}
	// The option is not shown, because it may contain passwords.
	return nil, fmt.Errorf("auth: unknown user provider: use static_user_provider:file:PATH, " +
		"static_user_provider:cmd:USER=PASSWORD,… or watch_file_user_provider:PATH")
}

// Users returns all users who may sign in with a password, in any order. A nil Provider has none.
func (p *Provider) Users() (list []access.Sender) {
	if p == nil {
		return nil
	}
	for _, u := range p.users.Load().byName {
		list = append(list, u.sender)
	}
	return list
}

func (p *Provider) openWatched() error {
	w, err := newWatcher(p.file)
	if err != nil {
		return err
	}
	if err := p.load(); err != nil {
		_ = w.close()
		return err
	}
	p.watch = w
	return nil
}

// load reads the file and puts its users into effect.
func (p *Provider) load() error {
	text, err := os.ReadFile(p.file)
	if err != nil {
		return fmt.Errorf("read the file with the users (--user-file or --user-provider): %w", err)
	}
	users, bad := parseFile(string(text))
	for _, b := range bad {
		p.log.Warn("user file: line ignored", "file", p.file, "line", b.line, "problem", b.problem)
	}
	if len(users.byName) == 0 {
		return fmt.Errorf("auth: user file %s contains no user: write lines of the form user[:rw|ro|wo]=password", p.file)
	}
	p.publish(users)
	return nil
}

// publish puts a list into effect, and ends work that it no longer allows. A user whose stored password has not
// changed keeps the version of the credentials.
func (p *Provider) publish(users *userList) {
	p.lists.mu.Lock()
	before := p.lists.listed
	for name, u := range users.byName {
		if before != nil {
			if b, ok := before.byName[name]; ok && b.stored == u.stored {
				u.sender.Version, u.keys = b.sender.Version, b.keys
				continue
			}
		}
		p.versions++
		u.sender.Version = p.versions
	}
	p.makeKeys(users)
	p.lists.listed = users
	p.merge()
	p.lists.mu.Unlock()
	p.recheck()
}

// Reload reads the file of users again. If it returns an error, the list stays unchanged. If the list is read only
// at the start, Reload does nothing.
func (p *Provider) Reload() error {
	if p == nil || !p.reread {
		return nil
	}
	p.reloading.Lock()
	defer p.reloading.Unlock()
	if err := p.load(); err != nil {
		return err
	}
	p.log.Info("users reloaded", "file", p.file, "users", p.listedUsers())
	return nil
}

// listedUsers counts the users of the file or option.
func (p *Provider) listedUsers() int {
	p.lists.mu.Lock()
	defer p.lists.mu.Unlock()
	return len(p.lists.listed.byName)
}

// Run follows the watched file until ctx ends, and then returns nil.
func (p *Provider) Run(ctx context.Context) error {
	if p == nil || p.watch == nil {
		<-ctx.Done()
		return nil
	}
	return p.watch.run(ctx, func() {
		if err := p.Reload(); err != nil {
			p.log.Error("users not reloaded, the last good list stays in use", "file", p.file, "error", err)
		}
	})
}

// Close stops watching the file. It may be called twice.
func (p *Provider) Close() error {
	if p == nil || p.watch == nil {
		return nil
	}
	return p.watch.close()
}

// Authenticate returns the sender of r from the header x-svc-auth or, if it is missing, Authorization: a user with
// a password, a token, or a token of the OIDC provider. Without these headers, it is the user of the client's
// certificate; with them, they must be of this user. from is the client's address. Errors with status 401 are
// AuthHeaderNotFound, InvalidAuthHeader, UserNotFound, UserPasswordMismatch, and InvalidArguments for an empty name or
// password. A token that is used from a wrong address, and a person without rights, are PermissionDenied. After too
// many failures the error is RateLimited, with status 429.
func (p *Provider) Authenticate(r *http.Request, from netip.Addr) (access.Sender, error) {
	if p == nil {
		return access.Everybody(), nil
	}
	header := ""
	for _, name := range []string{"X-Svc-Auth", "Authorization"} {
		for _, value := range r.Header.Values(name) {
			switch value = strings.TrimSpace(value); {
			case value == "":
			case header == "":
				header = value
			case !SameCredentials(header, value):
				return access.Sender{}, refuse(errs.InvalidAuthHeader, "The header "+name+" is given twice, with different "+
					"credentials: send one")
			}
		}
		if header != "" {
			break // X-Svc-Auth has precedence
		}
	}
	if header == "" {
		return p.ofCertificate(r.TLS, from, errs.New(errs.AuthHeaderNotFound, "Not found http or grpc authorization header"))
	}
	c, err := parseCredentials(header)
	if err != nil {
		p.noteRefused(access.Sender{}, from, err)
		return access.Sender{}, err
	}
	var s access.Sender
	switch {
	case c.token != "":
		s, err = p.Token(c.token, from)
	case c.web != "":
		s, err = p.jsonWebToken(r.Context(), c.web, from)
	default:
		s, err = p.Check(r.Context(), c.user, c.password, from)
	}
	if err == nil {
		err = p.SameCertificate(r.TLS, s, from)
	}
	return s, err
}

// open has the paths below /v1 that need no credentials. Paths below them need none either.
var open = [...]string{
	"/v1/health",
	"/v1/influxdb/ping",
	"/v1/influxdb/health",
	"/v1/splunk/services/collector/health",
}

// Protected reports whether a path needs credentials if authentication is on. These are all paths below /v1 except
// health checks, and the extra paths with all paths below them. It resolves dots and double slashes first, and
// compares whole segments.
func Protected(urlPath string, extra ...string) bool {
	clean := path.Clean("/" + urlPath)
	for _, e := range extra {
		if below(clean, e) {
			return true
		}
	}
	if !below(clean, "/v1") {
		return false
	}
	for _, o := range open {
		if below(clean, o) {
			return false
		}
	}
	return true
}

// below reports whether p is root or lies below it.
func below(p, root string) bool {
	rest, found := strings.CutPrefix(p, root)
	return found && (rest == "" || rest[0] == '/')
}

// Session returns the sender for a user who signed in earlier. check receives the digest of the currently stored
// password, and reports whether it is the password of the sign-in. The error is UserNotFound or UserPasswordMismatch.
func (p *Provider) Session(name string, check func(stored [sha256.Size]byte) bool) (access.Sender, error) {
	u, found := p.users.Load().byName[name]
	if !found {
		return access.Sender{}, refuse(errs.UserNotFound, "User not found, username: "+shorten(name))
	}
	if !check(u.stored) {
		return access.Sender{}, refuse(errs.UserPasswordMismatch, "the password of "+shorten(name)+" was changed")
	}
	s := u.sender
	s.Proof = "session"
	return s, p.tooOld(&s)
}
