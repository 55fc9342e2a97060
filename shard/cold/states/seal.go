package states

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
)

// saltBytes is the length of the salt of a sealed text; part of the format.
const saltBytes = 16

// errSealed is the error for a text that none of the keys opens.
var errSealed = errors.New("none of the keys opens it: it was sealed with another secret, or it is damaged")

// Seal encrypts a text with AES-256-GCM. name is authenticated with it: a text does not open under another name.
func Seal(key []byte, name string, text []byte) ([]byte, error) {
	salt := make([]byte, saltBytes)
	_, _ = rand.Read(salt) // never fails
	aead, err := newAEAD(key, salt)
	if err != nil {
		return nil, err
	}
	// The key is used once, because the salt is random. So the nonce is 0.
	return aead.Seal(salt, make([]byte, aead.NonceSize()), text, []byte(name)), nil
}

// Unseal decrypts what Seal returned, with one of the keys.
func Unseal(keys [][]byte, name string, sealed []byte) ([]byte, error) {
	if len(sealed) < saltBytes {
		return nil, fmt.Errorf("it has %d bytes: %w", len(sealed), errSealed)
	}
	for _, key := range keys {
		aead, err := newAEAD(key, sealed[:saltBytes])
		if err != nil {
			return nil, err
		}
		text, err := aead.Open(nil, make([]byte, aead.NonceSize()), sealed[saltBytes:], []byte(name))
		if err == nil {
			return text, nil
		}
	}
	return nil, errSealed
}

func newAEAD(key, salt []byte) (cipher.AEAD, error) {
	derived, err := hkdf.Key(sha256.New, key, salt, "cordwood state, version 1", 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(derived)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}
