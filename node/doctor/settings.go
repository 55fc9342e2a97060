package doctor

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"time"

	"cordwood/node/config"
)

// expiresSoon is the remaining validity of a certificate below which it is reported.
const expiresSoon = 14 * 24 * time.Hour

// settings checks whether the server would start with its settings.
func (d *doctor) settings() {
	d.part = "settings"
	const correct = "correct it: the server does not start with it"
	if d.cfg.SettingsErr != nil {
		for _, err := range faults(d.cfg.SettingsErr) {
			d.find(Attention, "", correct, "%v", err)
		}
		return
	}
	c := d.cfg.Settings
	if c == nil {
		return
	}
	if err := c.CheckFiles(slog.New(slog.DiscardHandler)); err != nil {
		for _, err := range faults(err) {
			d.find(Attention, "", correct, "%v", err)
		}
	}
	if c.Unprotected() {
		d.find(Attention, "", "set --user-file, or listen on 127.0.0.1", "anyone who can reach %s can read and write",
			c.HTTP.Addr)
	}
	if c.OpenPostgres() {
		d.find(Attention, "", "set --user-file, or listen on 127.0.0.1",
			"anyone who can reach %s (--pg-addr) can read and write", c.PG.Addr)
	}
	for _, l := range c.OpenListeners() {
		d.find(Attention, "", "set --user-file, or listen on 127.0.0.1", "anyone who can reach %s (--%s) can store logs",
			l.Addr, l.Kind.Flag())
	}
	d.protection(c)
	for _, pair := range [][2]string{{c.TLS.Cert, c.TLS.Key}, {c.RPC.TLS.Cert, c.RPC.TLS.Key}} {
		if pair[0] != "" {
			d.certificate(pair[0], pair[1])
		}
	}
	shares := c.Shares()
	if sum := shares.Queries + shares.Bodies + shares.Rows; sum > shares.Memory {
		d.find(Attention, "", "lower one of them",
			"--query-memory, --http-inflight-limit and --shard-memory amount to %s, but the machine has %s", mebi(sum),
			mebi(shares.Memory))
	}
}

// certificate reports when a certificate expires.
func (d *doctor) certificate(cert, key string) {
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil || pair.Leaf == nil {
		return // reported already
	}
	switch left := time.Until(pair.Leaf.NotAfter); {
	case left < 0:
		d.find(Attention, "", "renew it; the server reads it again by itself",
			"the certificate %s expired at %s", cert, pair.Leaf.NotAfter.UTC().Format(time.DateTime))
	case left < expiresSoon:
		d.find(Attention, "", "renew it; the server reads it again by itself", "the certificate %s expires in %d days",
			cert, left/(24*time.Hour))
	}
	if time.Now().Before(pair.Leaf.NotBefore) {
		d.find(Attention, "", "check the clock", "the certificate %s is valid only from %s", cert,
			pair.Leaf.NotBefore.UTC().Format(time.DateTime))
	}
}

// ports checks whether a stopped server could listen on the addresses of its settings.
func (d *doctor) ports() {
	d.part = "settings"
	c := d.cfg.Settings
	if c == nil {
		return
	}
	for _, p := range c.Ports() {
		if err := p.Try(); err != nil {
			d.find(Attention, "", fmt.Sprintf("stop what uses it, or choose another --%s", p.Flag),
				"the server could not listen on its --%s: %v", p.Flag, err)
		}
	}
}

// faults splits joined errors.
func faults(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []error
		for _, e := range joined.Unwrap() {
			all = append(all, faults(e)...)
		}
		return all
	}
	return []error{err}
}

func mebi(n int64) string { return config.ByteSize(n &^ (1<<20 - 1)).String() }
