package httpapi

import (
	"context"
	"net/http"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/access"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/httpapi/params"
)

// authenticate finds out which user sends the request.
func (g *gate) authenticate(x *exchange.Exchange, r *http.Request) error {
	if g.auth == nil {
		x.Caller = access.Caller{Sender: access.Everybody(), Address: x.Client}
		return nil
	}
	sender, err := g.sender(x, r)
	if err != nil {
		return g.unauthorized(x, r, err)
	}
	x.Caller = access.Caller{Sender: sender, Address: x.Client}
	return nil
}

// unauthorized returns the error for a request without valid credentials. A token that is used from a wrong address is
// valid, so it gets 403.
func (g *gate) unauthorized(x *exchange.Exchange, r *http.Request, err error) error {
	e := errs.From(err)
	if x.ExactRetry = e.Code == errs.RateLimited; x.ExactRetry || e.Code == errs.PermissionDenied ||
		e.Code == errs.ShardNotReady { // this router does not know the rights, so the credentials may be right
		return e
	}
	if g.oidc && r.Header.Get("X-Svc-Page") == "1" {
		x.Header().Set("X-Svc-OIDC", "1") // the page offers this way to sign in
	}
	if asksForPassword(r) {
		x.Header().Set("WWW-Authenticate", `Basic realm="cordwood"`)
	}
	return e.WithStatus(http.StatusUnauthorized)
}

// sender returns the sender of a request, from its credentials or from the session of a browser. It renews the
// session.
func (g *gate) sender(x *exchange.Exchange, r *http.Request) (access.Sender, error) {
	if g.sessions == nil || params.Header(r.Header, "X-Svc-Auth", "Authorization") != "" || !g.sessions.Has(r) {
		return g.auth.Authenticate(r, x.Client)
	}
	x.Header().Set("Cache-Control", "no-store") // a browser must not keep answers after its user has signed out
	sender, renewed, err := g.sessions.Authenticate(r, x.Client, g.proxies.Secure(r))
	if renewed != nil {
		http.SetCookie(x, renewed)
	}
	if err == nil {
		err = g.auth.SameCertificate(r.TLS, sender, x.Client)
	}
	return sender, err
}

// asksForPassword reports whether the answer may cause the client to ask its user for a password. A browser would
// open its own dialog, even for requests that a page sends in the background. Our page marks its requests with a
// header, because browsers do not send Sec-Fetch-Mode over plain HTTP.
func asksForPassword(r *http.Request) bool {
	mode := r.Header.Get("Sec-Fetch-Mode")
	return r.Header.Get("X-Svc-Page") != "1" && (mode == "" || mode == "navigate")
}

// withDeadline sets the time limit of the request: the value of x-svc-timeout, or the server's default. Routes with
// their own limits read the header themselves.
func (g *gate) withDeadline(x *exchange.Exchange, r *http.Request,
	rt route,
) (*http.Request, context.CancelFunc, error) {
	limit := g.timeout
	if rt.endless {
		limit = 0
	}
	switch text := params.Header(r.Header, "X-Svc-Timeout"); {
	case text == "":
	case rt.ownLimit:
		limit = 0
	default:
		var err error
		if limit, err = parseDuration(text); err != nil {
			return r, nil, err
		}
	}
	if limit <= 0 {
		return r, func() {}, nil
	}
	x.Deadline = x.Start.Add(limit)
	ctx, cancel := context.WithDeadline(r.Context(), x.Deadline)
	return r.WithContext(ctx), cancel, nil
}

// parseDuration parses durations such as 30s, 1m30s and 500ms, and also the form of a table's ttl, such as 2
// minutes.
func parseDuration(text string) (time.Duration, error) {
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return d, nil
	}
	if ttl, err := schema.ParseTTL(text); err == nil && ttl.D > 0 {
		return ttl.D, nil
	}
	return 0, errs.New(errs.InvalidArguments, "Invalid x-svc-timeout: %q is not a duration; write it like 30s", text)
}
