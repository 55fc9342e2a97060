package pgwire

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/access"
	"cordwood/router/access/scram"
	"cordwood/router/httpapi/auth"
)

// signIn authenticates the client.
func (c *conn) signIn(user string) error {
	if c.srv.cfg.RequireTLS && c.tls == nil {
		return fatal("28000", "TLS with a client certificate is required").withHint("connect with sslmode=require")
	}
	if c.srv.cfg.Users == nil {
		c.sender = access.Everybody()
		c.out.Send(&pgproto3.AuthenticationOk{})
		return nil
	}
	ch, err := c.srv.cfg.Users.Challenge(user, c.address)
	if err != nil {
		return fatal("53400", "%s", errs.From(err).Msg)
	}
	if ch.Password {
		err = c.cleartext(user, ch)
	} else {
		err = c.scram(user, ch)
	}
	if err != nil {
		return err
	}
	c.out.Send(&pgproto3.AuthenticationOk{})
	return nil
}

// wrongPassword is the error for every failure to authenticate, so that user names cannot be probed.
func wrongPassword(user string) *Error {
	return fatal("28P01", "password authentication failed for user %q", excerpt(user))
}

// cleartext requests the password itself, for a user whose stored form allows nothing else, or a token. It requires
// TLS, or for a token a client on this machine.
func (c *conn) cleartext(user string, ch *auth.Challenge) error {
	switch {
	case c.tls != nil, ch.Token && c.address.IsLoopback():
	case ch.Token:
		return fatal("28000", "a token can only be sent over TLS").withHint("connect with sslmode=require")
	default:
		return fatal("28000", "user %s has a bcrypt password, which can only be checked over TLS", excerpt(user)).
			withHint("connect with sslmode=require, or store what cordwood user hash prints")
	}
	c.out.Send(&pgproto3.AuthenticationCleartextPassword{})
	body, err := c.password()
	if err != nil {
		return err
	}
	var m pgproto3.PasswordMessage
	if err := m.Decode(body); err != nil {
		return fatal("08P01", "malformed password message")
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.srv.cfg.StartTime)
	defer cancel()
	sender, err := ch.Cleartext(ctx, m.Password)
	if errs.CodeOf(err) == errs.RateLimited {
		return fatal("53400", "%s", errs.From(err).Msg)
	}
	if err != nil {
		c.srv.metrics.authFailures.Inc()
		if e := errs.From(err); ch.Token {
			return fatal("28P01", "%s", e.Msg)
		}
		return wrongPassword(user)
	}
	c.sender = sender
	return nil
}

// password returns the body of the client's password message.
func (c *conn) password() ([]byte, error) {
	if err := c.out.Flush(); err != nil {
		return nil, err
	}
	kind, body, err := c.in.Next()
	if err != nil {
		return nil, err
	}
	if kind != 'p' {
		return nil, fatal("08P01", "expected a password message, got message %q", kind)
	}
	return body, nil
}

// scram authenticates the client by SCRAM.
func (c *conn) scram(user string, ch *auth.Challenge) error {
	e := scram.NewExchange(ch.Keys, c.binding)
	c.out.Send(&pgproto3.AuthenticationSASL{AuthMechanisms: e.Mechanisms()})
	err := c.exchange(e)
	sender, ok := ch.Passed()
	var malformed scram.MalformedError
	switch {
	case err == nil && ok:
		c.sender = sender
		return nil
	case err == nil || errors.Is(err, scram.ErrWrong):
		ch.Failed()
		c.srv.metrics.authFailures.Inc()
		return wrongPassword(user)
	case errors.As(err, &malformed):
		c.srv.metrics.authFailures.Inc()
		return fatal("08P01", "%s", malformed)
	}
	return err
}

func (c *conn) exchange(e *scram.Exchange) error {
	body, err := c.password()
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
	c.out.Send(&pgproto3.AuthenticationSASLContinue{Data: answer})
	if body, err = c.password(); err != nil {
		return err
	}
	if answer, err = e.Final(body); err != nil {
		return err
	}
	c.out.Send(&pgproto3.AuthenticationSASLFinal{Data: answer})
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

// begin applies the parameters of the start-up packet, and sends the first messages of the session.
func (c *conn) begin(params map[string]string) error {
	user := params["user"]
	c.user = user
	readOnly := c.sender.Grants == nil && !c.sender.May(access.Need{Privilege: access.Insert})
	c.session = newSession(c.srv, user, readOnly, func(name string) bool {
		return c.srv.cfg.HasDatabase(c.currentSender(), name)
	})
	if err := c.chooseDatabase(params["database"], user); err != nil {
		return err
	}
	delete(params, "user")
	delete(params, "database")
	options, err := startOptions(params["options"])
	if err != nil {
		return err
	}
	delete(params, "options")
	for _, list := range []map[string]string{params, options} {
		for name, text := range list {
			if err := c.session.startWith(name, text); err != nil {
				err.Severity = "FATAL"
				return err
			}
		}
	}
	c.report()
	c.key = newKey()
	c.out.Send(&pgproto3.BackendKeyData{ProcessID: c.pid, SecretKey: binary.BigEndian.AppendUint32(nil, c.key)})
	c.since = time.Now()
	c.show()
	return nil
}

// chooseDatabase sets the default database. Clients without a database send the name of the user.
func (c *conn) chooseDatabase(name, user string) error {
	has := c.session.hasDatabase
	switch {
	case name != "" && (has(name) || schema.ReservedDatabase(name)):
		c.session.startIn(name, name)
	case name == "" || name == "postgres" || name == user:
		c.session.startIn(orElse(name, c.sender.DefaultDatabase()), c.sender.DefaultDatabase())
	default:
		return fatal("3D000", "database %q does not exist", excerpt(name)).
			withHint("connect to one that exists, as with dbname=public, or create it")
	}
	return nil
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// startOptions parses -c name=value and --name=value. A backslash escapes a space.
func startOptions(text string) (map[string]string, error) {
	out := map[string]string{}
	words := optionWords(text)
	for i := 0; i < len(words); i++ {
		word := words[i]
		switch {
		case word == "-c" && i+1 < len(words):
			i++
			word = words[i]
		case strings.HasPrefix(word, "-c"):
			word = word[2:]
		case strings.HasPrefix(word, "--"):
			word = word[2:]
		default:
			return nil, fatal("42601", "invalid command-line argument for server process: %s", excerpt(word)).
				withHint("write -c name=value")
		}
		name, val, found := strings.Cut(word, "=")
		if !found {
			return nil, fatal("42601", "-c %s requires a value", excerpt(name))
		}
		out[strings.ReplaceAll(name, "-", "_")] = val
	}
	return out, nil
}

// optionWords splits a text at spaces without a backslash before them.
func optionWords(text string) (words []string) {
	var word strings.Builder
	inside := false
	for i := 0; i < len(text); i++ {
		switch b := text[i]; {
		case b == '\\' && i+1 < len(text):
			i++
			word.WriteByte(text[i])
			inside = true
		case b == ' ' || b == '\t' || b == '\n':
			if inside {
				words = append(words, word.String())
			}
			word.Reset()
			inside = false
		default:
			word.WriteByte(b)
			inside = true
		}
	}
	if inside {
		words = append(words, word.String())
	}
	return words
}
