package cluster

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// sendTo sends a text to an address such as udp://HOST:PORT, and keeps the connection until the
// test ends.
func sendTo(t *testing.T, address, text string, conf *tls.Config) {
	t.Helper()
	scheme, addr, _ := strings.Cut(address, "://")
	var conn net.Conn
	var err error
	if scheme == "tls" {
		conn, err = tls.DialWithDialer(&net.Dialer{Timeout: Generous(10 * time.Second)}, "tcp", addr, conf)
	} else {
		conn, err = net.Dial(scheme, addr)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if _, err := conn.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
}

// awaitAnswer runs a statement until its answer as CSV is want.
func (n *Node) awaitAnswer(t *testing.T, client *http.Client, sql, want string) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(Generous(20 * time.Second)); ; <-tick.C {
		path := "/v1/sql?format=csv&sql=" + url.QueryEscape(sql)
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, n.HTTP+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.SetBasicAuth("admin", "secret")
		got := ""
		resp, err := client.Do(r)
		if err == nil {
			text, _ := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			got = strings.TrimSpace(string(text))
		}
		if got == want {
			return
		}
		if time.Now().After(end) {
			t.Errorf("%s: %s (%v), want %s", sql, got, err, want)
			return
		}
	}
}

// trusting returns a client that presents the certificates. It does not verify the server's certificate, because the
// server is a process of this test.
func trusting(t *testing.T, certificates ...tls.Certificate) (*http.Client, *tls.Config) {
	t.Helper()
	conf := &tls.Config{InsecureSkipVerify: true, Certificates: certificates}
	client := &http.Client{Timeout: Generous(10 * time.Second), Transport: &http.Transport{TLSClientConfig: conf}}
	t.Cleanup(client.CloseIdleConnections)
	return client, conf
}

// TestSyslog sends messages over UDP, TCP and TLS. The address must determine their table, and
// received messages must be stored before the node ends.
func TestSyslog(t *testing.T) {
	t.Parallel()
	cert, key := selfSigned(t, t.TempDir(), "receiver")
	udp, tcp, secure := "udp://"+freeAddr(t), "tcp://"+freeAddr(t), "tls://"+freeAddr(t)
	n := New(t, "--shards", "1", "--tls-cert", cert, "--tls-key", key,
		"--syslog-addr", udp+"?table=packets,"+tcp+"?db=public&timezone=Europe/Berlin,"+secure+"?table=secure")
	n.Start()
	client, conf := trusting(t)
	const message = "<13>1 2026-01-05T10:00:00Z web1 shop 7 - - one\n"
	sendTo(t, udp, message, nil)
	sendTo(t, tcp, message+"<13>Jan  5 11:00:00 web2 shop: two\n", nil)
	sendTo(t, secure, message, conf)
	for table, want := range map[string]string{"packets": "1", "syslog": "2", "secure": "1"} {
		n.awaitAnswer(t, client, "SELECT count(*) FROM "+table, want)
	}
	n.awaitAnswer(t, client, "SELECT hour(svc_timestamp) FROM syslog WHERE hostname = 'web2'", "10") // 11 in Berlin
	// The test does not wait until these messages are stored.
	sendTo(t, tcp, strings.Repeat(message, 1000), nil)
	n.Stop()
	n.Start()
	n.awaitAnswer(t, client, "SELECT count(*) FROM syslog", "1002")
	sendTo(t, udp, message, nil)
	n.awaitAnswer(t, client, "SELECT count(*) FROM packets", "2")
}

