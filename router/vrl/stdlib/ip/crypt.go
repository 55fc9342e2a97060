package ip

import (
	"crypto/aes"
	"crypto/cipher"
	"net/netip"
	"strconv"

	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/value"
)

// This file has the functions that encrypt IP addresses to IP addresses, by the methods of the ipcrypt
// specification.

// ipModes are the methods.
var ipModes = []fn.Enum{
	{Value: "aes128", Doc: "one AES block; the result is an IPv6 address; the key has 16 bytes"},
	{Value: "pfx", Doc: "addresses with a common prefix keep a common prefix; the key has 32 bytes"},
}

func ipCryptParams(doc string) []fn.Param {
	return []fn.Param{
		{Name: "ip", Doc: doc, Kind: kind.String},
		{Name: "key", Doc: "The secret key.", Kind: kind.String},
		{Name: "mode", Doc: "The method.", Kind: kind.String, Enum: ipModes},
	}
}

var ipCryptErrors = []string{
	noIPError, "mode is not a known method", "the key has the wrong length for the method, or its halves are equal",
}

var encryptIP = &fn.Function{
	Name:     "encrypt_ip",
	Group:    fn.IP,
	Doc:      "Encrypts an IP address so that the result is an IP address again.",
	Params:   ipCryptParams("The address."),
	Returns:  kind.String,
	Fallible: true,
	Errors:   ipCryptErrors,
	Examples: []fn.Example{
		{
			Title:  "a block",
			Source: `encrypt_ip!("10.1.2.3", "0123456789abcdef", "aes128")`,
			Result: `"` + encryptedBlock + `"`,
		},
		{
			Title:  "keeping prefixes",
			Source: `encrypt_ip!("10.1.2.3", "0123456789abcdefABCDEFGHIJKLMNOP", "pfx")`,
			Result: `"` + encryptedPrefix + `"`,
		},
	},
	Impl: fn.Impl{F3: func(f *fn.Frame, ip, key, mode value.Value) (value.Value, bool) {
		return cryptIP(f, ip, key, mode, cipher.Block.Encrypt, false)
	}},
}

var decryptIP = &fn.Function{
	Name:     "decrypt_ip",
	Group:    fn.IP,
	Doc:      "Decrypts an IP address that encrypt_ip has encrypted.",
	Params:   ipCryptParams("The encrypted address."),
	Returns:  kind.String,
	Fallible: true,
	Errors:   ipCryptErrors,
	Examples: []fn.Example{
		{
			Title:  "a block",
			Source: `decrypt_ip!("` + encryptedBlock + `", "0123456789abcdef", "aes128")`,
			Result: `"10.1.2.3"`,
		},
		{
			Title:  "keeping prefixes",
			Source: `decrypt_ip!("` + encryptedPrefix + `", "0123456789abcdefABCDEFGHIJKLMNOP", "pfx")`,
			Result: `"10.1.2.3"`,
		},
	},
	Impl: fn.Impl{F3: func(f *fn.Frame, ip, key, mode value.Value) (value.Value, bool) {
		return cryptIP(f, ip, key, mode, cipher.Block.Decrypt, true)
	}},
}

// The results of encrypting 10.1.2.3, for the examples.
const (
	encryptedBlock  = "3146:8b64:5300:d1c5:a511:c55a:3ef5:a11a"
	encryptedPrefix = "244.201.129.98"
)

// cryptIP encrypts or decrypts an address.
func cryptIP(f *fn.Frame, ip, key, mode value.Value, block func(b cipher.Block, dst, src []byte),
	decrypt bool,
) (value.Value, bool) {
	a, ok := parseIP(ip.Str())
	if !ok {
		return noIP(f)
	}
	size := 0
	switch mode.Str() {
	case "aes128":
		size = 16
	case "pfx":
		size = 32
	default:
		return f.Failf("Invalid mode '%s'. Must be 'aes128' or 'pfx'", mode.Text())
	}
	k := fn.Octets(key.Str())
	if len(k) != size {
		version := "IPv6"
		if a.Is4() {
			version = "IPv4"
		}
		return f.Fail(mode.Str() + " mode requires a " + strconv.Itoa(size) + "-byte key for " + version)
	}
	b := a.As16()
	if size == 16 {
		c, err := aes.NewCipher(k)
		if err != nil {
			return f.FailErr("unable to use the key: ", err)
		}
		block(c, b[:], b[:])
	} else {
		if string(k[:16]) == string(k[16:]) {
			return f.Fail("pfx mode requires a key whose halves differ")
		}
		var err error
		if b, err = cryptPrefix(b, k, decrypt); err != nil {
			return f.FailErr("unable to use the key: ", err)
		}
	}
	return address(f, netip.AddrFrom16(b).Unmap())
}

// cryptPrefix encrypts or decrypts an address bit by bit. Whether a bit is flipped depends on the preceding bits of
// the original address.
func cryptPrefix(in [16]byte, key []byte, decrypt bool) (out [16]byte, err error) {
	one, err := aes.NewCipher(key[:16])
	if err != nil {
		return out, err
	}
	two, err := aes.NewCipher(key[16:])
	if err != nil {
		return out, err
	}
	// The prefix so far is at the end of a block, after a bit that marks its start.
	prefix, start := [16]byte{15: 1}, 0
	if netip.AddrFrom16(in).Is4In6() {
		prefix, start = [16]byte{3: 1, 14: 0xff, 15: 0xff}, 96
		copy(out[:12], in[:12])
	}
	for i := start; i < 128; i++ {
		var x, y [16]byte
		one.Encrypt(x[:], prefix[:])
		two.Encrypt(y[:], prefix[:])
		flip := (x[15] ^ y[15]) & 1
		bit := in[i/8] >> (7 - i%8) & 1
		out[i/8] |= (bit ^ flip) << (7 - i%8)
		if decrypt {
			bit ^= flip
		}
		carry := bit
		for j := 15; j >= 0; j-- {
			prefix[j], carry = prefix[j]<<1|carry, prefix[j]>>7
		}
	}
	return out, nil
}
