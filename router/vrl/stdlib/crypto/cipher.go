package crypto

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/chacha20poly1305"
	"golang.org/x/crypto/nacl/secretbox"

	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/value"
)

// A cryptoMode encrypts or decrypts with a key and an initialization vector whose lengths
// have been checked. The result is new.
type cryptoMode func(in, key, iv []byte, decrypt bool) ([]byte, error)

// An algorithm is a way to encrypt, with the lengths of its key and initialization vector.
type algorithm struct {
	name    string
	key, iv int
	mode    cryptoMode
}

// algorithms lists all algorithms, in the order of the reference.
var algorithms = func() (list []algorithm) {
	for _, m := range []struct {
		name string
		mode cryptoMode
	}{
		{"CFB", cfb},
		{"OFB", ofb},
		{"CTR", ctrLE},
		{"CTR-LE", ctrLE},
		{"CTR-BE", ctrBE},
		{"CBC-PKCS7", cbc(padPKCS7, unpadPKCS7)},
		{"CBC-ANSIX923", cbc(padANSI, unpadANSI)},
		{"CBC-ISO7816", cbc(padISO7816, unpadISO7816)},
		{"CBC-ISO10126", cbc(padPKCS7, unpadISO10126)},
	} {
		for _, bits := range []int{256, 192, 128} {
			list = append(list, algorithm{fmt.Sprintf("AES-%d-%s", bits, m.name), bits / 8, aes.BlockSize, m.mode})
		}
	}
	return append(list,
		algorithm{"AES-128-SIV", 32, 16, siv},
		algorithm{"AES-256-SIV", 64, 16, siv},
		algorithm{"CHACHA20-POLY1305", chacha20poly1305.KeySize, chacha20poly1305.NonceSize, aead(chacha20poly1305.New)},
		algorithm{"XCHACHA20-POLY1305", chacha20poly1305.KeySize, chacha20poly1305.NonceSizeX, aead(chacha20poly1305.NewX)},
		algorithm{"XSALSA20-POLY1305", 32, 24, xsalsa},
	)
}()

// algorithmOf finds an algorithm by its name, ignoring case.
func algorithmOf(name string) *algorithm {
	for i := range algorithms {
		if strings.EqualFold(algorithms[i].name, name) {
			return &algorithms[i]
		}
	}
	return nil
}

func algorithmEnum() []fn.Enum {
	list := make([]fn.Enum, len(algorithms))
	for i, a := range algorithms {
		list[i] = fn.Enum{Value: a.name, Doc: fmt.Sprintf("key of %d bytes, initialization vector of %d", a.key, a.iv)}
	}
	return list
}

func cipherParams(name, doc string) []fn.Param {
	return []fn.Param{
		{Name: name, Doc: doc, Kind: kind.String},
		{Name: "algorithm", Doc: "The algorithm, with its mode and padding.", Kind: kind.String, Enum: algorithmEnum()},
		{Name: "key", Doc: "The secret key, of the length that the algorithm requires.", Kind: kind.String},
		{
			Name: "iv",
			Doc: "The initialization vector or nonce, of the length that the algorithm requires. Never use the same " +
				"one twice with the same key.",
			Kind: kind.String,
		},
	}
}

const cipherDoc = " With a mode that authenticates (SIV, POLY1305), decrypting fails if the bytes were changed; " +
	"other modes do not detect changes. The function random_bytes returns initialization vectors."

var encrypt = &fn.Function{
	Name:     "encrypt",
	Group:    fn.Cryptography,
	Doc:      "Encrypts bytes with a symmetric key." + cipherDoc,
	Params:   cipherParams("plaintext", "The bytes to encrypt."),
	Returns:  kind.String,
	Fallible: true,
	Errors:   []string{"the algorithm does not exist", "key or iv has the wrong length for the algorithm"},
	Examples: []fn.Example{
		{
			Title: "a text",
			Source: `encode_base64(encrypt!("cord", "AES-256-CFB", key: "0123456789abcdefghijklmnopqrstuv", iv: ` +
				`"0123456789abcdef"))`,
			Result: `"lFQpFQ=="`,
		},
		{
			Title:  "a key too short",
			Source: `encrypt!("cord", "AES-256-CFB", key: "secret", iv: "0123456789abcdef")`,
			Fails:  `Invalid key`,
		},
	},
	Compile: func(c *fn.Call) (fn.Impl, error) { return compileCipher(c, false) },
}

var decrypt = &fn.Function{
	Name:     "decrypt",
	Group:    fn.Cryptography,
	Doc:      "Decrypts bytes that encrypt has encrypted." + cipherDoc,
	Params:   cipherParams("ciphertext", "The bytes to decrypt."),
	Returns:  kind.String,
	Fallible: true,
	Errors: []string{
		"the algorithm does not exist", "key or iv has the wrong length for the algorithm",
		"the text was not encrypted with this key and algorithm, if that can be detected",
	},
	Examples: []fn.Example{
		{
			Title: "a text",
			Source: `decrypt!(decode_base64!("lFQpFQ=="), "AES-256-CFB", key: "0123456789abcdefghijklmnopqrstuv", iv: ` +
				`"0123456789abcdef")`,
			Result: `"cord"`,
		},
		{
			Title: "another key",
			Source: `decrypt!(decode_base64!("aU15sTUWnUuXIZ0xD3HimrIVstLQQBn6KP9vWhes5VXO1IF0"), "AES-128-SIV", key: ` +
				`"0123456789abcdefghijklmnopqrstuv", iv: "0123456789abcdef")`,
			Fails: `unable to decrypt`,
		},
	},
	Compile: func(c *fn.Call) (fn.Impl, error) { return compileCipher(c, true) },
}

