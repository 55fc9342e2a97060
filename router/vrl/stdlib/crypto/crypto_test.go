package crypto_test

import (
	"strings"
	"testing"

	"cordwood/router/vrl/vrltest"
)

func TestHashes(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Source: `md5("")`, Want: `"d41d8cd98f00b204e9800998ecf8427e"`},
		{Source: `sha1("")`, Want: `"da39a3ee5e6b4b0d3255bfef95601890afd80709"`},
		{Source: `sha2("")`, Want: `"c672b8d1ef56ed28ab87c3622c5114069bdd3ad7b8f9737498d0c01ecef0967a"`},
		{Source: `sha2("", variant: "SHA-512/224")`, Want: `"6ed0dd02806fa89e25de060c19d3ac86cabb87d6a0ddd05c333b84f4"`},
		{Source: `sha2("", variant: "SHA-224")`, Want: `"d14a028c2a3a2bc9476102bb288234c415a2b01f828ea62ac5b3e42f"`},
		{Source: `sha2("", variant: "SHA-256")`, Want: `"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"`},
		{
			Source: `sha2("", variant: "SHA-384")`,
			Want:   `"38b060a751ac96384cd9327eb1b1e36a21fdb71114be07434c0cc7bf63f6e1da274edebfe76f65fbd51ad2f14898b95b"`,
		},
		{
			Source: `sha2("", variant: "SHA-512")`,
			Want: `"cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce47d0d13c5d85f2b0ff8318d2877eec2f63b931bd` +
				`47417a81a538327af927da3e"`,
		},
		{Source: `sha2("", variant: "MD5")`, CompileError: "E401"},
		{
			Source: `sha3("")`,
			Want: `"a69f73cca23a9ac5c8b567dc185a756e97c982164fe25859e0d1dcc1475c80a615b2123af1f5f94c11e3e9402c3ac558f500199d` +
				`95b6d3e301758586281dcd26"`,
		},
		{Source: `sha3("", variant: "SHA3-224")`, Want: `"6b4e03423667dbb73b6e15454f0eb1abd4597f9a1b078e3f5b5a6bc7"`},
		{Source: `sha3("", variant: "SHA3-256")`, Want: `"a7ffc6f8bf1ed76651c14756a061d662f580ff4de43b49fa82d80a4b80f8434a"`},
		{
			Source: `sha3("", variant: "SHA3-384")`,
			Want:   `"0c63a75b845e4f7d01107d852e4c2485c51a50aaaa94fc61995e71bbee983a2ac3713831264adb47fb6bd1e058d5f004"`,
		},
		{Source: `sha3("", variant: string!(.v))`, CompileError: "E402"},
		{Source: `seahash("to be or not to be")`, Want: `1988685042348123509`},
		{Source: `seahash(1)`, CompileError: "E110"},
	})
}

func TestHMAC(t *testing.T) {
	const text, key = `"The quick brown fox jumps over the lazy dog"`, `"key"`
	vrltest.Run(t, []vrltest.Case{
		{
			Source: `encode_base16(hmac(` + text + `, ` + key + `))`,
			Want:   `"f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8"`,
		},
		{
			Source: `encode_base16(hmac(` + text + `, ` + key + `, "SHA1"))`,
			Want:   `"de7c9b85b8b78aa6bc8a7a36f70a90701c9db4d9"`,
		},
		{
			Source: `encode_base16(hmac(` + text + `, ` + key + `, "SHA-224"))`,
			Want:   `"88ff8b54675d39b8f72322e65ff945c52d96379988ada25639747e69"`,
		},
		{
			Source: `encode_base16(hmac(` + text + `, ` + key + `, "SHA-384"))`,
			Want:   `"d7f4727e2c0b39ae0f1e40cc96f60242d5b7801841cea6fc592c5d3e1ae50700582a96cf35e1e554995fe4e03381c237"`,
		},
		{
			Source: `encode_base16(hmac(` + text + `, ` + key + `, "SHA-512"))`,
			Want: `"b42af09057bac1e2d41708e48a902e09b5ff7f12ab428a4fe86653c73dd248fb82f948a549f7b791a5b41915ee4d1ec3935357e4` +
				`e2317250d0372afa2ebeeb3a"`,
		},
		{Name: "not known", Source: `hmac("a", "b", string!(.h))`, CompileError: "E100"},
		{
			Name: "no such hash", Source: `hmac!("a", "b", string!(.h))`, Event: `{"h":"MD5"}`,
			RunError: "Invalid algorithm: MD5",
		},
	})
}

