// Package token has the form of tokens: cw_ID_SECRET, with an id of 10 characters and a secret of 36, whose last 6
// are a checksum. All of them are letters and digits. The checksum shows typing errors and cut texts without a look-up.
//
// Everything in the package may be used concurrently.
package token

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"hash/crc32"
	"net/netip"
	"strings"

	"cordwood/proto/lazyregexp"
)

const (
	prefix = "cw_"
	idLen  = 10
	// secretLen is the length of the random part of the secret: 178 bits.
	secretLen = 30
	sumLen    = 6
	length    = len(prefix) + idLen + 1 + secretLen + sumLen

	digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// New returns a new random token, and its id.
func New() (text, id string) {
	id = random(idLen)
	return Rotate(id), id
}

// random returns n random letters and digits. All are equally likely.
func random(n int) string {
	const fair = 256 / len(digits) * len(digits)
	out := make([]byte, 0, n)
	var b [64]byte
	for {
		_, _ = rand.Read(b[:]) // never fails
		for _, c := range b {
			if int(c) >= fair {
				continue
			}
			if out = append(out, digits[int(c)%len(digits)]); len(out) == n {
				return string(out)
			}
		}
	}
}

// sum returns the checksum of a text.
func sum(text string) string {
	n := crc32.ChecksumIEEE([]byte(text))
	out := []byte("000000")
	for i := sumLen - 1; n > 0; i-- {
		out[i] = digits[n%uint32(len(digits))]
		n /= uint32(len(digits))
	}
	return string(out)
}

// Like reports whether a text is meant as a token.
func Like(text string) bool { return strings.HasPrefix(text, prefix) }

// Parse returns the id of a token. ok is false if the text does not have the form of a token, or its checksum is wrong.
func Parse(text string) (id string, ok bool) {
	if len(text) != length || !Like(text) || text[len(prefix)+idLen] != '_' {
		return "", false
	}
	id = text[len(prefix):][:idLen]
	for _, part := range []string{id, text[len(prefix)+idLen+1:]} {
		for _, c := range []byte(part) {
			if strings.IndexByte(digits, c) < 0 {
				return "", false
			}
		}
	}
	return id, sum(text[:length-sumLen]) == text[length-sumLen:]
}

// Join returns the token of an id and of what follows it.
func Join(id, secret string) string { return Name(id) + "_" + secret }

// Name returns the text by which messages and logs call a token: without its secret.
func Name(id string) string { return prefix + id }

// Hash returns the stored form of a token. The secret has so many random bits that a slow hash would protect nothing.
func Hash(text string) [sha256.Size]byte { return sha256.Sum256([]byte(text)) }

// secret matches the secret of a token in a text, also if the token was cut.
var secret = lazyregexp.New(`(cw_[0-9A-Za-z]{10})_[0-9A-Za-z]+`)

// Hide replaces the secrets of all tokens in a text.
func Hide(text string) string {
	if !strings.Contains(text, prefix) {
		return text
	}
	return secret.ReplaceAllString(text, "${1}_…")
}

// Rotate returns a new token with the id of another one.
func Rotate(id string) string {
	body := Name(id) + "_" + random(secretLen)
	return body + sum(body)
}

// ParseRange parses an address range such as 192.0.2.0/24. A single address is a range with one address. IPv4 ranges
// that are written as IPv6, such as ::ffff:192.0.2.0/120, become IPv4 ranges, because clients are compared by IPv4
// addresses.
func ParseRange(text string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(text)
	if err != nil {
		a, single := netip.ParseAddr(text)
		if single != nil {
			return p, err
		}
		p = netip.PrefixFrom(a.WithZone(""), a.BitLen())
		if a.Zone() != "" {
			return netip.Prefix{}, fmt.Errorf("the address %s has a zone", a)
		}
	}
	if a := p.Addr(); a.Is4In6() {
		const mapped = 96 // the bits before the IPv4 address
		if p.Bits() < mapped {
			return netip.Prefix{}, fmt.Errorf("%s contains more than IPv4 addresses: write it in two ranges", text)
		}
		p = netip.PrefixFrom(a.Unmap(), p.Bits()-mapped)
	}
	return p.Masked(), nil
}
