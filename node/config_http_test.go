package node

import (
	"fmt"
	"testing"
)

func TestTrustedProxies(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"10.1.2.3", "10.1.2.3/32"},
		{"10.1.2.3/16", "10.1.0.0/16"},
		{" 2001:db8::1 ", "2001:db8::1/128"},
		{"fe80::1%eth0", "fe80::1/128"},
		{"::ffff:10.1.2.3", "10.1.2.3/32"},
		{"::ffff:10.1.2.3/112", "10.1.0.0/16"},
		{"::ffff:10.1.2.3/90", ""},
		{"10.1.2.3/33", ""},
		{"proxy.example.com", ""},
		{"", ""},
	} {
		cfg := HTTPConfig{TrustedProxies: []string{c.text}}
		got, err := cfg.trustedProxies()
		if c.want == "" && err == nil || c.want != "" && fmt.Sprint(got) != "["+c.want+"]" {
			t.Errorf("%q: %v, %v, want %q", c.text, got, err, c.want)
		}
	}
}
