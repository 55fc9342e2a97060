package node

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/router/access"
	"cordwood/router/access/scram"
	"cordwood/router/audit"
	"cordwood/router/httpapi/exchange"
)

// The way back to an administrator: whoever may write to the data folder of a router, which is the user that runs it,
// can make a user of the metadata an administrator with a new password. Requests come by a socket in the folder, so
// nobody can send them over the network.

const (
	// adminSocket is the name of the socket in the data folder.
	adminSocket = "admin.sock"
	// maxResetBody bounds the body of a request, in bytes, and resetTime the time that it may take.
	maxResetBody = 8 << 10
	resetTime    = 30 * time.Second
)

// resetAdmin is a request to make a user an administrator.
type resetAdmin struct {
	Name string `json:"name"`
	// Verifier is the SCRAM-SHA-256 verifier of the password.
	Verifier string `json:"verifier"`
}

// socketPath returns a path for the socket in dir, whatever the length of the folder's name, because the path of a
// socket has at most 107 bytes. The caller must close the folder after the path was used.
func socketPath(dir string) (path string, folder io.Closer, err error) {
	f, err := os.Open(dir)
	if err != nil {
		return "", nil, err
	}
	return filepath.Join(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), adminSocket), f, nil
}

// serveAdminSocket serves the socket until ctx ends. Without it, the node runs all the same.
func (n *node) serveAdminSocket(ctx context.Context) error {
	if err := os.Remove(filepath.Join(n.cfg.DataDir, adminSocket)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		n.log.Warn("the socket for a new administrator cannot be opened", "dir", n.cfg.DataDir, "error", err)
		<-ctx.Done()
		return nil
	}
	path, folder, err := socketPath(n.cfg.DataDir)
	var l *net.UnixListener
	if err == nil {
		if l, err = net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: path}); err == nil {
			err = os.Chmod(path, 0o600)
		}
	}
	if err != nil {
		n.log.Warn("the socket for a new administrator cannot be opened", "dir", n.cfg.DataDir, "error", err)
		<-ctx.Done()
		return nil
	}
	defer folder.Close()
	server := &http.Server{Handler: http.HandlerFunc(n.serveReset), ReadTimeout: resetTime, MaxHeaderBytes: maxResetBody}
	go func() {
		<-ctx.Done()
		_ = server.Close() // it ends Serve, and removes the socket
	}()
	if err := server.Serve(ownPeers{l, os.Geteuid(), n.log}); !errors.Is(err, http.ErrServerClosed) {
		n.log.Warn("the socket for a new administrator was closed", "error", err)
		<-ctx.Done()
	}
	return nil
}

// serveReset makes a user an administrator.
func (n *node) serveReset(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), resetTime)
	defer cancel()
	var req resetAdmin
	body, err := exchange.ReadBody(w, r, maxResetBody, "request")
	if err == nil {
		err = exchange.DecodeJSON(body, &req)
	}
	if err == nil && n.userList.Listed(req.Name) {
		err = errs.New(errs.InvalidArguments, "%s comes from the list of users of this router (--user-file or "+
			"--user-provider): change it there, or choose another name", req.Name)
	}
	if err == nil {
		err = checkVerifier(req)
	}
	if err == nil {
		err = n.makeAdmin(ctx, req)
	}
	if err != nil {
		e := errs.From(err)
		http.Error(w, e.ClientMessage(), e.Status())
	}
}

// checkVerifier returns an error if the verifier is none. With such a verifier, nobody could sign in as the user, but
// the cluster would count an administrator.
func checkVerifier(req resetAdmin) error {
	if _, err := scram.Parse(req.Verifier); err != nil {
		return errs.Wrap(errs.InvalidArguments, err, "reset the administrator %s: read the verifier", req.Name)
	}
	return nil
}

// ownPeers accepts connections of the user that runs this process, and of root, only. So nobody can connect in the
// moment before the socket has its permissions.
type ownPeers struct {
	*net.UnixListener
	uid int
	log *slog.Logger
}

func (l ownPeers) Accept() (net.Conn, error) {
	for {
		conn, err := l.AcceptUnix()
		if err != nil {
			return nil, err
		}
		uid, err := peerUser(conn)
		if err == nil && (uid == 0 || uid == l.uid) {
			return conn, nil
		}
		l.log.Warn("refused a connection to the socket for a new administrator", "uid", uid, "error", err)
		_ = conn.Close() // nothing was sent
	}
}

// peerUser returns the id of the user that connected.
func peerUser(conn *net.UnixConn) (int, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return -1, err
	}
	uid, failed := -1, error(nil)
	err = raw.Control(func(fd uintptr) {
		var cred *unix.Ucred
		if cred, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); failed == nil {
			uid = int(cred.Uid)
		}
	})
	return uid, errors.Join(err, failed)
}

// makeAdmin makes a user an administrator, and records it.
func (n *node) makeAdmin(ctx context.Context, req resetAdmin) error {
	caller := &access.Caller{Sender: access.Everybody()}
	caller.Proof = adminSocket
	change := audit.Change{By: caller, Need: access.Need{
		Privilege: access.ManageAccess, Action: "reset administrator",
		Object: access.Object{Kind: access.Principal, Name: req.Name},
	}}
	ctx = n.changes.Begin(ctx, func() audit.Change { return change })
	now := time.Now().UnixNano()
	_, change.Err = n.meta.Propose(ctx, &metapb.Command{TimeUnixNano: now, Op: &metapb.Command_ChangeAccess{
		ChangeAccess: &metapb.ChangeAccess{
			Actor: &metapb.AccessActor{Principal: caller.User, Statement: "reset-admin"},
			Changes: []*metapb.AccessChange{{Change: &metapb.AccessChange_ResetAdmin{
				ResetAdmin: &metapb.ResetAdmin{Name: req.Name, Verifier: req.Verifier},
			}}},
		},
	}})
	n.changes.Record(ctx, change)
	return change.Err
}

// ResetAdmin asks the router with the data folder dir, on this machine, to make a user an administrator with the
// password of a verifier.
func ResetAdmin(ctx context.Context, dir, name, verifier string) error {
	body, err := json.Marshal(resetAdmin{name, verifier})
	if err != nil {
		return err
	}
	client := &http.Client{Timeout: resetTime, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			path, folder, err := socketPath(dir)
			if err != nil {
				return nil, err
			}
			defer folder.Close()
			return (&net.Dialer{}).DialContext(ctx, "unix", path)
		},
	}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://node/reset-admin", bytes.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("ask the router with the data folder %s: %w: run the command on the machine of a running router "+
			"whose users authenticate (--auth=on), as the user that runs it", dir, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, maxResetBody)) // only for the message
		return fmt.Errorf("make %s an administrator: %s", name, bytes.TrimSpace(text))
	}
	return nil
}
