package node

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"time"

	"cordwood/node/discovery"
	"cordwood/node/rpcport"
	"cordwood/node/secret"
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

// SecretReadableByAll is the file of the cluster's secret if every account of this machine may
// read it; else empty.
func (c *Config) SecretReadableByAll() string {
	if file := c.secretFile(); c.RPC.TLS.Cert == "" && file != "" && secret.ReadableByAll(file) {
		return file
	}
	return ""
}

// TrySeeds asks every seed of the settings who it is, as a node of that id would that is not in a
// cluster, and yields those that do not answer: an error that wraps an *rpcport.Unproven if it and
// this node do not let each other in. Each has so long for its answer.
func (c *Config) TrySeeds(ctx context.Context, id string, limit time.Duration) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		dialer := rpcport.Dialer{}
		logger := slog.New(slog.DiscardHandler)
		switch file := c.secretFile(); {
		case c.RPC.TLS.Cert != "":
			source, err := c.RPC.TLS.source(logger)
			if err != nil {
				return // which CheckFiles tells
			}
			dialer.Credentials = rpcport.Files{Source: source, ServerName: c.RPC.TLS.ServerName}
		case file != "":
			source, err := secret.Open(secret.Config{File: file, Node: id})
			if err != nil {
				return
			}
			dialer.Credentials = source
		}
		dialer.Insecure = c.RPC.Insecure
		seeds := discovery.New(discovery.Config{Seeds: c.Seeds, Dialer: dialer, State: noState{}, Logger: logger})
		defer func() { _ = seeds.Close() }() // nothing is under way
		for seed, err := range seeds.Try(ctx, limit) {
			if !yield(seed, err) {
				return
			}
		}
	}
}

// noState is that of a node in no cluster.
type noState struct{}

func (noState) Cluster() (string, []string)       { return "", nil }
func (noState) SetCluster(string, []string) error { return nil }
func (noState) Promise() (string, []string)       { return "", nil }
func (noState) SetPromise(string, []string) error { return nil }

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