// The expected values are from OpenSSL 3 and the Python package cryptography.
func TestCiphers(t *testing.T) {
	const (
		text = "a message of more than one block, and a bit"
		k    = "0123456789abcdefghijklmnopqrstuv"
		iv   = "0123456789abcdef"
	)
	var cases []vrltest.Case
	for _, c := range []struct{ algorithm, key, iv, text, want string }{
		{"AES-128-CFB", k[:16], iv, text, "E1IT7W2vnGZlh3cOWWTaF2FZ6zKcem7KDokIAUfvwvqfNJT6NiQL6aWiGg=="},
		{"AES-192-CFB", k[:24], iv, text, "9C44w1/lh97gMRk8nweUTV/euH7mmctPCPg3jltq1F6B3L22m8GDKj1tbQ=="},
		{"AES-256-CFB", k, iv, text, "lhs2FO5jIQqzyXVnL9Qmlf5QJaykpt5f573GpmOtk8UnDYx4nZKUU2URcA=="},
		{"AES-128-OFB", k[:16], iv, text, "E1IT7W2vnGZlh3cOWWTaFwFVpi3c+NSHxnSuA0yU0bcIeycJwOK7ySWBeA=="},
		{"AES-192-OFB", k[:24], iv, text, "9C44w1/lh97gMRk8nweUTfZoEkFlULJVYf97ZnYsH2mBo05QnGSlQm6oIw=="},
		{"AES-256-OFB", k, iv, text, "lhs2FO5jIQqzyXVnL9QmlYWNFu9YclyMkOdGlON5NzHj/S+6o3sW07+O2g=="},
		{"AES-256-CTR-BE", k, iv, text, "lhs2FO5jIQqzyXVnL9QmlZzAqhWqph6IPoKxt1y49zQY6ia6AoUxdILMWA=="},
		{"AES-128-CBC-PKCS7", k[:16], iv, text, "2ituZvR9UIiIeh9gF3vBBlmCrh6xz0d+i4aMKzxahG3ll/6DGFrfEwLsMP0Nv60A"},
		{"AES-192-CBC-PKCS7", k[:24], iv, text, "70lHjQGvrBqz7hfJu0enIRfarj+Ck0UpeNmf/2MIPqNg6Gl6DFaGPXQ/2cQ1txZD"},
		{"AES-256-CBC-PKCS7", k, iv, text, "LKR2NMkkd6nTQdTkMcebzNl5DCfKXsi3aZjGlCIUL2QD4aWt0LvbXf15CBnCgXGf"},
		{"AES-128-SIV", k, iv, "short", "k7MmikQb3WNmdBd+jChUzaooeXPx"},
		{"AES-128-SIV", k, iv, "exactly 16 bytes", "VKf3qzPX4a5lfTSbKu4QdjgNBUi7OQ4VmM8kP5hXgGc="},
		{"AES-128-SIV", k, iv, text, "fDqj9bEkoeQIr56kuiRQRTyrYHXqBQHvH0P6KUQMoyNw+LELy3Eyql82wDAQ/ASX20dZKi1/VgxNzfg="},
		{"CHACHA20-POLY1305", k, iv[:12], "short", "vUCIR8jREaPiV4cJF3G7CqmORTvr"},
	} {
		rest := `, "` + c.algorithm + `", key: "` + c.key + `", iv: "` + c.iv + `")`
		cases = append(cases,
			vrltest.Case{
				Name:   c.algorithm,
				Source: `encode_base64(encrypt!("` + c.text + `"` + rest + `)`,
				Want:   `"` + c.want + `"`,
			},
			vrltest.Case{
				Name:   c.algorithm + " back",
				Source: `decrypt!(decode_base64!("` + c.want + `")` + rest,
				Want:   `"` + c.text + `"`,
			})
	}
	// All algorithms, on texts whose lengths are close to a block's length.
	for _, c := range []struct{ algorithm, key, iv string }{
		{"AES-256-CTR", k, iv},
		{"AES-192-CTR-LE", k[:24], iv},
		{"aes-128-ctr-be", k[:16], iv},
		{"AES-256-CBC-PKCS7", k, iv},
		{"AES-256-CBC-ANSIX923", k, iv},
		{"AES-192-CBC-ISO7816", k[:24], iv},
		{"AES-128-CBC-ISO10126", k[:16], iv},
		{"AES-256-SIV", k + k[:31] + "x", iv},
		{"XCHACHA20-POLY1305", k, iv + k[:8]},
		{"XSALSA20-POLY1305", k, iv + k[:8]},
	} {
		for _, text := range []string{"", "a", text[:15], text[:16], text[:17], text[:32], text} {
			rest := `, "` + c.algorithm + `", key: "` + c.key + `", iv: "` + c.iv + `")`
			cases = append(cases, vrltest.Case{
				Name:   c.algorithm,
				Source: `decrypt!(encrypt!("` + text + `"` + rest + rest,
				Want:   `"` + text + `"`,
			})
		}
	}
	cases = append(cases, []vrltest.Case{
		{Name: "the counter wraps", Source: `
			iv = decode_base16!("0000000000000000ffffffffffffffff")
			a = encrypt!("` + strings.Repeat("0", 32) + `", "AES-256-CTR-BE", key: "` + k + `", iv: iv)
			b = encrypt!("` + strings.Repeat("0", 16) + `", "AES-256-CTR-BE", key: "` + k +
			`", iv: decode_base16!("00000000000000000000000000000000"))
			slice!(a, 16) == b`, Want: `true`},
		{Name: "no such algorithm", Source: `encrypt!("a", "ROT13", key: "k", iv: "i")`, CompileError: "Invalid algorithm"},
		{
			Name: "no such algorithm when run", Source: `encrypt!("a", string!(.a), key: "k", iv: "i")`,
			Event: `{"a":"ROT13"}`, RunError: "Invalid algorithm: ROT13",
		},
		{
			Name:     "key too long",
			Source:   `encrypt!("a", "AES-128-OFB", key: "` + k + `", iv: "` + iv + `")`,
			RunError: "Invalid key: AES-128-OFB needs one of 16 bytes, got 32",
		},
		{
			Name:     "iv too short",
			Source:   `decrypt!("a", "AES-128-OFB", key: "` + k[:16] + `", iv: "")`,
			RunError: "Invalid iv: AES-128-OFB needs one of 16 bytes, got 0",
		},
		{
			Name:     "no whole block",
			Source:   `decrypt!("abc", "AES-128-CBC-PKCS7", key: "` + k[:16] + `", iv: "` + iv + `")`,
			RunError: "whole blocks",
		},
		{
			Name: "wrong padding",
			Source: `decrypt!("` + strings.Repeat("0", 16) + `", "AES-128-CBC-ANSIX923", key: "` + k[:16] +
				`", iv: "` + iv + `")`,
			RunError: "invalid padding",
		},
		{
			Name:     "too short for a tag",
			Source:   `decrypt!("abc", "AES-128-SIV", key: "` + k + `", iv: "` + iv + `")`,
			RunError: "shorter than its tag",
		},
		{
			Name: "tampered",
			Source: `decrypt!("` + strings.Repeat("0", 40) + `", "CHACHA20-POLY1305", key: "` + k + `", iv: "` +
				iv[:12] + `")`,
			RunError: "unable to decrypt",
		},
		{
			Name: "tampered",
			Source: `decrypt!("` + strings.Repeat("0", 40) + `", "XSALSA20-POLY1305", key: "` + k + `", iv: "` +
				iv + k[:8] + `")`,
			RunError: "unable to decrypt",
		},
	}...)
	vrltest.Run(t, cases)
}
