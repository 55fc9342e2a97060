package crypto

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/subtle"
	"errors"
)

// siv is AES-SIV of RFC 5297. The tag, which is computed from the text and the initialization vector, comes first
// and is used to encrypt the text.
func siv(in, key, iv []byte, decrypt bool) ([]byte, error) {
	mac, err := newCMAC(key[:len(key)/2])
	if err != nil {
		return nil, err
	}
	c, err := aes.NewCipher(key[len(key)/2:])
	if err != nil {
		return nil, err
	}
	stream := func(dst, src []byte, tag [aes.BlockSize]byte) {
		tag[8] &= 0x7f
		tag[12] &= 0x7f
		cipher.NewCTR(c, tag[:]).XORKeyStream(dst, src)
	}
	if decrypt {
		if len(in) < aes.BlockSize {
			return nil, errors.New("the text is shorter than its tag")
		}
		tag := [aes.BlockSize]byte(in)
		out := make([]byte, len(in)-aes.BlockSize)
		stream(out, in[aes.BlockSize:], tag)
		if want := mac.s2v(nil, iv, out); subtle.ConstantTimeCompare(want[:], tag[:]) != 1 {
			return nil, errors.New("message authentication failed")
		}
		return out, nil
	}
	tag := mac.s2v(nil, iv, in)
	out := make([]byte, aes.BlockSize+len(in))
	copy(out, tag[:])
	stream(out[aes.BlockSize:], in, tag)
	return out, nil
}

// cmac is the message authentication code of RFC 4493.
type cmac struct {
	c      cipher.Block
	k1, k2 [aes.BlockSize]byte
}

func newCMAC(key []byte) (*cmac, error) {
	c, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	m := &cmac{c: c}
	c.Encrypt(m.k1[:], m.k1[:])
	m.k1 = double(m.k1)
	m.k2 = double(m.k1)
	return m, nil
}

// double multiplies by two in the field that CMAC works in.
func double(b [aes.BlockSize]byte) (out [aes.BlockSize]byte) {
	for i := range b {
		out[i] = b[i] << 1
		if i+1 < len(b) {
			out[i] |= b[i+1] >> 7
		}
	}
	out[len(out)-1] ^= b[0] >> 7 * 0x87
	return out
}

// sum returns the authentication code of s.
func (m *cmac) sum(s []byte) (x [aes.BlockSize]byte) {
	for ; len(s) > aes.BlockSize; s = s[aes.BlockSize:] {
		subtle.XORBytes(x[:], x[:], s[:aes.BlockSize])
		m.c.Encrypt(x[:], x[:])
	}
	subtle.XORBytes(x[:], x[:], s)
	if len(s) == aes.BlockSize {
		subtle.XORBytes(x[:], x[:], m.k1[:])
	} else {
		x[len(s)] ^= 0x80
		subtle.XORBytes(x[:], x[:], m.k2[:])
	}
	m.c.Encrypt(x[:], x[:])
	return x
}

// s2v returns the authentication code (S2V of RFC 5297) of several strings. The last string is the text.
func (m *cmac) s2v(list ...[]byte) [aes.BlockSize]byte {
	d := m.sum(make([]byte, aes.BlockSize))
	text := list[len(list)-1]
	for _, s := range list[:len(list)-1] {
		d = double(d)
		x := m.sum(s)
		subtle.XORBytes(d[:], d[:], x[:])
	}
	if len(text) >= aes.BlockSize {
		last := append([]byte(nil), text...)
		end := last[len(last)-aes.BlockSize:]
		subtle.XORBytes(end, end, d[:])
		return m.sum(last)
	}
	d = double(d)
	var x [aes.BlockSize]byte
	copy(x[:], text)
	x[len(text)] = 0x80
	subtle.XORBytes(d[:], d[:], x[:])
	return m.sum(d[:])
}
