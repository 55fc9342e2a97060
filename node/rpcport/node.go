package rpcport

import (
	"fmt"
	"net"

	"cordwood/proto/handshake"
)

// These are the limits of a node's description of itself.
const (
	maxAddr  = 261 // a DNS name and a port
	maxRoles = 8
	maxRole  = 32
)

// CheckNode returns an error for an invalid id, address or role of a node. The address may be empty.
func CheckNode(id, addr string, roles []string) error {
	plain := func(s string) bool {
		for i := range len(s) {
			if s[i] <= ' ' || s[i] > '~' {
				return false
			}
		}
		return true
	}
	switch {
	case id == "" || len(id) > handshake.MaxName || !plain(id):
		return fmt.Errorf("its id %.40q is not valid: want 1 to %d ASCII characters", id, handshake.MaxName)
	case len(addr) > maxAddr || !plain(addr):
		return fmt.Errorf("its address %.40q is not valid: want HOST:PORT of at most %d ASCII characters", addr, maxAddr)
	case len(roles) > maxRoles:
		return fmt.Errorf("it has %d roles: at most %d are possible", len(roles), maxRoles)
	}
	if addr != "" {
		if _, _, err := net.SplitHostPort(addr); err != nil {
			return fmt.Errorf("its address %.40q is not HOST:PORT: %w", addr, err)
		}
	}
	for _, role := range roles {
		if len(role) > maxRole || !plain(role) {
			return fmt.Errorf("its role %.40q is not valid: want at most %d ASCII characters", role, maxRole)
		}
	}
	return nil
}