// TestGELF sends messages over UDP, also in chunks, and over TCP.
func TestGELF(t *testing.T) {
	t.Parallel()
	udp, tcp := "udp://"+freeAddr(t), "tcp://"+freeAddr(t)
	n := New(t, "--shards", "1", "--gelf-addr", udp+","+tcp)
	n.Start()
	const message = `{"version":"1.1","host":"web1","short_message":"one","timestamp":1767607200,"level":6,"_user":"ann"}`
	sendTo(t, udp, message, nil)
	sendTo(t, tcp, message+"\x00"+message+"\x00", nil)
	conn, err := net.Dial("udp", strings.TrimPrefix(udp, "udp://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for i, part := range []string{message[:40], message[40:]} {
		if _, err := conn.Write(append([]byte{0x1e, 0x0f, 1, 2, 3, 4, 5, 6, 7, 8, byte(i), 2}, part...)); err != nil {
			t.Fatal(err)
		}
	}
	client, _ := trusting(t)
	const sql = "SELECT count(*) FROM gelf_logs WHERE host = 'web1' AND message = 'one'"
	n.awaitAnswer(t, client, sql, "4")
}

// TestForward checks that a Fluentd message is acknowledged when it is stored, and that clients
// without the key are refused.
func TestForward(t *testing.T) {
	t.Parallel()
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	plain, keyed := "tcp://"+freeAddr(t), "tcp://"+freeAddr(t)
	n := New(t, "--shards", "1", "--forward-addr", plain+"?table_by_tag=true,"+keyed+"?table=keyed&shared-key-file="+key)
	n.Start()
	// ["web.x", 1767607200, {"n": 7}, {"chunk": "c1"}]
	const message = "\x94\xa5web.x\xce\x69\x5b\x8a\x20\x81\xa1n\x07\x81\xa5chunk\xa2c1"
	for _, c := range []struct{ address, want string }{
		{plain, "\x81\xa3ack\xa2c1"},
		{keyed, "\x92\xa4HELO"},
	} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(c.address, "tcp://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := conn.Write([]byte(message)); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(c.want))
		if err := conn.SetReadDeadline(time.Now().Add(Generous(20 * time.Second))); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(conn, got); err != nil || string(got) != c.want {
			t.Errorf("%s: answer %q, %v; want %q", c.address, got, err, c.want)
		}
	}
	client, _ := trusting(t)
	n.awaitAnswer(t, client, "SELECT n, tag FROM web", "7,web.x")
}

// whoami returns the status and the body of the answer to the question who sends a request, with USER:PASSWORD or none.
func whoami(t *testing.T, client *http.Client, server, password string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server+"/v1/access/whoami", nil)
	if err != nil {
		t.Fatal(err)
	}
	if user, secret, ok := strings.Cut(password, ":"); ok {
		r.SetBasicAuth(user, secret)
	}
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(resp.StatusCode, " ", string(text))
}

// TestSyslogOfUsers checks that messages are stored as the user of the token, or of the client's
// certificate, and that a user without the permission stores nothing.
func TestSyslogOfUsers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key := selfSigned(t, dir, "admin")
	write := func(name, text string) string {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	users := write("users", "ship:wo=secret\nlook:ro=secret\nadmin:rw=secret\n")
	ship, look := write("ship", "ship:secret\n"), write("look", "look:secret\n")
	may, mayNot, certified := "tcp://"+freeAddr(t), "tcp://"+freeAddr(t), "tls://"+freeAddr(t)
	n := New(t, "--shards", "1", "--tls-cert", cert, "--tls-key", key, "--tls-client-ca", cert, "--tls-client-user", "cn",
		"--user-file", users,
		"--syslog-addr", may+"?table=may&token-file="+ship+","+mayNot+"?table=may_not&token-file="+look+","+
			certified+"?table=certified")
	n.Launch()
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	client, shown := trusting(t, pair)
	n.awaitAnswer(t, client, "SELECT 1", "1")
	const message = "<13>1 2026-01-05T10:00:00Z web1 shop 7 - - one\n"
	sendTo(t, may, message, nil)
	sendTo(t, certified, message, shown)
	for _, table := range []string{"may", "certified"} {
		n.awaitAnswer(t, client, "SELECT count(*) FROM "+table, "1")
	}
	for password, want := range map[string]string{
		"":            `200 {"user":"admin","auth":"certificate"`,
		"look:secret": `401 {"code":7002,"error":"the client's certificate is of the user admin`,
	} {
		if got := whoami(t, client, n.HTTP, password); !strings.HasPrefix(got, want) {
			t.Errorf("a request with the certificate of admin and the password %q: %s", password, got)
		}
	}
	conn, err := net.Dial("tcp", strings.TrimPrefix(mayNot, "tcp://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = conn.Write([]byte(message)) // the connection may be closed already
	if err := conn.SetReadDeadline(time.Now().Add(Generous(20 * time.Second))); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the connection of a user who may not write: %v, want its end", err)
	}
	bare := &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12} // with 1.3 it is refused later
	if _, err := tls.Dial("tcp", strings.TrimPrefix(certified, "tls://"), bare); err == nil {
		t.Error("a client without a certificate was accepted")
	}
}
