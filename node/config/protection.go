package config

import (
	"fmt"
	"os"

	"cordwood/node/secret"
)

// This file is about how nodes prove to each other that they belong to the cluster: by certificates in files, or by
// the cluster's secret. On one machine, or if the operator requests it, they need not.

// HowToProtect is the advice about both methods.
const HowToProtect = "give all nodes of the cluster the same --cluster-secret-file (make one with: cordwood " +
	"new-secret FILE), " +
	"or certificates (--rpc-tls-cert, --rpc-tls-key, --rpc-tls-ca); --rpc-insecure starts without either"

// Unprotectable returns the reason why a node does not start with these settings.
func (c *Config) Unprotectable() error {
	return fmt.Errorf("--rpc-addr %s can be reached from other machines, and any program that reaches it would be "+
		"a node of the cluster, which may read and write everything: %s", c.RPC.Addr, HowToProtect)
}

// SecretFile returns the path of the cluster's secret: the one in the settings, or the one in the data folder of a
// node that founded the cluster alone. It is empty if there is none.
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

// CheckProtection reads the cluster's secret, if there is one. It returns an error if no node can start with the
// settings, whatever its data folder contains.
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

// SecretReadableByAll returns the file of the cluster's secret if every account of this machine may read it,
// otherwise an empty text.
func (c *Config) SecretReadableByAll() string {
	if file := c.SecretFile(); c.RPC.TLS.Cert == "" && file != "" && secret.ReadableByAll(file) {
		return file
	}
	return ""
}

// OpenPostgres reports whether other machines can reach the port for PostgreSQL clients, and may read and write
// without authentication.
func (c *Config) OpenPostgres() bool {
	return c.PG.Addr != "" && !Loopback(c.PG.Addr) && !c.Users.Known()
}

// Unprotected reports whether other machines can reach the user port, and may read and write without authentication.
func (c *Config) Unprotected() bool {
	return !Loopback(c.HTTP.Addr) && !c.Users.Known()
}
