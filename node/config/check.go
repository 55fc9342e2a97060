package config

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

// This file checks settings for tools, without starting a node.

// CheckFiles reads the files that the settings refer to, as a node does when it starts.
func (c *Config) CheckFiles(logger *slog.Logger) error {
	_, userErr := c.TLS.Server(logger)
	_, rpcErr := c.RPC.TLS.Open(logger)
	protectErr := c.CheckProtection()
	var users *auth.Provider
	var err error
	if c.Users.Known() {
		users, err = auth.Open(auth.Config{Option: c.Users.Provider, UserFile: c.Users.File, Logger: logger})
		if err == nil {
			err = users.Close()
		}
	}
	return errors.Join(userErr, rpcErr, protectErr, c.Listeners.CheckTokens(), err)
}

// TrySeeds asks every seed of the settings for its identity, like a node with the given id that is not in a cluster.
// It yields the seeds that do not answer within timeout; each seed has that time. The error wraps an
// *rpcport.Unproven if the seed and this node do not authenticate each other.
func (c *Config) TrySeeds(ctx context.Context, id string, limit time.Duration) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		dialer := rpcport.Dialer{}
		logger := slog.New(slog.DiscardHandler)
		switch file := c.SecretFile(); {
		case c.RPC.TLS.Cert != "":
			source, err := c.RPC.TLS.Open(logger)
			if err != nil {
				return // CheckFiles reports the error
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
		seeds := discovery.New(discovery.Config{Seeds: c.Cluster.Seeds, Dialer: dialer, State: noState{}, Logger: logger})
		defer func() { _ = seeds.Close() }() // no call is running
		for seed, err := range seeds.Try(ctx, limit) {
			if !yield(seed, err) {
				return
			}
		}
	}
}

// noState is the state of a node that belongs to no cluster.
type noState struct{}

func (noState) Cluster() (string, []string)       { return "", nil }
func (noState) SetCluster(string, []string) error { return nil }
func (noState) Promise() (string, []string)       { return "", nil }
func (noState) SetPromise(string, []string) error { return nil }
