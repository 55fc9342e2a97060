package client

import (
	"context"
	"testing"
	"time"
)

func TestServerThatIsNotThereIsGivenUp(t *testing.T) {
	waits := 0
	c, err := New(Config{Server: "http://127.0.0.1:1", Wait: func(context.Context, time.Duration) error { waits++; return nil }})
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(t.Context(), Request{Method: "GET", Path: "/health"})
	if err == nil {
		_ = resp.Body.Close()
		t.Fatal("connected to a port that nobody listens on")
	}
	if waits != maxConnects-1 {
		t.Errorf("waited %d times, want %d", waits, maxConnects-1)
	}
}
