package node

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/router/access"
	"cordwood/router/access/scram"
	"cordwood/router/access/token"
	"cordwood/router/audit"
	"cordwood/router/httpapi"
)

// The first administrator of a cluster: --bootstrap-admin names one. Otherwise each router writes a token to its data
// folder while there is none, and whoever can read the file can create one.

const (
	// bootstrapFile is the name of the file with the token in the data folder.
	bootstrapFile = "bootstrap-token"
	// bootstrapLife is how long a token is valid.
	bootstrapLife = 24 * time.Hour
	// bootstrapPoll is how often a router looks whether there is an administrator, so that it can remove its token.
	bootstrapPoll = time.Second
)

// readAdminPassword returns the verifier of the password in the file.
func readAdminPassword(file string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("--bootstrap-admin-password-file: %w", err)
	}
	keys, err := scram.ForUser(strings.TrimRight(string(text), "\r\n"))
	if err != nil {
		return "", fmt.Errorf("--bootstrap-admin-password-file %s: %w", file, err)
	}
	return keys.String(), nil
}

// createFirst creates the first administrator, and records it. If the metadata have an administrator, the error has
// code IllegalState. Errors are not recorded.
func (n *node) createFirst(ctx context.Context, by *access.Caller, name, verifier string) error {
	c := firstAdmin(by, name)
	ctx = n.changes.Begin(ctx, func() audit.Change { return c })
	_, c.Err = n.meta.Propose(ctx, &metapb.Command{TimeUnixNano: time.Now().UnixNano(), Op: &metapb.Command_ChangeAccess{
		ChangeAccess: &metapb.ChangeAccess{
			Actor: &metapb.AccessActor{Principal: name, Statement: by.Proof},
			Changes: []*metapb.AccessChange{{Change: &metapb.AccessChange_Create{Create: &metapb.CreatePrincipal{
				Principal: &metapb.AccessPrincipal{Name: name, Verifier: verifier}, Bootstrap: true,
			}}}},
		},
	}})
	if c.Err == nil {
		n.changes.Record(ctx, c)
	}
	return c.Err
}

// firstAdmin describes the creation of the first administrator.
func firstAdmin(by *access.Caller, name string) audit.Change {
	return audit.Change{By: by, Need: access.Need{
		Privilege: access.ManageAccess, Action: "create administrator",
		Object: access.Object{Kind: access.Principal, Name: name},
	}}
}

// bootstrapAdmin creates the administrator of --bootstrap-admin, unless there is one. It tries again while the metadata
// group cannot be reached or is too old.
func (n *node) bootstrapAdmin(ctx context.Context) error {
	name := n.cfg.Users.BootstrapAdmin
	by := &access.Caller{Sender: access.Sender{User: n.cfg.NodeName, Proof: "settings"}}
	for {
		err := n.createFirst(ctx, by, name, n.adminVerifier)
		switch errs.CodeOf(err) {
		case errs.Success:
			n.bootstrapping.Store(false)
			n.log.Info("created the first administrator", "user", name)
			<-ctx.Done()
			return nil
		case errs.IllegalState, errs.InvalidArguments:
			n.bootstrapping.Store(false)
			n.log.Info("the first administrator is not created", "user", name, "reason", err)
			<-ctx.Done()
			return nil
		}
		n.log.Warn("the first administrator cannot be created yet", "user", name, "error", err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Second):
		}
	}
}

// offerBootstrap writes a bootstrap token to the data folder while there is no administrator.
func (n *node) offerBootstrap() {
	file := n.cfg.Path(bootstrapFile)
	n.removeBootstrap(file) // of an earlier start
	if n.userList.HasAdministrator() {
		return
	}
	n.ownKey = make([]byte, sha256.Size)
	_, _ = rand.Read(n.ownKey) // never fails
	expires := time.Now().Add(bootstrapLife)
	text := token.Bootstrap(n.bootstrapKeys()[0], n.meta.ClusterID(), expires)
	if err := writeNew(file, text+"\n"); err != nil {
		n.log.Warn("the token for the first administrator cannot be written", "file", file, "error", err)
		return
	}
	n.bootstrapFile = file
	n.log.Info("there is no administrator: whoever can read this file can create one by cordwood user bootstrap, within "+
		"24 hours", "file", file)
	n.run("removing the token for the first administrator", func(ctx context.Context) error {
		n.awaitAdministrator(ctx, expires)
		n.removeBootstrap(file)
		<-ctx.Done()
		return nil
	})
}

// writeNew writes a file that does not exist yet, and that only the user of this process can read.
func writeNew(name, text string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// awaitAdministrator returns when there is an administrator, at the time expires, or when ctx ends.
func (n *node) awaitAdministrator(ctx context.Context, expires time.Time) {
	tick := time.NewTicker(bootstrapPoll)
	defer tick.Stop()
	for !n.userList.HasAdministrator() && time.Now().Before(expires) {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (n *node) removeBootstrap(file string) {
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		n.log.Warn("the token for the first administrator cannot be removed", "file", file, "error", err)
	}
}

// bootstrapKeys returns the keys of bootstrap tokens. Nodes with certificates have no common secret, so their tokens
// are valid on the router that made them.
func (n *node) bootstrapKeys() [][]byte {
	if source := n.protection.secret; source != nil {
		return source.Keys(token.BootstrapKeys)
	}
	if n.ownKey == nil {
		return nil
	}
	return [][]byte{n.ownKey}
}

// bootstrap creates the first administrator for a client with a bootstrap token. It records attempts, too.
func (n *node) bootstrap(by *access.Caller, r *http.Request, b httpapi.Bootstrap) error {
	by.Sender = access.Sender{User: b.Name, Proof: bootstrapFile}
	err := n.tryBootstrap(by, r, b)
	if err != nil {
		c := firstAdmin(by, b.Name)
		c.Err = err
		n.changes.Record(r.Context(), c)
	}
	return err
}

func (n *node) tryBootstrap(by *access.Caller, r *http.Request, b httpapi.Bootstrap) error {
	if err := n.checkBootstrap(b.Token); err != nil {
		return err
	}
	keys, err := scram.ForUser(b.Password)
	if err != nil {
		return errs.New(errs.InvalidArguments, "the password of %.64s: %s", b.Name, err)
	}
	if n.userList.Listed(b.Name) {
		return errs.New(errs.InvalidArguments, "%.64s comes from the list of users of this router (--user-file or "+
			"--user-provider): choose another name", b.Name)
	}
	err = n.createFirst(r.Context(), by, b.Name, keys.String())
	if errs.CodeOf(err) == errs.IllegalState {
		return errs.From(err).WithStatus(http.StatusConflict)
	}
	return err
}

// checkBootstrap returns an error if a bootstrap token is not valid, or if there is an administrator.
func (n *node) checkBootstrap(text string) error {
	expires, ok := token.CheckBootstrap(n.bootstrapKeys(), n.meta.ClusterID(), text)
	switch {
	case !ok:
		return errs.New(errs.UserPasswordMismatch, "the token is not the one of a router of this cluster: send the text in "+
			"the file %s in the data folder of a router", bootstrapFile).WithStatus(http.StatusUnauthorized)
	case !time.Now().Before(expires):
		return errs.New(errs.UserPasswordMismatch, "the token has expired: start the router again for a new one, or use "+
			"cordwood user reset-admin on its machine").WithStatus(http.StatusUnauthorized)
	case n.userList.HasAdministrator():
		return errs.New(errs.IllegalState, "There is an administrator already, so the token is no longer valid: ask one to "+
			"create users").WithStatus(http.StatusConflict)
	}
	return nil
}
