package httpapi

import (
	"net/http"

	"cordwood/proto/errs"
	"cordwood/router/access"
	"cordwood/router/httpapi/exchange"
)

// Bootstrap is a request to create the first administrator of the cluster.
type Bootstrap struct {
	// Token is the text in the file bootstrap-token of a router.
	Token string `json:"token"`
	Name  string `json:"name"`
	// Password is a password, or its SCRAM-SHA-256 verifier.
	Password string `json:"password"`
}

// bootstrap creates the first administrator. create checks the token, and records the change or the attempt.
func bootstrap(create func(by *access.Caller, r *http.Request, b Bootstrap) error) http.HandlerFunc {
	return exchange.Manage(func(x *exchange.Exchange, r *http.Request) ([]byte, error) {
		if create == nil {
			return nil, errs.New(errs.Unsupported, "this server does not authenticate its users: start it with --auth=on")
		}
		text, err := exchange.ReadBody(x, r, maxSignIn, "request")
		if err != nil {
			return nil, err
		}
		var b Bootstrap
		// The decoder's error is not shown, because it could contain the token or the password.
		if exchange.DecodeJSON(text, &b) != nil || b.Token == "" || b.Name == "" || b.Password == "" {
			return nil, errs.New(errs.InvalidArguments,
				`a request for the first administrator is {"token":"TOKEN","name":"NAME","password":"PASSWORD"}`)
		}
		by := &access.Caller{Address: x.Client, RequestID: requestID(r)}
		if err := create(by, r, b); err != nil {
			return nil, err
		}
		return []byte(`"changes":1`), nil
	})
}
