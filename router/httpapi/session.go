package httpapi

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"net/http"
	"net/netip"

	"cordwood/proto/errs"
	"cordwood/router/access"
	"cordwood/router/access/token"
	"cordwood/router/audit"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/httpapi/peer"
	"cordwood/router/httpapi/session"
)

// maxSignIn limits the size of the body of a sign-in, in bytes.
const maxSignIn = 8 << 10

// SignIn checks the credentials of a sign-in from a client's address, and returns the same errors as Authenticator.
type SignIn interface {
	Check(ctx context.Context, user, password string, from netip.Addr) (access.Sender, error)
	Token(text string, from netip.Addr) (access.Sender, error)
	SameCertificate(state *tls.ConnectionState, s access.Sender, from netip.Addr) error
}

// sessions signs users of browsers in and out.
type sessions struct {
	manager *session.Manager // nil if there are no sessions
	signIns SignIn
	proxies peer.Proxies
	changes *audit.Log
	server  SessionServer
	// oidc is nil if there is no OIDC provider. oidcRedirect is the URL of its callback; empty: the host of the request.
	oidc         OIDC
	people       People
	oidcRedirect string
	exchanges    chan struct{} // has a value for each sign-in that asks the provider
}

// signIn starts a session of a user with the right password, or of a valid token.
func (s *sessions) signIn(w http.ResponseWriter, r *http.Request) {
	if err := s.begin(w, r); err != nil {
		exchange.WriteError(w, r, err)
	}
}

func (s *sessions) begin(w http.ResponseWriter, r *http.Request) error {
	if s.manager == nil {
		return errs.New(errs.Unsupported, "this server has no users, so nobody needs to sign in")
	}
	body, err := exchange.ReadBody(w, r, maxSignIn, "sign-in")
	if err != nil {
		return err
	}
	var in struct {
		User     string `json:"user"`
		Password string `json:"password"`
		Token    string `json:"token"`
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	// The decoder's error is not shown, because it could contain the password.
	bad := d.Decode(&in) != nil || d.More()
	withPassword := in.User != "" && in.Password != "" && in.Token == ""
	if bad || !withPassword && (in.Token == "" || in.User != "" || in.Password != "") {
		return errs.New(errs.InvalidArguments,
			`a sign-in is {"user":"NAME","password":"PASSWORD"} or {"token":"TOKEN"}`)
	}
	var cookie *http.Cookie
	var sender access.Sender
	if withPassword {
		cookie, sender, err = s.byPassword(r, in.User, in.Password)
	} else {
		cookie, sender, err = s.byToken(r, in.Token)
	}
	if err == nil {
		err = s.signIns.SameCertificate(r.TLS, sender, exchange.Of(r).Client)
	}
	if err != nil {
		exchange.Of(r).ExactRetry = errs.CodeOf(err) == errs.RateLimited
		return err
	}
	s.record(r, sender, audit.SignIn)
	http.SetCookie(w, cookie)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// record records that a session of a browser begins or ends. Package auth reports sign-ins that fail.
func (s *sessions) record(r *http.Request, sender access.Sender, action string) {
	x := exchange.Of(r)
	s.changes.Record(x.Context(r), audit.Change{
		By:   &access.Caller{Sender: sender, Address: x.Client, RequestID: requestID(r)},
		Need: access.Need{Action: action, Object: access.Object{Kind: access.Principal, Name: sender.User}},
	})
}

// byPassword returns the cookie and the rights of a user with the right password.
func (s *sessions) byPassword(r *http.Request, user, password string) (*http.Cookie, access.Sender, error) {
	sender, err := s.signIns.Check(r.Context(), user, password, exchange.Of(r).Client)
	switch errs.CodeOf(err) {
	case errs.UserNotFound, errs.UserPasswordMismatch:
		// The answer does not show whether the name or the password was wrong.
		return nil, access.Sender{}, errs.New(errs.UserPasswordMismatch, "the name or the password is wrong").
			WithStatus(http.StatusUnauthorized)
	}
	if err != nil {
		return nil, sender, err
	}
	cookie, err := s.manager.Begin(user, s.proxies.Secure(r))
	return cookie, sender, err
}

// byToken returns the cookie and the rights of a valid token.
func (s *sessions) byToken(r *http.Request, text string) (*http.Cookie, access.Sender, error) {
	sender, err := s.signIns.Token(text, exchange.Of(r).Client)
	if errs.CodeOf(err) == errs.InvalidAuthHeader { // there is no such header in a sign-in
		return nil, access.Sender{}, errs.New(errs.UserPasswordMismatch,
			"a token has the form cw_ID_SECRET, and this one was changed or cut").WithStatus(http.StatusUnauthorized)
	}
	if err != nil {
		return nil, sender, err
	}
	return s.manager.BeginToken(sender.Token, token.Hash(text), s.proxies.Secure(r)), sender, nil
}

// signOut ends the session of a browser.
func (s *sessions) signOut(w http.ResponseWriter, r *http.Request) {
	if s.manager != nil {
		if sender, _, err := s.manager.Authenticate(r, exchange.Of(r).Client, s.proxies.Secure(r)); err == nil {
			s.record(r, sender, audit.SignOut)
		}
		http.SetCookie(w, s.manager.End(s.proxies.Secure(r)))
	}
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusNoContent)
}

// Session describes the user of a request and the user's rights.
type Session struct {
	User      string        `json:"user"`
	CanRead   bool          `json:"can_read"`
	CanWrite  bool          `json:"can_write"`
	CanManage bool          `json:"can_manage"`
	Auth      string        `json:"auth"`
	Server    SessionServer `json:"server"`
	Zone      string        `json:"zone"`
}

// SessionServer describes the server.
type SessionServer struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// authOf returns how a sender was authenticated, in the words of the API.
func authOf(proof string) string {
	switch proof {
	case "session", "token", "certificate", "oidc":
		return proof
	case "none":
		return "off"
	}
	return "basic"
}

// describe answers with the user of the request and the user's rights.
func (s *sessions) describe(w http.ResponseWriter, r *http.Request) {
	c := exchange.Of(r).Caller
	may := func(p access.Privilege) bool { return c.May(access.Need{Privilege: p}) }
	out, err := json.Marshal(Session{
		User: c.User, CanRead: may(access.Select), CanWrite: may(access.Insert), CanManage: may(access.Operate),
		Auth:   authOf(c.Proof),
		Server: s.server, Zone: "UTC",
	})
	if err != nil {
		exchange.WriteError(w, r, errs.Wrap(errs.Internal, err, "describe the session"))
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	exchange.WriteJSON(w, http.StatusOK, out)
}
