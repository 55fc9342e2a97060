package store

import (
	"context"
	"fmt"
	"io"
	"os"

	"cordwood/shard/cold/bucket"
)

// dir keeps objects as files below a directory. Files that an interrupted backup leaves in its folder bucket.TempDir
// are removed by a later backup once they are old.
type dir struct {
	objects
	d *bucket.Dir
}

func (d *dir) Path(name string) (string, bool) { return d.d.Path(name) }

func (d *dir) Create(context.Context) (Upload, error) {
	f, err := d.d.Stage()
	if err != nil {
		return nil, err
	}
	return &dirUpload{d.d, f}, nil
}

type dirUpload struct {
	d *bucket.Dir
	f *os.File // nil after Commit or Abort
}

func (u *dirUpload) Write(p []byte) (int, error) { return u.f.Write(p) }

func (u *dirUpload) Commit(_ context.Context, name string) error {
	err := u.d.Commit(u.f, name, true)
	if err == nil {
		u.f = nil
	}
	return err
}

func (u *dirUpload) Abort() {
	if u.f == nil {
		return
	}
	u.d.Discard(u.f)
	u.f = nil
}

// s3 keeps objects in a bucket of an S3 service.
type s3 struct {
	objects
	g       *bucket.Guard
	tempDir string
}

func (s *s3) Path(string) (string, bool) { return "", false }

// Create opens a file on this machine: an upload can be repeated only if its content is kept and its size is known.
func (s *s3) Create(context.Context) (Upload, error) {
	f, err := os.CreateTemp(s.tempDir, "cordwood-backup-*")
	if err != nil {
		return nil, fmt.Errorf("make a temporary file: %w", err)
	}
	return &s3Upload{s: s, f: f}, nil
}

type s3Upload struct {
	s *s3
	f *os.File // nil after Commit or Abort
}

func (u *s3Upload) Write(p []byte) (int, error) { return u.f.Write(p) }

// Commit sends the file. The Guard checks the size of the stored object; it removes an object of another size and sends
// the file again.
func (u *s3Upload) Commit(ctx context.Context, name string) error {
	size, err := u.f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if err := u.s.g.Put(ctx, name, bucket.Content{Body: u.f, Size: size, Replace: true}); err != nil {
		return err
	}
	u.Abort() // the local file is no longer needed
	return nil
}

func (u *s3Upload) Abort() {
	if u.f == nil {
		return
	}
	u.f.Close()
	_ = os.Remove(u.f.Name()) // the file is in a folder of temporary files
	u.f = nil
}
