package bucket

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cordwood/shard/cold/bucket/buckettest"
)

func wait(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func content(b []byte) Content {
	return Content{Body: bytes.NewReader(b), Size: int64(len(b)), CRC: crc32.Checksum(b, Castagnoli), Checked: true}
}

func read(t testing.TB, b Bucket, key string, offset int64) ([]byte, error) {
	t.Helper()
	r, err := b.Open(wait(t), key, offset)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

func list(t testing.TB, b Bucket, prefix string) string {
	t.Helper()
	var keys []string
	if err := b.List(wait(t), prefix, func(i Info) error {
		keys = append(keys, fmt.Sprintf("%s=%d", i.Key, i.Size))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(keys)
	return strings.Join(keys, " ")
}

func wantKind(t testing.TB, what string, err error, want Kind) {
	t.Helper()
	if got, ok := KindOf(err); !ok || got != want {
		t.Errorf("%s: %v, of kind %v; want %v", what, err, got, want)
	}
}

// contract checks the behaviour that every bucket must have. other is another bucket of the same service.
func contract(t *testing.T, b, other Bucket) {
	t.Helper()
	ctx := wait(t)
	large := bytes.Repeat([]byte("0123456789"), 2_000_000) // more than one part of an upload in parts
	for key, body := range map[string][]byte{"a/b/c": []byte("hello"), "a/bc": {}, "z": large} {
		if err := b.Put(ctx, key, content(body)); err != nil {
			t.Fatalf("put %s: %v", key, err)
		}
	}
	if got, want := list(t, b, ""), "a/b/c=5 a/bc=0 z=20000000"; got != want {
		t.Errorf("list: %s, want %s", got, want)
	}
	if got, want := list(t, b, "a/b"), "a/b/c=5 a/bc=0"; got != want {
		t.Errorf("list a/b: %s, want %s", got, want)
	}
	if got, want := list(t, b, "nothing/"), ""; got != want {
		t.Errorf("list nothing/: %s", got)
	}
	t.Run("put", func(t *testing.T) { contractPut(t, b) })
	t.Run("range", func(t *testing.T) { contractRange(t, b, large) })
	t.Run("names", func(t *testing.T) { contractNames(t, b) })
	for _, tt := range []struct {
		key    string
		offset int64
		want   []byte
	}{
		{"a/b/c", 0, []byte("hello")},
		{"a/b/c", 3, []byte("lo")},
		{"a/b/c", 5, nil},
		{"a/bc", 0, nil},
		{"z", 0, large},
		{"z", 19_999_995, []byte("56789")},
	} {
		if got, err := read(t, b, tt.key, tt.offset); err != nil || !bytes.Equal(got, tt.want) {
			t.Errorf("read %s from %d: %d bytes, %v; want %d", tt.key, tt.offset, len(got), err, len(tt.want))
		}
	}
	if err := b.Copy(ctx, "z", other, "copies/z"); err != nil {
		t.Errorf("copy: %v", err)
	}
	if got, err := read(t, other, "copies/z", 0); err != nil || !bytes.Equal(got, large) {
		t.Errorf("the copy has %d bytes, %v", len(got), err)
	}
	wantKind(t, "copy of nothing", b.Copy(ctx, "nothing", other, "copies/nothing"), NotFound)
	for range 2 {
		if err := errors.Join(b.Delete(ctx, "a/b/c"), b.Delete(ctx, "z"), other.Delete(ctx, "copies/z")); err != nil {
			t.Errorf("delete: %v", err)
		}
	}
	if _, err := read(t, b, "a/b/c", 0); !errors.Is(err, ErrNotFound) {
		t.Errorf("read a deleted object: %v, want ErrNotFound", err)
	}
	if got, want := list(t, b, ""), "a/bc=0"; got != want {
		t.Errorf("at the end: %s, want %s", got, want)
	}
	if err := b.Delete(ctx, "a/bc"); err != nil {
		t.Error(err)
	}
}

// contractPut checks what a bucket does with a key that is in use, and with bytes that are not the right ones.
func contractPut(t *testing.T, b Bucket) {
	ctx := wait(t)
	other := content([]byte("HELLO"))
	if err := b.Put(ctx, "a/b/c", other); !errors.Is(err, ErrExists) {
		t.Errorf("put again: %v, want ErrExists", err)
	}
	wantKind(t, "put again", b.Put(ctx, "a/b/c", other), Exists)
	if got, err := read(t, b, "a/b/c", 0); err != nil || string(got) != "hello" {
		t.Errorf("after it was refused: %q, %v", got, err)
	}
	other.Replace = true
	if err := b.Put(ctx, "a/b/c", other); err != nil {
		t.Errorf("replace: %v", err)
	}
	unchecked := content([]byte("hello"))
	unchecked.CRC, unchecked.Checked, unchecked.Replace = 0, false, true
	if got, err := read(t, b, "a/b/c", 0); err != nil || string(got) != "HELLO" {
		t.Errorf("replaced: %q, %v", got, err)
	}
	if err := b.Put(ctx, "a/b/c", unchecked); err != nil {
		t.Errorf("replace without a checksum: %v", err)
	}
	info, err := b.Head(ctx, "a/b/c")
	if err != nil || info.Size != 5 || time.Since(info.Modified).Abs() > time.Minute {
		t.Errorf("head: %+v, %v", info, err)
	}
	wrong := content([]byte("wrong"))
	wrong.CRC++
	err = b.Put(ctx, "wrong", wrong)
	if kind, ok := KindOf(err); !ok || kind != Damaged && kind != Refused {
		t.Errorf("a wrong checksum: %v", err)
	}
	if _, err := b.Head(ctx, "wrong"); !errors.Is(err, ErrNotFound) {
		t.Errorf("after a wrong checksum: %v, want ErrNotFound", err)
	}
	short := content([]byte("short"))
	short.Size = 6
	wantKind(t, "a file that is too short", b.Put(ctx, "wrong", short), Local)
	failing := Content{Body: failingReader{}, Size: 3}
	wantKind(t, "an unreadable file", b.Put(ctx, "wrong", failing), Local)
	wantKind(t, "a file that is too large", b.Put(ctx, "wrong", Content{Size: MaxPut + 1}), Refused)
	if got := list(t, b, "wrong"); got != "" {
		t.Errorf("objects that were refused are there: %s", got)
	}
}

type failingReader struct{}

func (failingReader) ReadAt([]byte, int64) (int, error) { return 0, errors.New("the disk is broken") }

func contractRange(t *testing.T, b Bucket, large []byte) {
	ctx := wait(t)
	part := func(at, n int64) Part { return Part{at, n, crc32.Checksum(large[at:at+n], Castagnoli)} }
	for _, r := range []Range{
		{Offset: 0, Length: 1},
		{Offset: 0, Length: 20_000_000, ObjectSize: 20_000_000},
		{Offset: 19_999_999, Length: 1, Parts: []Part{part(19_999_999, 1)}},
		{Offset: 100, Length: 1000, ObjectSize: 20_000_000, Parts: []Part{part(100, 10), part(500, 600), part(300, 0)}},
	} {
		got, err := b.Range(ctx, "z", r)
		if err != nil || !bytes.Equal(got, large[r.Offset:r.Offset+r.Length]) {
			t.Errorf("range %+v: %d bytes, %v", r, len(got), err)
		}
	}
	for name, tt := range map[string]struct {
		key  string
		r    Range
		want Kind
	}{
		"past the end":            {"z", Range{Offset: 19_999_999, Length: 2}, Damaged},
		"after the end":           {"z", Range{Offset: 30_000_000, Length: 2}, Damaged},
		"of an empty object":      {"a/bc", Range{Length: 1}, Damaged},
		"an object of other size": {"z", Range{Length: 2, ObjectSize: 20_000_001}, Damaged},
		"a wrong checksum":        {"z", Range{Length: 100, Parts: []Part{part(3, 7), {10, 7, 4711}}}, Damaged},
		"no object":               {"nothing", Range{Length: 1}, NotFound},
		"no bytes":                {"z", Range{Offset: 5}, Refused},
		"too many bytes":          {"z", Range{Length: MaxRange + 1}, Refused},
		"a negative offset":       {"z", Range{Offset: -1, Length: 5}, Refused},
		"a part before it":        {"z", Range{Offset: 5, Length: 5, Parts: []Part{part(4, 2)}}, Refused},
		"a part after it":         {"z", Range{Offset: 5, Length: 5, Parts: []Part{part(9, 2)}}, Refused},
	} {
		got, err := b.Range(ctx, tt.key, tt.r)
		if got != nil {
			t.Errorf("%s: %d bytes", name, len(got))
		}
		wantKind(t, name, err, tt.want)
	}
}

func contractNames(t *testing.T, b Bucket) {
	ctx := wait(t)
	for _, key := range []string{"", "/x", "../x", "a/../b", "a//b", "a\\b", "x\x00", "."} {
		_, openErr := b.Open(ctx, key, 0)
		_, headErr := b.Head(ctx, key)
		_, rangeErr := b.Range(ctx, key, Range{Length: 1})
		for op, err := range map[string]error{
			"put": b.Put(ctx, key, content(nil)), "open": openErr, "head": headErr, "range": rangeErr,
			"delete": b.Delete(ctx, key), "copy from": b.Copy(ctx, key, b, "x"), "copy to": b.Copy(ctx, "z", b, key),
		} {
			wantKind(t, fmt.Sprintf("%s %q", op, key), err, Refused)
		}
	}
}

func TestDir(t *testing.T) {
	root := filepath.Join(t.TempDir(), "not", "yet")
	b, err := Open("file://"+root, Config{})
	if err != nil {
		t.Fatal(err)
	}
	if b.Location() != root {
		t.Errorf("location %s, want %s", b.Location(), root)
	}
	contract(t, b, NewDir(t.TempDir()))
	contract(t, NewGuard(b, fast), NewGuard(NewDir(t.TempDir()), fast))
	if got := list(t, b, ""); got != "" {
		t.Errorf("left: %s", got)
	}
}

// TestGateway checks the contract with an independent S3 server, also behind a Guard.
func TestGateway(t *testing.T) {
	endpoint, name := buckettest.Serve(t)
	open := func(location string) Bucket {
		b, err := Open(location, Config{S3: S3Config{Endpoint: endpoint}})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for _, prefix := range []string{"", "/deep/er"} {
		contract(t, open("s3://"+name+prefix), open("s3://"+name+"/other"))
	}
	contract(t, NewGuard(open("s3://"+name+"/guarded"), fast), NewGuard(open("s3://"+name+"/other"), fast))
	b := open("s3://" + name + "/p")
	if err := errors.Join(TryChecksums(wait(t), b), b.Put(wait(t), "o", content([]byte("hello")))); err != nil {
		t.Fatal(err)
	}
	info, err := b.Head(wait(t), "o")
	if err != nil || !info.Checked || info.CRC != crc32.Checksum([]byte("hello"), Castagnoli) {
		t.Errorf("head: %+v, %v; want the checksum", info, err)
	}
	if err := b.Copy(wait(t), "o", NewDir(t.TempDir()), "o"); !errors.Is(err, ErrOtherService) {
		t.Errorf("copy to a directory: %v", err)
	}
	wantKind(t, "no bucket", refusedPut(t, open("s3://nowhere/p")), NoBucket)
	t.Setenv("AWS_SECRET_ACCESS_KEY", "wrong")
	wantKind(t, "a wrong secret", refusedPut(t, open("s3://"+name)), Forbidden)
}

// refusedPut returns the refusal of a put. A server that refuses a request early may close the connection before the
// client has read the refusal, so the put is repeated after an error without an answer.
func refusedPut(t *testing.T, b Bucket) (err error) {
	t.Helper()
	for range 20 {
		err = b.Put(wait(t), "o", content(nil))
		if kind, ok := KindOf(err); !ok || kind != Unavailable {
			break
		}
	}
	return err
}

func TestOpen(t *testing.T) {
	for location, want := range map[string]string{
		"":                      "no location is set",
		"ftp://x":               `unknown scheme "ftp"`,
		"gs://x":                `unknown scheme "gs"`,
		"s3://":                 "want s3://BUCKET/PREFIX",
		"s3://u:canary@bucket/": "a location has no credentials",
		"file://":               "file:///DIRECTORY",
		"s3:/logs/prod":         "s3:/logs/prod: want ",
		"s3//logs":              "s3//logs: want ",
		"file:/mnt/logs":        "file:/mnt/logs: want ",
		"http://h:1/logs":       "and the address as the endpoint",
		"s3://logs/p?region=x":  "s3://logs/p?…: a location has no parameters",
		"s3://logs?region=x":    "a location has no parameters",
	} {
		_, err := Open(location, Config{})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%q: %v, want %q and no secret", location, err, want)
		}
	}
	for _, location := range []string{"logs/prod", "file://tmp/x", "/mnt/logs"} {
		if _, err := OpenURL(location, Config{}); err == nil || !strings.Contains(err.Error(), location+": want s3://") {
			t.Errorf("the URL %q: %v", location, err)
		}
	}
}

// fast is a configuration of a Guard that does not wait for long.
var fast = GuardConfig{
	Read: Policy{Tries: 4, Pause: time.Millisecond}, Write: Policy{Tries: 6, Pause: time.Millisecond},
}