// compileCipher compiles a call of encrypt or decrypt.
func compileCipher(c *fn.Call, decrypt bool) (fn.Impl, error) {
	var known *algorithm
	if v, ok := c.Const(1); ok {
		if known = algorithmOf(v.Text()); known == nil {
			return fn.Impl{}, c.BadArgument(1, "Invalid algorithm %q", v.Text())
		}
	}
	problem := "unable to encrypt: "
	if decrypt {
		problem = "unable to decrypt: "
	}
	return fn.Impl{N: func(f *fn.Frame, args []value.Value) (value.Value, bool) {
		a := known
		if a == nil {
			if a = algorithmOf(args[1].Text()); a == nil {
				return f.Failf("Invalid algorithm: %s", args[1].Text())
			}
		}
		in, key, iv := fn.Octets(args[0].Str()), fn.Octets(args[2].Str()), fn.Octets(args[3].Str())
		switch {
		case len(key) != a.key:
			return f.Failf("Invalid key: %s needs one of %d bytes, got %d", a.name, a.key, len(key))
		case len(iv) != a.iv:
			return f.Failf("Invalid iv: %s needs one of %d bytes, got %d", a.name, a.iv, len(iv))
		case !f.Reserve(len(in)+2*aes.BlockSize) || !f.Spend(len(in)/256):
			return value.Value{}, false
		}
		b, err := a.mode(in, key, iv, decrypt)
		if err != nil {
			return f.FailErr(problem, err)
		}
		return value.NewBytes(b), true
	}}, nil
}

// cfb is the CFB mode.
func cfb(in, key, iv []byte, decrypt bool) ([]byte, error) {
	c, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	out := make([]byte, len(in))
	for at := 0; at < len(in); at += aes.BlockSize {
		var pad [aes.BlockSize]byte
		c.Encrypt(pad[:], iv)
		n := subtle.XORBytes(out[at:], in[at:], pad[:])
		if decrypt {
			iv = in[at : at+n]
		} else {
			iv = out[at : at+n]
		}
	}
	return out, nil
}

// ofb is the OFB mode: it encrypts the initialization vector repeatedly to get a key stream.
func ofb(in, key, iv []byte, _ bool) ([]byte, error) {
	c, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	out := make([]byte, len(in))
	var pad [aes.BlockSize]byte
	copy(pad[:], iv)
	for at := 0; at < len(in); at += aes.BlockSize {
		c.Encrypt(pad[:], pad[:])
		subtle.XORBytes(out[at:], in[at:], pad[:])
	}
	return out, nil
}

// ctrLE and ctrBE encrypt a 64-bit counter to get a key stream. ctrLE counts in the first half of the
// initialization vector, lowest byte first. ctrBE counts in the second half, highest byte first.
func ctrLE(in, key, iv []byte, _ bool) ([]byte, error) {
	return ctr(in, key, iv, iv[:8], binary.LittleEndian)
}

func ctrBE(in, key, iv []byte, _ bool) ([]byte, error) {
	return ctr(in, key, iv, iv[8:], binary.BigEndian)
}

func ctr(in, key, iv, counter []byte, order binary.ByteOrder) ([]byte, error) {
	c, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	out := make([]byte, len(in))
	n := order.Uint64(counter)
	var block, pad [aes.BlockSize]byte
	copy(block[:], iv)
	at := 0
	if order == binary.ByteOrder(binary.BigEndian) {
		at = 8
	}
	for i := 0; i < len(in); i += aes.BlockSize {
		order.PutUint64(block[at:], n)
		n++
		c.Encrypt(pad[:], block[:])
		subtle.XORBytes(out[i:], in[i:], pad[:])
	}
	return out, nil
}

// cbc is the CBC mode. pad fills the last block.
func cbc(pad func(b []byte, n int), unpad func(last []byte) (int, bool)) cryptoMode {
	return func(in, key, iv []byte, decrypt bool) ([]byte, error) {
		c, err := aes.NewCipher(key)
		if err != nil {
			return nil, err
		}
		if !decrypt {
			n := aes.BlockSize - len(in)%aes.BlockSize
			out := make([]byte, len(in)+n)
			copy(out, in)
			pad(out[len(in):], n)
			cipher.NewCBCEncrypter(c, iv).CryptBlocks(out, out)
			return out, nil
		}
		if len(in) == 0 || len(in)%aes.BlockSize != 0 {
			return nil, errors.New("the text is not made of whole blocks")
		}
		out := make([]byte, len(in))
		cipher.NewCBCDecrypter(c, iv).CryptBlocks(out, in)
		last := out[len(out)-aes.BlockSize:]
		n, ok := unpad(last)
		if !ok || n < 1 || n > aes.BlockSize {
			return nil, errPadding
		}
		return out[:len(out)-n], nil
	}
}

// aead returns an authenticated mode that a package provides.
func aead(open func(key []byte) (cipher.AEAD, error)) cryptoMode {
	return func(in, key, iv []byte, decrypt bool) ([]byte, error) {
		c, err := open(key)
		if err != nil {
			return nil, err
		}
		if decrypt {
			return c.Open(nil, iv, in, nil)
		}
		return c.Seal(nil, iv, in, nil), nil
	}
}

func xsalsa(in, key, iv []byte, decrypt bool) ([]byte, error) {
	if decrypt {
		out, ok := secretbox.Open(nil, in, (*[24]byte)(iv), (*[32]byte)(key))
		if !ok {
			return nil, errors.New("message authentication failed")
		}
		return out, nil
	}
	return secretbox.Seal(nil, in, (*[24]byte)(iv), (*[32]byte)(key)), nil
}
