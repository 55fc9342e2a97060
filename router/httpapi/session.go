package httpapi

import (
	"bytes"
	"encoding/json"
	"net/http"

	"cordwood/proto/errs"
	"cordwood/router/access"
	"cordwood/router/httpapi/exchange"
)

// maxSignIn bounds the body of a sign-in, in bytes.
const maxSignIn = 8 << 10

// handleSignIn begins a session of a user with the right password.
func (s *Server) handleSignIn(w http.ResponseWriter, r *http.Request) {
	if err := s.signIn(w, r); err != nil {
		exchange.WriteError(w, r, err)
	}
}

func (s *Server) signIn(w http.ResponseWriter, r *http.Request) error {
	if s.cfg.Sessions == nil {
		return errs.New(errs.Unsupported, "this server has no users: nobody has to sign in")
	}
	body, err := exchange.ReadBody(w, r, maxSignIn, "sign-in")
	if err != nil {
		return err
	}
	var in struct {
		User     string `json:"user"`
		Password string `json:"password"`
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	// The error of the decoder could show the password.
	if d.Decode(&in) != nil || d.More() || in.User == "" || in.Password == "" {
		return errs.New(errs.InvalidArguments, `a sign-in is {"user":"NAME","password":"PASSWORD"}`)
	}
	x := exchange.Of(r)
	_, err = s.cfg.SignIn(r.Context(), in.User, in.Password, x.Client)
	switch errs.CodeOf(err) {
	case errs.UserNotFound, errs.UserPasswordMismatch:
		// Which half was wrong is not said.
		return errs.New(errs.UserPasswordMismatch, "the name or the password is wrong").WithStatus(http.StatusUnauthorized)
	}
	if err != nil {
		x.ExactRetry = errs.CodeOf(err) == errs.RateLimited
		return err
	}
	cookie, err := s.cfg.Sessions.Begin(in.User, s.cfg.Proxies.Secure(r))
	if err != nil {
		return err
	}
	http.SetCookie(w, cookie)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// handleSignOut ends the session of a browser.
func (s *Server) handleSignOut(w http.ResponseWriter, r *http.Request) {
	if s.cfg.Sessions != nil {
		http.SetCookie(w, s.cfg.Sessions.End(s.cfg.Proxies.Secure(r)))
	}
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusNoContent)
}

// Session describes the user of a request, and what they may do.
type Session struct {
	User      string        `json:"user"`
	CanRead   bool          `json:"can_read"`
	CanWrite  bool          `json:"can_write"`
	CanManage bool          `json:"can_manage"`
	Auth      string        `json:"auth"`
	Server    SessionServer `json:"server"`
	Zone      string        `json:"zone"`
}

// SessionServer names the server.
type SessionServer struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// handleSession answers with the user of the request.
func (s *Server) handleSession(w http.ResponseWriter, r *http.Request) {
	c := exchange.Of(r).Caller
	may := func(p access.Privilege) bool { return c.May(access.Need{Privilege: p}) }
	how := map[string]string{"none": "off", "session": "session"}[c.Proof]
	if how == "" {
		how = "basic"
	}
	out, err := json.Marshal(Session{
		User: c.User, CanRead: may(access.Select), CanWrite: may(access.Insert), CanManage: may(access.Operate), Auth: how,
		Server: SessionServer{Name: s.cfg.Status.Hostname, Version: s.cfg.Status.Version}, Zone: "UTC",
	})
	if err != nil {
		exchange.WriteError(w, r, errs.Wrap(errs.Internal, err, "describe the session"))
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	exchange.WriteJSON(w, http.StatusOK, out)
}
