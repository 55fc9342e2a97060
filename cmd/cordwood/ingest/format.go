package ingest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// InputFormat is the format of a file.
type InputFormat uint8

// The formats of files. FormatAuto means to guess.
const (
	FormatAuto InputFormat = iota
	formatJSON
	FormatNDJSON
	FormatText
)

// ContentTypes are the media types of the formats.
var ContentTypes = [...]string{
	formatJSON:   "application/json",
	FormatNDJSON: "application/x-ndjson",
	FormatText:   "text/plain",
}

// ParseInputFormat parses the value of --format.
func ParseInputFormat(s string) (InputFormat, error) {
	for i, name := range [...]string{"auto", "json", "ndjson", "text"} {
		if s == name {
			return InputFormat(i), nil
		}
	}
	advice := ""
	if strings.EqualFold(s, "csv") || strings.EqualFold(s, "tsv") {
		advice = "; " + csvAdvice
	}
	return 0, fmt.Errorf("--format %s: use auto, json, ndjson or text%s", s, advice)
}

// csvAdvice describes how to split CSV into columns.
const csvAdvice = "to make columns of CSV, leave out its header line and use a pipeline with the processor csv " +
	"(docs/ingestion.md, CSV, has an example)"

// isCSV reports whether a file name has the suffix of CSV, perhaps compressed.
func isCSV(file string) bool {
	if packedByName(file) != "" {
		file = strings.TrimSuffix(file, filepath.Ext(file))
	}
	ext := strings.ToLower(filepath.Ext(file))
	return ext == ".csv" || ext == ".tsv"
}

// packedByName returns the compression that a file name implies: gzip, zstd, or "".
func packedByName(file string) string {
	switch strings.ToLower(filepath.Ext(file)) {
	case ".gz", ".gzip":
		return "gzip"
	case ".zst", ".zstd":
		return "zstd"
	}
	return ""
}

// unsupported lists formats that are recognised by their first bytes but not supported, with the
// program that converts them to text.
var unsupported = []struct{ magic, name, verb, program string }{
	{"\xfd7zXZ\x00", "xz", "decompress", "xz -dc"},
	{"BZh91AY&SY", "bzip2", "decompress", "bzip2 -dc"},
	{"\xff\xfe", "UTF-16", "convert", "iconv -f UTF-16 -t UTF-8"},
	{"\xfe\xff", "UTF-16", "convert", "iconv -f UTF-16 -t UTF-8"},
}

// checkText returns an error if the start of a file has a NUL byte, which almost every binary file
// has and no log.
func checkText(r *bufio.Reader) error {
	head, err := r.Peek(peekBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	for _, form := range unsupported {
		if bytes.HasPrefix(head, []byte(form.magic)) {
			return fmt.Errorf("%s is not supported, and nothing of it was sent: %s it first: %s FILE | cordwood ingest ... -",
				form.name, form.verb, form.program)
		}
	}
	if at := bytes.IndexByte(head, 0); at >= 0 {
		return fmt.Errorf("it is not text: byte %d is NUL; nothing of it was sent: use --force to send it anyway", at)
	}
	return nil
}

// Decompress returns the unpacked content of r, detecting the compression by its first bytes, and
// the compression: gzip, zstd or "". close must be called.
func Decompress(r io.Reader) (out *bufio.Reader, closeFn func(), packed string, err error) {
	in := bufio.NewReaderSize(r, peekBytes)
	head, err := in.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, "", err
	}
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, nil, "", fmt.Errorf("gzip: %w", err)
		}
		return bufio.NewReaderSize(z, peekBytes), func() { _ = z.Close() }, "gzip", nil
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(1<<30))
		if err != nil {
			return nil, nil, "", fmt.Errorf("zstd: %w", err)
		}
		return bufio.NewReaderSize(z, peekBytes), z.Close, "zstd", nil
	}
	return in, func() {}, "", nil
}

// GuessFormat guesses the format from the start of a file.
func GuessFormat(r *bufio.Reader) (InputFormat, error) {
	head, err := r.Peek(peekBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	return formatOf(head), nil
}

// formatOf returns the format of a file that starts with head.
func formatOf(head []byte) InputFormat {
	start := bytes.TrimLeft(head, " \t\r\n")
	if len(start) == 0 {
		return FormatNDJSON
	}
	line, _, hasLine := bytes.Cut(start, []byte("\n"))
	switch {
	case start[0] == '{' && hasLine && json.Valid(line):
		return FormatNDJSON
	case start[0] == '{' && looksLikeJSON(start):
		return formatJSON
	case start[0] == '[' && looksLikeJSON(start):
		return formatJSON
	}
	return FormatText
}

// SkipByteOrderMark skips the byte order mark that some editors put at the start of a file.
func SkipByteOrderMark(r *bufio.Reader) error {
	mark := []byte("\xef\xbb\xbf")
	if head, err := r.Peek(len(mark)); err != nil && !errors.Is(err, io.EOF) {
		return err
	} else if bytes.Equal(head, mark) {
		_, err = r.Discard(len(mark))
		return err
	}
	return nil
}

// looksLikeJSON reports whether text, perhaps truncated, starts like JSON: a log line may start
// with a bracket too.
func looksLikeJSON(text []byte) bool {
	d := json.NewDecoder(bytes.NewReader(text))
	var first, second json.Token
	var err error
	if first, err = d.Token(); err != nil {
		return false
	}
	if second, err = d.Token(); err != nil {
		return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
	}
	if first == json.Delim('[') {
		// Records are objects; "[12]: connection closed" is a log line.
		return second == json.Delim('{') || second == json.Delim(']')
	}
	return true
}
