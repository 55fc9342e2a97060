package body

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"

	"cordwood/proto/errs"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

// encoding is a compression format of bodies.
type encoding uint8

const (
	encGzip encoding = iota
	encDeflate
	encBrotli
	encZstd
)

// maxEncodings limits the number of encodings that are applied one after the other.
const maxEncodings = 3

// maxZstdWindow is the window that RFC 9659 allows for zstd as a content encoding.
const maxZstdWindow = 8 << 20

// parseEncodings returns the encodings in the Content-Encoding headers, in the order in which they were applied.
func parseEncodings(headers []string) ([]encoding, error) {
	var encodings []encoding
	for _, header := range headers {
		for name := range strings.SplitSeq(header, ",") {
			switch name = strings.TrimSpace(name); strings.ToLower(name) {
			case "", "identity":
				continue
			case "gzip", "x-gzip":
				encodings = append(encodings, encGzip)
			case "deflate":
				encodings = append(encodings, encDeflate)
			case "br":
				encodings = append(encodings, encBrotli)
			case "zstd":
				encodings = append(encodings, encZstd)
			default:
				return nil, unsupported("Content-Encoding %.40q is not supported: use gzip, deflate, br, zstd or none", name)
			}
			if len(encodings) > maxEncodings {
				return nil, unsupported("more than %d Content-Encodings on one body are not supported", maxEncodings)
			}
		}
	}
	return encodings, nil
}

func unsupported(format string, args ...any) error {
	return errs.New(errs.Unsupported, format, args...).WithStatus(http.StatusUnsupportedMediaType)
}

// transportError is an error that occurred while reading from the client, not while decompressing.
type transportError struct{ err error }

func (e *transportError) Error() string { return e.err.Error() }
func (e *transportError) Unwrap() error { return e.err }

// source reads the compressed body and limits its length.
type source struct {
	r    io.Reader
	left int64 // bytes that may still be read; negative means no limit
	res  *reservation
}

func (s *source) Read(p []byte) (int, error) {
	if s.left == 0 {
		return 0, errTooLarge
	}
	if s.res.broken.Load() {
		return 0, &transportError{errSlow}
	}
	if s.left > 0 && int64(len(p)) > s.left {
		p = p[:s.left]
	}
	n, err := s.r.Read(p)
	if s.left > 0 {
		s.left -= int64(n)
	}
	if err != nil && err != io.EOF {
		s.res.cut = err
		err = &transportError{err}
	}
	return n, err
}

// inflater is a decompressor that can be reused.
type inflater interface {
	io.Reader
	Reset(r io.Reader) error
}

// flateReader implements inflater for raw deflate.
type flateReader struct{ io.ReadCloser }

func (f flateReader) Reset(r io.Reader) error {
	resetter, ok := f.ReadCloser.(flate.Resetter)
	if !ok {
		return errors.New("deflate: reader cannot be reset")
	}
	return resetter.Reset(r, nil)
}

// zlibReader implements inflater for zlib. The decompressor is created with the first stream.
type zlibReader struct{ io.ReadCloser }

func (z *zlibReader) Reset(r io.Reader) error {
	if resetter, ok := z.ReadCloser.(zlib.Resetter); ok {
		return resetter.Reset(r, nil)
	}
	c, err := zlib.NewReader(r)
	z.ReadCloser = c
	return err
}

var (
	gzipPool   = sync.Pool{New: func() any { return new(gzip.Reader) }}
	zlibPool   = sync.Pool{New: func() any { return new(zlibReader) }}
	flatePool  = sync.Pool{New: func() any { return flateReader{flate.NewReader(bytes.NewReader(nil))} }}
	brotliPool = sync.Pool{New: func() any { return brotli.NewReader(nil) }}
	// The decoder runs in the goroutine that reads, so a dropped decoder leaves no goroutine behind.
	zstdPool = sync.Pool{New: func() any {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(maxZstdWindow))
		if err != nil {
			panic("body: zstd options: " + err.Error())
		}
		return d
	}}
	bufioPool = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, 32<<10) }}
)

// layer is one decompressor and the buffer before it.
type layer struct {
	in   *bufio.Reader
	out  inflater
	pool *sync.Pool
}

// decoder undoes all encodings of a body.
type decoder struct {
	layers []layer
	r      io.Reader
}

// open starts decompressing src. An empty body is empty in every encoding.
func open(src io.Reader, encodings []encoding) (*decoder, error) {
	d := &decoder{r: src}
	for i := len(encodings) - 1; i >= 0; i-- {
		in := bufioPool.Get().(*bufio.Reader)
		in.Reset(d.r)
		l := layer{in: in}
		head, err := in.Peek(2)
		if len(head) == 0 {
			d.layers = append(d.layers, l)
			if err == io.EOF {
				d.r = bytes.NewReader(nil)
				return d, nil
			}
			d.close()
			return nil, err
		}
		l.pool = poolOf(encodings[i], head)
		l.out = l.pool.Get().(inflater)
		d.layers = append(d.layers, l)
		if err := l.out.Reset(in); err != nil {
			d.close()
			return nil, err
		}
		d.r = l.out
	}
	return d, nil
}

// poolOf returns the pool of decompressors for an encoding. The encoding deflate should be zlib, but some clients
// send raw deflate. The first two bytes, in head, distinguish them.
func poolOf(e encoding, head []byte) *sync.Pool {
	switch e {
	case encGzip:
		return &gzipPool
	case encBrotli:
		return &brotliPool
	case encZstd:
		return &zstdPool
	}
	if len(head) == 2 && head[0]&0x0f == 8 && (int(head[0])<<8|int(head[1]))%31 == 0 {
		return &zlibPool
	}
	return &flatePool
}

func (d *decoder) Read(p []byte) (int, error) { return d.r.Read(p) }

// finish checks that no input is left after the end of the decompressed data.
func (d *decoder) finish() error {
	for _, l := range d.layers {
		switch _, err := l.in.Peek(1); {
		case err == nil:
			return errors.New("data after the end of the compressed stream")
		case err != io.EOF:
			return err
		}
	}
	return nil
}

// close returns all decompressors and buffers to their pools.
func (d *decoder) close() {
	for _, l := range d.layers {
		if l.out != nil {
			// Drop the reference to the body. Some decompressors return an error for an empty stream, which does not matter.
			_ = l.out.Reset(bytes.NewReader(nil))
			l.pool.Put(l.out)
		}
		l.in.Reset(nil)
		bufioPool.Put(l.in)
	}
	d.layers = nil
}
