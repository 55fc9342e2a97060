package client

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestServerThatIsNotThereIsGivenUp(t *testing.T) {
	waits := 0
	c, err := New(Config{
		Servers: []string{"http://127.0.0.1:1"},
		Wait:    func(context.Context, time.Duration) error { waits++; return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(t.Context(), Request{Method: "GET", Path: "/health"})
	if err == nil {
		_ = resp.Body.Close()
		t.Fatal("connected to a port that nobody listens on")
	}
	if waits != maxConnects-1 {
		t.Errorf("waited %d times, want %d", waits, maxConnects-1)
	}
}

// TestUnreachable checks that the error for an address without a server explains the cause.
func TestUnreachable(t *testing.T) {
	dial := func(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Err: err} }
	c, err := New(Config{Servers: []string{"garbage"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		err        error
		want, lack string
	}{
		{
			dial(&net.DNSError{Err: "no such host", Name: "garbage", IsNotFound: true}),
			`the name "garbage" does not resolve, check --server`, "cordwood serve",
		},
		{
			dial(&net.DNSError{Err: "server misbehaving", Name: "garbage", IsTemporary: true}),
			`the name "garbage" could not be looked up`, "cordwood serve",
		},
		{
			dial(os.NewSyscallError("connect", syscall.ECONNREFUSED)), "start one with 'cordwood serve' or give --server",
			"resolve",
		},
		{dial(os.NewSyscallError("connect", syscall.EHOSTUNREACH)), "check --server, and the network", "cordwood serve"},
		{
			&net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)},
			"4001 is the port between nodes", "cordwood serve",
		},
		{io.EOF, "closed the connection without an answer", "cordwood serve"},
		{
			&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}},
			"set the environment variable SSL_CERT_FILE", "--server",
		},
		{errors.New("odd"), "http://garbage: odd", "--server"},
	} {
		got := c.explain(c.servers[0], tt.err)
		if !errors.Is(got, tt.err) || !strings.Contains(got.Error(), tt.want) || strings.Contains(got.Error(), tt.lack) {
			t.Errorf("%v: %v, want %q and not %q", tt.err, got, tt.want, tt.lack)
		}
	}
}

// TestWrongPorts checks the errors for ports that do not serve users.
func TestWrongPorts(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	go func() {
		for {
			conn, err := silent.Accept()
			if err != nil {
				return
			}
			_, _ = bufio.NewReader(conn).ReadString('\n')
			conn.Close()
		}
	}()
	for server, want := range map[string]string{
		"https://" + strings.TrimPrefix(plain.URL, "http://"): "write http://",
		silent.Addr().String():                                "4001 is the port between nodes",
	} {
		c, err := New(Config{Servers: []string{server}, Attempts: 1})
		if err != nil {
			t.Fatal(err)
		}
		c.http.Transport.(*http.Transport).TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
		resp, err := c.Do(t.Context(), Request{Method: "GET", Path: "/health"})
		if err == nil {
			_ = resp.Body.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", server, err, want)
		}
	}
}
