package buckettest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/minio/minio-go/v7/pkg/signer"
)

// ignored lists the headers that services ignore with some faults.
var ignored = map[Fault]string{
	IgnoreRange: "Range", Unconditional: "If-None-Match", Unchecked: checksumHeader,
	Parrot: checksumHeader,
}

// without returns a request without a header. Its signature would not be valid without it, so it gets another one.
func without(r *http.Request, header string) (*http.Request, error) {
	body, err := PlainBody(r)
	if err != nil {
		return nil, err
	}
	r.Header = r.Header.Clone()
	for _, name := range []string{
		header, "Authorization", "Content-Encoding", "Content-Length", "X-Amz-Decoded-Content-Length", "X-Amz-Date",
	} {
		r.Header.Del(name)
	}
	r.Header.Set("X-Amz-Content-Sha256", "UNSIGNED-PAYLOAD")
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return signer.SignV4(*r, AccessKey, SecretKey, "", "us-east-1"), nil
}

// PlainBody reads the body of a request, which may consist of signed chunks.
func PlainBody(r *http.Request) ([]byte, error) {
	if !strings.HasPrefix(r.Header.Get("X-Amz-Content-Sha256"), "STREAMING") {
		return io.ReadAll(r.Body)
	}
	in := bufio.NewReader(r.Body)
	var out []byte
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return nil, err
		}
		size, _, _ := strings.Cut(strings.TrimSpace(line), ";")
		n, err := strconv.ParseInt(size, 16, 32)
		if err != nil {
			return nil, fmt.Errorf("the size of a chunk: %w", err)
		}
		if n == 0 {
			return out, nil
		}
		chunk := make([]byte, n+2)
		if _, err := io.ReadFull(in, chunk); err != nil {
			return nil, err
		}
		out = append(out, chunk[:n]...)
	}
}
