// Package secret authenticates the nodes of a cluster to each other by a common secret.
//
// From the secret, each node derives the same authority, an Ed25519 key, by HKDF. With it, a node signs a certificate
// for its own id, with a random key that never leaves the process, and checks the certificates of others. The result
// is mutual TLS 1.3 without certificate files, and the secret is never sent.
//
// A file holds the secret, in one line. While it has two lines, the first one signs and both are accepted, so that a
// cluster can change its secret without a stop.
//
// Open a Source once. The configurations that it returns remain valid. Run reads the file again when it changes. All
// methods are safe for concurrent use.
package secret

import (
	"bytes"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"
	"path/filepath"
	"time"
)

// FileName is the name of the secret's file that a node creates in its data folder.
const FileName = "cluster-secret"

// These are the limits of a secret and of its file, in bytes.
const (
	MinBytes = 32
	MaxBytes = 1024
	maxFile  = 4 << 10
)

// minDistinct is the minimum number of different bytes in a secret. A random secret has more, and an example from a
// document often has fewer.
const minDistinct = 8

// derivation is the HKDF info of the authority. It is part of the format, because all nodes must derive the same key.
const derivation = "cordwood cluster authority, version 1"

// Secret is the content of a file: the authority that signs, and possibly a second one that is accepted.
type Secret struct{ authorities []*authority }

// authority is the signing key derived from a line of the file.
type authority struct {
	key  ed25519.PrivateKey
	root *x509.Certificate
}

// Read reads a file. Its error explains how to create a valid one.
func Read(file string) (*Secret, error) {
	text, err := readFile(file)
	if err != nil {
		return nil, err
	}
	s, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("secret of the cluster in %q: %w", file, err)
	}
	return s, nil
}

func readFile(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("read the secret of the cluster: %w; "+howToMake, err)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("read the secret of the cluster: %w; "+howToMake, err)
	}
	return text, nil
}

const howToMake = "make one with: cordwood new-secret FILE"

// Parse parses the text of a file: one or two lines. It ignores white space around them.
func Parse(text []byte) (*Secret, error) {
	if len(text) > maxFile {
		return nil, fmt.Errorf("it has more than %d bytes: %s", maxFile, howToMake)
	}
	s := &Secret{}
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		if len(s.authorities) == 2 {
			return nil, errors.New("it has more than two lines: the first is the secret, and a second one is accepted " +
				"in addition while the secret is changed")
		}
		if err := checkLine(line); err != nil {
			return nil, fmt.Errorf("line %d: %w", len(s.authorities)+1, err)
		}
		a, err := derive(line)
		if err != nil {
			return nil, err
		}
		s.authorities = append(s.authorities, a)
	}
	if len(s.authorities) == 0 {
		return nil, errors.New("it is empty: " + howToMake)
	}
	return s, nil
}

func checkLine(line []byte) error {
	if len(line) < MinBytes || len(line) > MaxBytes {
		return fmt.Errorf("it has %d bytes, want %d to %d: %s", len(line), MinBytes, MaxBytes, howToMake)
	}
	seen := [256]bool{}
	distinct := 0
	for _, b := range line {
		if b < ' ' || b > '~' {
			return errors.New("it has bytes that are not printable ASCII characters: " + howToMake)
		}
		if !seen[b] {
			seen[b] = true
			distinct++
		}
	}
	if distinct < minDistinct {
		return fmt.Errorf("it has only %d different characters and can be guessed: %s", distinct, howToMake)
	}
	return nil
}

// derive returns the authority of a line. Its keys are the same on every node and at any time.
func derive(line []byte) (*authority, error) {
	seed, err := hkdf.Key(sha256.New, line, nil, derivation, ed25519.SeedSize)
	if err != nil {
		return nil, fmt.Errorf("derive the authority of the cluster: %w", err)
	}
	key := ed25519.NewKeyFromSeed(seed)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "cordwood cluster"},
		// The certificate is never sent, and becomes invalid only with the secret.
		NotBefore: time.Unix(0, 0), NotAfter: time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(nil, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("derive the authority of the cluster: %w", err)
	}
	root, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("derive the authority of the cluster: %w", err)
	}
	return &authority{key: key, root: root}, nil
}

// derive returns a key for a purpose.
func (a *authority) derive(purpose string) []byte {
	key, err := hkdf.Key(sha256.New, a.key.Seed(), nil, purpose, sha256.Size)
	if err != nil {
		panic(err) // fails only for a longer key
	}
	return key
}

// ReadableByAll reports whether every account of the machine may read the file.
func ReadableByAll(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Mode().Perm()&0o004 != 0
}

// Make writes a new secret to a file that only its owner may read. The file is on disk when Make returns.
func Make(file string) error {
	random := make([]byte, 32)
	_, _ = rand.Read(random) // never fails
	if err := write(file, append(base64.RawURLEncoding.AppendEncode(nil, random), '\n')); err != nil {
		return fmt.Errorf("write the secret of the cluster: %w", err)
	}
	return nil
}

func write(file string, text []byte) error {
	temp := file + ".tmp"
	if err := os.Remove(temp); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(temp, file); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(file))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
