package auth

import (
	"crypto/tls"
	"net/netip"

	"cordwood/proto/errs"
	"cordwood/proto/rights"
	"cordwood/router/access"
)

// proofCertificate is the Proof of a sender whose client's certificate has the user's name.
const proofCertificate = "certificate"

// certified returns the name of the user in the certificate of a client, or "".
func (p *Provider) certified(state *tls.ConnectionState) (string, error) {
	if p.certificateName == nil || state == nil {
		return "", nil
	}
	return p.certificateName(state)
}

// Certificate returns the sender for the certificate of a client. The error has status 401: AuthHeaderNotFound if the
// client has no certificate that stands for a user, or UserNotFound.
func (p *Provider) Certificate(state *tls.ConnectionState, from netip.Addr) (access.Sender, error) {
	return p.ofCertificate(state, from, errs.New(errs.AuthHeaderNotFound, "the client has no certificate that stands for "+
		"a user: see --tls-client-user"))
}

// ofCertificate is Certificate. Without a certificate that stands for a user, the error is none.
func (p *Provider) ofCertificate(
	state *tls.ConnectionState, from netip.Addr, none *errs.Error,
) (access.Sender, error) {
	name, err := p.certified(state)
	switch {
	case err != nil:
		err = refuse(errs.InvalidAuthHeader, err.Error())
		p.noteRefused(access.Sender{Proof: proofCertificate}, from, err)
		return access.Sender{}, err
	case name == "":
		return access.Sender{}, none.WithStatus(401)
	}
	u := p.users.Load().certified(name)
	if u == nil {
		err = refuse(errs.UserNotFound, "the client's certificate is of the user "+shorten(name)+", who does not exist, was "+
			"disabled or has expired")
		p.noteRefused(access.Sender{User: name, Proof: proofCertificate}, from, err)
		return access.Sender{}, err
	}
	s := u.sender
	s.Proof, s.Certificate = proofCertificate, name
	return s, p.tooOld(&s)
}

// certified returns the user for the name in a certificate, who may have no password, or nil. A user with another name
// in the certificates has none with the name of the user. The OIDC provider authenticates people, and not certificates.
func (l *userList) certified(name string) *user {
	if u := l.certificates[name]; u != nil {
		return u
	}
	u := l.byName[name]
	if u == nil {
		u = l.owners[name]
	}
	if u == nil || u.certificate != "" || rights.IsPerson(name) {
		return nil
	}
	return u
}

// certifiedUser returns the name of the user for the name in a certificate. For an unknown name, it is this name.
func (l *userList) certifiedUser(name string) string {
	if u := l.certificates[name]; u != nil {
		return u.sender.User
	}
	return name
}

// SameCertificate returns an error if the client's certificate stands for another user than the credentials of s.
func (p *Provider) SameCertificate(state *tls.ConnectionState, s access.Sender, from netip.Addr) error {
	name, err := p.certified(state)
	if err != nil || name == "" || p.users.Load().certifiedUser(name) == s.User {
		return nil // a certificate without a name stands for nobody
	}
	err = refuse(errs.UserPasswordMismatch, "the client's certificate is of the user "+shorten(name)+", and the "+
		"credentials in the request are of "+shorten(s.User)+": send those of the same user, or none")
	p.noteRefused(s, from, err)
	return err
}
