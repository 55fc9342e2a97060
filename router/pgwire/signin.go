package pgwire

import (
	"bytes"
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgproto3"

	"cordwood/proto/errs"
	"cordwood/router/access"
	"cordwood/router/access/scram"
	"cordwood/router/httpapi/auth"
)

// signIn authenticates the client.
func (h *handshake) signIn(user string) error {
	if h.cfg.RequireTLS && h.link.tls == nil {
		return fatal("28000", "TLS with a client certificate is required").withHint("connect with sslmode=require")
	}
	if h.cfg.Users == nil {
		h.sender = access.Everybody()
		h.say.send(&pgproto3.AuthenticationOk{})
		return nil
	}
	ch, err := h.cfg.Users.Challenge(user, h.link.address)
	if err != nil {
		return fatal("53400", "%s", errs.From(err).Msg)
	}
	if ch.Password {
		err = h.cleartext(user, ch)
	} else {
		err = h.scram(user, ch)
	}
	if err != nil {
		return err
	}
	if h.link.tls != nil {
		state := h.link.tls.ConnectionState()
		if err := h.cfg.Users.SameCertificate(&state, h.sender, h.link.address); err != nil {
			h.authFailed()
			return fatal("28000", "%s", errs.From(err).Msg)
		}
	}
	h.say.send(&pgproto3.AuthenticationOk{})
	return nil
}

// wrongPassword is the error for every failure to authenticate, so that user names cannot be probed.
func wrongPassword(user string) *Error {
	return fatal("28P01", "password authentication failed for user %q", excerpt(user))
}

// cleartext requests the password itself, for a user whose stored form allows nothing else, or a token. It requires
// TLS, or for a token a client on this machine.
func (h *handshake) cleartext(user string, ch *auth.Challenge) error {
	switch {
	case h.link.tls != nil, ch.Token && h.link.address.IsLoopback():
	case ch.Token:
		return fatal("28000", "a token can only be sent over TLS").withHint("connect with sslmode=require")
	default:
		return fatal("28000", "user %s has a bcrypt password, which can only be checked over TLS", excerpt(user)).
			withHint("connect with sslmode=require, or store what cordwood user hash prints")
	}
	h.say.send(&pgproto3.AuthenticationCleartextPassword{})
	body, err := h.password()
	if err != nil {
		return err
	}
	var m pgproto3.PasswordMessage
	if err := m.Decode(body); err != nil {
		return fatal("08P01", "malformed password message")
	}
	ctx, cancel := context.WithTimeout(context.Background(), h.cfg.StartTime)
	defer cancel()
	sender, err := ch.Cleartext(ctx, m.Password)
	if errs.CodeOf(err) == errs.RateLimited {
		return fatal("53400", "%s", errs.From(err).Msg)
	}
	if err != nil {
		h.authFailed()
		if e := errs.From(err); ch.Token {
			return fatal("28P01", "%s", e.Msg)
		}
		return wrongPassword(user)
	}
	h.sender = sender
	return nil
}

// password returns the body of the client's password message.
func (h *handshake) password() ([]byte, error) {
	if err := h.link.out.Flush(); err != nil {
		return nil, err
	}
	return h.link.in.Password()
}

// scram authenticates the client by SCRAM.
func (h *handshake) scram(user string, ch *auth.Challenge) error {
	e := scram.NewExchange(ch.Keys, h.binding)
	h.say.send(&pgproto3.AuthenticationSASL{AuthMechanisms: e.Mechanisms()})
	err := h.exchange(e)
	sender, ok := ch.Passed()
	var malformed scram.MalformedError
	switch {
	case err == nil && ok:
		h.sender = sender
		return nil
	case err == nil || errors.Is(err, scram.ErrWrong):
		ch.Failed()
		h.authFailed()
		return wrongPassword(user)
	case errors.As(err, &malformed):
		h.authFailed()
		return fatal("08P01", "%s", malformed)
	}
	return err
}

func (h *handshake) exchange(e *scram.Exchange) error {
	body, err := h.password()
	if err != nil {
		return err
	}
	mechanism, data, err := saslInitial(body)
	if err != nil {
		return err
	}
	answer, err := e.First(mechanism, data)
	if err != nil {
		return err
	}
	h.say.send(&pgproto3.AuthenticationSASLContinue{Data: answer})
	if body, err = h.password(); err != nil {
		return err
	}
	if answer, err = e.Final(body); err != nil {
		return err
	}
	h.say.send(&pgproto3.AuthenticationSASLFinal{Data: answer})
	return nil
}

// saslInitial parses the first SASL message.
func saslInitial(body []byte) (mechanism string, data []byte, err error) {
	if !bytes.Contains(body, []byte{0}) {
		return "", nil, fatal("08P01", "malformed SASL message")
	}
	var m pgproto3.SASLInitialResponse
	if err := m.Decode(body); err != nil {
		return "", nil, fatal("08P01", "malformed SASL message")
	}
	return m.AuthMechanism, m.Data, nil
}
