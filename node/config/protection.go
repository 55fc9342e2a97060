package config

import (
	"fmt"
	"os"

	"cordwood/node/secret"
)

// How nodes prove to each other that they belong to the cluster: by certificates in files, by the
// cluster's secret, or, on one machine or at the operator's request, not at all.

// HowToProtect is the advice about both methods.
const HowToProtect = "give all nodes of the cluster the same --cluster-secret-file (make one with: cordwood " +
	"new-secret FILE), " +
	"or certificates (--rpc-tls-cert, --rpc-tls-key, --rpc-tls-ca); --rpc-insecure starts without either"

// Unprotectable returns the reason why a node does not start.
func (c *Config) Unprotectable() error {
	return fmt.Errorf("--rpc-addr %s can be reached from other machines, and any program that reaches it would be "+
		"a node of the cluster, which may read and write everything: %s", c.RPC.Addr, HowToProtect)
}

// SecretFile returns the path of the cluster's secret: the one in the settings, or in the data
// folder of a node that founded the cluster alone. It is empty if there is none.
func (c *Config) SecretFile() string {
	if c.RPC.SecretFile != "" {
		return c.RPC.SecretFile
	}
	if own := c.Path(secret.FileName); IsFile(own) {
		return own
	}
	return ""
}

// IsFile reports whether path exists and is not a folder.
func IsFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

// CheckProtection reads the cluster's secret, if there is one. Its error is for settings with which
// no node starts, whatever its data folder contains.
func (c *Config) CheckProtection() error {
	if c.RPC.TLS.Cert != "" {
		return nil
	}
	if file := c.SecretFile(); file != "" {
		_, err := secret.Read(file)
		return err
	}
	if len(c.Cluster.Seeds) > 0 && !Loopback(c.RPC.Addr) && !c.RPC.Insecure {
		return c.Unprotectable()
	}
	return nil
}

// SecretReadableByAll returns the file of the cluster's secret if every account of this machine may
// read it; else it returns "".
func (c *Config) SecretReadableByAll() string {
	if file := c.SecretFile(); c.RPC.TLS.Cert == "" && file != "" && secret.ReadableByAll(file) {
		return file
	}
	return ""
}

// OpenPostgres reports whether every client of PostgreSQL's protocol may read and write, and other machines reach its
// port.
func (c *Config) OpenPostgres() bool {
	return c.PG.Addr != "" && !Loopback(c.PG.Addr) && !c.Users.Known()
}

// Unprotected reports whether every client of the user port may read and write, and other machines
// can reach it.
func (c *Config) Unprotected() bool {
	return !Loopback(c.HTTP.Addr) && !c.Users.Known()
}
