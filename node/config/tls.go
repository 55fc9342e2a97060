package config

import (
	"crypto/tls"
	"fmt"
	"log/slog"

	"cordwood/node/certs"
)

// Server returns the TLS configuration of the user port, or nil if it has no certificate. protocols are ALPN names.
func (c *TLS) Server(logger *slog.Logger, protocols ...string) (*tls.Config, error) {
	if c.Cert == "" {
		return nil, nil
	}
	source, err := certs.Open(certs.Files{Cert: c.Cert, Key: c.Key, CA: c.ClientCA}, logger)
	if err != nil {
		return nil, fmt.Errorf("--tls-cert, --tls-key or --tls-client-ca: %w", err)
	}
	return source.Server(protocols...), nil
}

// Open returns the certificate of this node for the port between nodes, or nil if it has none.
func (c *RPCTLS) Open(logger *slog.Logger) (*certs.Source, error) {
	if c.Cert == "" {
		return nil, nil
	}
	source, err := certs.Open(certs.Files{Cert: c.Cert, Key: c.Key, CA: c.CA}, logger)
	if err != nil {
		return nil, fmt.Errorf("--rpc-tls-cert, --rpc-tls-key or --rpc-tls-ca: %w", err)
	}
	return source, nil
}
