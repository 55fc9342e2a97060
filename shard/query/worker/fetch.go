package worker

import (
	"context"
	"errors"
	"os"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/turns"
	"cordwood/shard/query"
)

// This file passes the requests of queries for parts of cold segments from the child to the server, which has the
// bucket and its credentials.

// Fetch asks the server for parts of cold segments. It implements query.Fetcher in the child.
func (c *session) Fetch(ctx context.Context, wants []query.Want) error {
	_, err := c.request(ctx, fetchRequest{Wants: wants})
	return err
}

// Have asks the server for those parts that need no object storage. It implements query.Fetcher in the child.
func (c *session) Have(ctx context.Context, wants []query.Want) (have []bool, err error) {
	a, err := c.request(ctx, fetchRequest{Wants: wants, Have: true})
	return a.Have, err
}

// Cost asks the server what Fetch has done, and would do. It implements query.Fetcher in the child.
func (c *session) Cost(ctx context.Context, wants []query.Want) (done, more query.Traffic, err error) {
	a, err := c.request(ctx, fetchRequest{Wants: wants, Cost: true})
	return a.Done, a.More, err
}

// request sends a request for parts, and returns the server's answer.
func (c *session) request(ctx context.Context, req fetchRequest) (a fetchAnswer, err error) {
	answer := make(chan fetchAnswer, 1)
	c.mu.Lock()
	c.requests++
	req.Number = c.requests
	if c.fetches == nil {
		c.fetches = map[uint64]chan fetchAnswer{}
	}
	c.fetches[req.Number] = answer
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.fetches, req.Number)
		c.mu.Unlock()
	}()
	if err := c.write(message(frameFetch, req)); err != nil {
		return a, errs.Wrap(errs.External, err, "query worker: ask the server for cold segments")
	}
	select {
	case a = <-answer:
		if a.Failure != nil {
			return a, a.Failure.err()
		}
		return a, nil
	case <-ctx.Done():
		return a, context.Cause(ctx)
	}
}

// fetched passes an answer of the server on. The query may have ended meanwhile.
func (c *session) fetched(a fetchAnswer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if answer := c.fetches[a.Number]; answer != nil {
		answer <- a // it has room, because the server answers each request once
		delete(c.fetches, a.Number)
	}
}

// hasCold reports whether a request reads cold segments.
func hasCold(req *query.Request) bool {
	for i := range req.Tables {
		for k := range req.Tables[i].Segments {
			if req.Tables[i].Segments[k].Cold > 0 {
				return true
			}
		}
	}
	return false
}

// fetch answers the child's request for parts of cold segments.
func (x *exchange) fetch(length int) error {
	text, err := readText(waiting{x}, length)
	if err != nil {
		return err
	}
	req, err := decode[fetchRequest](&decoder{src: text})
	if err != nil {
		return x.broken(err)
	}
	if x.stopped {
		return nil // the child ends the query
	}
	a := fetchAnswer{Number: req.Number}
	if f := query.FetcherOf(x.ctx); f == nil {
		err = errs.New(errs.Internal, "query worker: a query without cold segments asks for them")
	} else if req.Cost {
		a.Done, a.More, err = f.Cost(x.ctx, req.Wants)
	} else if req.Have {
		a.Have, err = f.Have(x.ctx, req.Wants)
	} else {
		err = x.lending(func(ctx context.Context) error { return f.Fetch(ctx, req.Wants) })
	}
	if x.ctx.Err() != nil {
		return nil // the next read asks the child to stop
	}
	if err != nil {
		f := failureOf(err)
		a.Failure = &f
	}
	if _, err := x.c.c.Write(message(frameFetched, a)); err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return x.interrupted(err)
		}
		return errBroken
	}
	return nil
}

// lendAfter is how long a query waits for object storage until it lends its slot to other queries.
const lendAfter = 20 * time.Millisecond

// lending runs a fetch, which may wait for object storage. If it waits for long, the query lends its slot meanwhile, so
// that queries of rows on the local disk go on. If too many queries wait already, the fetch ends.
func (x *exchange) lending(fetch func(context.Context) error) error {
	if x.slot == nil {
		return fetch(x.ctx)
	}
	ctx, cancel := context.WithCancelCause(x.ctx)
	defer cancel(nil)
	lent := make(chan struct{})
	timer := time.AfterFunc(lendAfter, func() {
		defer close(lent)
		err := x.slot.Lend()
		if err == nil {
			err = turns.Waits(x.ctx)
		}
		if err != nil {
			cancel(err)
		}
	})
	err := fetch(ctx)
	if !timer.Stop() {
		<-lent
	}
	if why := context.Cause(ctx); err != nil && why != nil {
		err = why
	}
	if back := x.slot.Return(x.ctx); err == nil {
		err = back
	}
	return err
}
