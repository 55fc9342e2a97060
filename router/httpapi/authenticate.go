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

// authenticate finds out which user asks.
func (g *gate) authenticate(x *exchange.Exchange, r *http.Request) error {
	if g.auth == nil {
		x.Caller = access.Caller{Sender: access.Everybody(), Address: x.Client}
		return nil
	}
	sender, err := g.sender(x, r)
	if err != nil {
		e := errs.From(err)
		if x.ExactRetry = e.Code == errs.RateLimited; !x.ExactRetry {
			e = e.WithStatus(http.StatusUnauthorized)
		}
		if asksForPassword(r) {
			x.Header().Set("WWW-Authenticate", `Basic realm="cordwood"`)
		}
		return e
	}
	x.Caller = access.Caller{Sender: sender, Address: x.Client}
	return nil
}

// sender finds out the sender of a request: by credentials, or otherwise by the session of a browser, which is renewed.
func (g *gate) sender(x *exchange.Exchange, r *http.Request) (access.Sender, error) {
	if g.sessions == nil || params.Header(r.Header, "X-Svc-Auth", "Authorization") != "" || !g.sessions.Has(r) {
		return g.auth.Authenticate(r, x.Client)
	}
	sender, renewed, err := g.sessions.Authenticate(r, g.proxies.Secure(r))
	if renewed != nil {
		http.SetCookie(x, renewed)
	}
	return sender, err
}

// asksForPassword reports whether the answer may have the client ask its user for a password. A
// browser would do that with a dialog of its own, also for what a page fetches by itself. Our
// page marks its requests, as over plain HTTP browsers send no Sec-Fetch-Mode.
func asksForPassword(r *http.Request) bool {
	mode := r.Header.Get("Sec-Fetch-Mode")
	return r.Header.Get("X-Svc-Page") != "1" && (mode == "" || mode == "navigate")
}

// withDeadline gives the request its time limit: from x-svc-timeout, else the
// server's own. A route with limits of its own reads the header itself.
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

// parseDuration reads 30s, 1m30s, 500ms, and the words of a table's ttl, as 2 minutes.
func parseDuration(text string) (time.Duration, error) {
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return d, nil
	}
	if ttl, err := schema.ParseTTL(text); err == nil && ttl.D > 0 {
		return ttl.D, nil
	}
	return 0, errs.New(errs.InvalidArguments, "Invalid x-svc-timeout: %q is not a duration; write it as 30s", text)
}
