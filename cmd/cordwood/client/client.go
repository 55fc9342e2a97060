// Package client sends HTTP requests of the commands to a cordwood server. It handles addresses,
// credentials, the form of errors, and retries; the commands define the requests.
//
// A Client may be used by any number of goroutines. It holds only idle connections, and needs no
// Close.
package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// Config configures a Client.
type Config struct {
	// Servers are the base URLs of servers of one cluster; without a scheme they use http. If a server does not
	// answer, the next one is used.
	Servers []string
	// Flag is the flag or environment variable with the address, for errors. The default value is --server.
	Flag string
	// Serve is the command that starts such a server, for errors. The default value is cordwood
	// serve.
	Serve string
	// User is NAME:PASSWORD, or empty.
	User string
	// UserAgent identifies the program.
	UserAgent string
	// Attempts is the number of times that a request is sent to each server in total; 0 means 10.
	Attempts int
	// Forever removes the limit of attempts, even if no connection can be made.
	Forever bool
	// OnRetry, if not nil, is called before each wait; a wait of 0 means that the next server is
	// tried.
	OnRetry func(cause error, wait time.Duration)
	// Now is the clock; nil means time.Now. Tests replace it.
	Now func() time.Time
	// Wait waits between two attempts; nil means the given time. Tests replace it.
	Wait func(ctx context.Context, d time.Duration) error
}

// Client sends requests to one server, or to several of one cluster.
type Client struct {
	cfg     Config
	servers []server
	http    *http.Client
	now     func() time.Time
	// current is the index of the server that is tried first.
	current atomic.Int64
}

// server is one address, with its credentials.
type server struct{ base, user, password string }

// connectWait is the time that a server may take to accept a connection if there is another server.
const connectWait = 3 * time.Second

// New checks the addresses and the credentials; it does not connect.
func New(cfg Config) (*Client, error) {
	c := &Client{cfg: cfg, now: cfg.Now}
	for _, address := range cfg.Servers {
		s, err := parseServer(address, cfg.User)
		if err != nil {
			return nil, err
		}
		c.servers = append(c.servers, s)
	}
	if len(c.servers) == 0 {
		return nil, errors.New("no server is given")
	}
	if c.now == nil {
		c.now = time.Now
	}
	c.cfg.Flag, c.cfg.Serve = cmp.Or(c.cfg.Flag, "--server"), cmp.Or(c.cfg.Serve, "cordwood serve")
	if c.cfg.Attempts <= 0 {
		c.cfg.Attempts = 10
	}
	if c.cfg.Wait == nil {
		c.cfg.Wait = wait
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 64
	// Bodies are passed on as they arrive: a body that the transport has decompressed would look like the original
	// one.
	transport.DisableCompression = true
	if len(c.servers) > 1 {
		// Do not wait long for a machine that is down before trying the next one.
		transport.DialContext = (&net.Dialer{Timeout: connectWait, KeepAlive: 30 * time.Second}).DialContext
	}
	c.http = &http.Client{Transport: transport}
	return c, nil
}

// parseServer parses an address. user has the credentials for addresses that contain none.
func parseServer(address, user string) (server, error) {
	text := strings.TrimSpace(address)
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return server{}, fmt.Errorf("server %q is not a URL: write it like http://127.0.0.1:4000", address)
	}
	s := server{base: u.Scheme + "://" + u.Host + strings.TrimSuffix(u.Path, "/")}
	if u.User != nil {
		s.user = u.User.Username()
		s.password, _ = u.User.Password()
	}
	if user != "" {
		var found bool
		if s.user, s.password, found = strings.Cut(user, ":"); !found || s.user == "" || s.password == "" {
			return server{}, errors.New("the user must be given as NAME:PASSWORD")
		}
	}
	return s, nil
}

// Server returns the address of the server that is tried first, without credentials.
func (c *Client) Server() string { return c.servers[c.current.Load()].base }

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
