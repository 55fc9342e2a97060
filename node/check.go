package node

import (
	"errors"
	"log/slog"

	"cordwood/router/httpapi/auth"
)

// What tools can find out of settings without starting a node.

// CheckFiles reads the files that the settings name, as the start of a node does.
func (c *Config) CheckFiles(logger *slog.Logger) error {
	_, userErr := c.TLS.tlsConfig(logger)
	_, rpcErr := c.RPC.TLS.source(logger)
	protectErr := c.checkProtection()
	var users *auth.Provider
	var err error
	if c.UserFile != "" || c.UserProvider != "" {
		users, err = auth.Open(auth.Config{Option: c.UserProvider, UserFile: c.UserFile, Logger: logger})
		if err == nil {
			err = users.Close()
		}
	}
	return errors.Join(userErr, rpcErr, protectErr, err)
}

// Unprotected tells whether everybody who reaches the user port may read and write, and
// others than this machine reach it.
func (c *Config) Unprotected() bool {
	return !loopback(c.HTTP.Addr) && c.UserFile == "" && c.UserProvider == ""
}

// UserURL is where a client on this machine finds the user port.
func (c *Config) UserURL() string { return c.scheme() + "://" + reachable(c.HTTP.Addr) }

func (c *Config) scheme() string {
	if c.TLS.Cert != "" {
		return "https"
	}
	return "http"
}

// MemoryShares are the bounds of memory that the settings amount to on this machine, and
// what there is: queries, bodies of requests, rows not yet in segments.
func (c *Config) MemoryShares() (queries, bodies, rows, memory int64) {
	memory = memoryLimit()
	return orQuarter(c.Query.Memory, memory), orQuarter(c.HTTP.InflightLimit, memory), c.memtableBudget(memory), memory
}
