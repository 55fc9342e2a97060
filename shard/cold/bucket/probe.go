package bucket

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"hash/crc32"
	"time"
)

// Step is a step of a Probe.
type Step struct {
	// Name is what the step does.
	Name string
	Took time.Duration
	// Err is nil if the service did what is needed.
	Err error
	// Minor means that objects can be kept in the bucket although the step failed.
	Minor bool
}

// probePrefix begins the keys of a Probe's objects.
const probePrefix = "probe/"

// maxSkew is the difference between the clocks of the service and of this machine that a Probe accepts.
const maxSkew = time.Minute

// Probe tries everything that the tiering of rows needs from a bucket, with small objects that it removes at the end.
// It stops when the first object cannot be stored. It sends each request once.
func Probe(ctx context.Context, b Bucket) []Step {
	p := newProbe(b)
	if !p.step("store an object", false, func() error { return b.Put(ctx, p.key, p.content) }) {
		return p.steps
	}
	p.step("read 3 bytes of it", false, func() error { return p.read(ctx) })
	p.step("describe it", false, func() error { return p.describe(ctx) })
	if s, ok := b.(*s3); ok && s.sse != nil {
		p.step("encrypt it as it was asked to", true, func() error { return s.encrypted(ctx, p.key) })
	}
	p.step("keep it when its key is used again", false, func() error { return p.again(ctx) })
	p.step("refuse an object with a wrong checksum", true, func() error { return p.wrong(ctx) })
	p.step("list it", true, func() error { return p.list(ctx) })
	p.step("copy it", true, func() error { return b.Copy(ctx, p.key, b, p.key+"-copy") })
	p.step("have the right time", true, func() error { return p.clock(ctx) })
	p.step("remove the objects", false, func() error { return p.remove(context.WithoutCancel(ctx)) })
	return p.steps
}

func newProbe(b Bucket) *probe {
	body := []byte("cordwood " + rand.Text())
	return &probe{
		b: b, key: probePrefix + rand.Text(),
		content: Content{
			Body: bytes.NewReader(body), Size: int64(len(body)), CRC: crc32.Checksum(body, Castagnoli), Checked: true,
		},
		body: body, began: time.Now(),
	}
}

type probe struct {
	b       Bucket
	key     string
	body    []byte
	content Content
	began   time.Time // of the first step
	steps   []Step
}

// step runs a step, and reports whether it succeeded.
func (p *probe) step(name string, minor bool, f func() error) bool {
	began := time.Now()
	err := f()
	p.steps = append(p.steps, Step{Name: name, Took: time.Since(began), Err: err, Minor: minor})
	return err == nil
}

func (p *probe) read(ctx context.Context) error {
	want := p.body[2:5]
	_, err := p.b.Range(ctx, p.key, Range{
		Offset: 2, Length: 3, ObjectSize: p.content.Size, Parts: []Part{{2, 3, crc32.Checksum(want, Castagnoli)}},
	})
	return err
}

func (p *probe) describe(ctx context.Context) error {
	info, err := p.b.Head(ctx, p.key)
	if err == nil && info.Size != p.content.Size {
		err = fmt.Errorf("the service says that it has %d bytes, want %d", info.Size, p.content.Size)
	}
	return err
}

// again stores another object of the same size, which the service must refuse.
func (p *probe) again(ctx context.Context) error {
	other := bytes.ToUpper(p.body)
	err := p.b.Put(ctx, p.key, Content{
		Body: bytes.NewReader(other), Size: int64(len(other)), CRC: crc32.Checksum(other, Castagnoli), Checked: true,
	})
	switch {
	case err == nil:
		return errors.New("the service replaced it: it ignores the header If-None-Match, so that two programs could write " +
			"the same object; use a service or a version that supports conditional writes")
	case !errors.Is(err, ErrExists):
		return err
	}
	return p.read(ctx)
}

// wrong stores an object with a wrong checksum, which the service must refuse. Otherwise its checksums are not used.
func (p *probe) wrong(ctx context.Context) error {
	c := p.content
	c.CRC++
	err := p.b.Put(ctx, p.key+"-wrong", c)
	refused := is(err, Damaged) || is(err, Refused)
	if s, ok := p.b.(*s3); ok {
		s.checks.Store(refused)
	}
	switch {
	case err == nil:
		return errors.New("the service stored it: it ignores the header x-amz-checksum-crc32c, so its own checksums are " +
			"not used; objects are read back after they were stored")
	case refused:
		return nil
	}
	return err
}

// TryChecksums finds out whether a service compares checksums, with a small object that it removes. Until it, or
// Probe, has returned, and if it returns an error, descriptions of objects have no checksums. A directory has none
// in any case.
func TryChecksums(ctx context.Context, b Bucket) error {
	if _, ok := b.(*s3); !ok {
		return nil
	}
	p := newProbe(b)
	if err := p.wrong(ctx); err != nil {
		return errors.Join(err, b.Delete(context.WithoutCancel(ctx), p.key+"-wrong"))
	}
	return nil
}

func (p *probe) list(ctx context.Context) error {
	found := false
	err := p.b.List(ctx, p.key, func(info Info) error {
		found = found || info.Key == p.key && info.Size == p.content.Size
		return nil
	})
	if err == nil && !found {
		err = errors.New("the listing does not contain it: listings are delayed")
	}
	return err
}

// clock compares the time at which the object was stored with the clock of this machine.
func (p *probe) clock(ctx context.Context) error {
	info, err := p.b.Head(ctx, p.key)
	if err != nil {
		return err
	}
	skew := info.Modified.Sub(p.began)
	if skew > maxSkew+time.Since(p.began) {
		return fmt.Errorf("the clock of the service is %s ahead of this machine's", skew.Round(time.Second))
	}
	if skew < -maxSkew {
		return fmt.Errorf("the clock of the service is %s behind this machine's", (-skew).Round(time.Second))
	}
	return nil
}

func (p *probe) remove(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, maxSkew)
	defer cancel()
	var failed []error
	for _, key := range []string{p.key, p.key + "-wrong", p.key + "-copy"} {
		failed = append(failed, p.b.Delete(ctx, key))
	}
	if err := errors.Join(failed...); err != nil {
		return err
	}
	if _, err := p.b.Head(ctx, p.key); !errors.Is(err, ErrNotFound) {
		return errors.Join(fmt.Errorf("%s is still there", p.key), err)
	}
	return nil
}
