package node

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"cordwood/node/config"
	"cordwood/router/httpapi"
	"cordwood/router/ingest"
	"cordwood/router/ingest/httpreceiver"
)

// TestKindsAreProtocols checks that package ingest has each protocol with separate ports.
func TestKindsAreProtocols(t *testing.T) {
	s, err := httpapi.New(httpapi.Config{Catalog: noCatalog{}, Writer: noWriter{}})
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range config.Kinds {
		if len(k.Schemes) > 0 {
			if socketServers[ingest.Protocol(k.Protocol)] == nil {
				t.Errorf("--%s: nothing serves %s", k.Flag(), k.Protocol)
			}
			continue
		}
		if _, err := s.ReceiverHandler(ingest.Protocol(k.Protocol), httpreceiver.Receiver{}); err != nil {
			t.Errorf("--%s: %v", k.Flag(), err)
		}
	}
}

type noCatalog struct{ ingest.Catalog }

type noWriter struct{ ingest.Writer }

// TestListenersWait checks that an early request waits for the router, but only for a limited time and until the node
// stops.
func TestListenersWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &listener{served: make(chan struct{}), stopped: make(chan struct{})}
		ask := func(ctx context.Context) (h http.Handler, took time.Duration) {
			begin := time.Now()
			return l.await(httptest.NewRequestWithContext(ctx, http.MethodPost, "/", nil)), time.Since(begin)
		}
		if h, took := ask(t.Context()); h != nil || took != startWait {
			t.Errorf("without a router: %v after %s", h, took)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if h, took := ask(gone); h != nil || took != 0 {
			t.Errorf("with a client that has disconnected: %v after %s", h, took)
		}
		l.waiting.Store(maxWaiting)
		if h, took := ask(t.Context()); h != nil || took != 0 {
			t.Errorf("with one request too many: %v after %s", h, took)
		}
		l.waiting.Store(0)
		time.AfterFunc(time.Second, func() {
			l.handler = http.NotFoundHandler()
			close(l.served)
		})
		if h, took := ask(t.Context()); h == nil || took != time.Second {
			t.Errorf("with a router: %v after %s", h, took)
		}
		stopped := &listener{served: make(chan struct{}), stopped: make(chan struct{})}
		close(stopped.stopped)
		l = stopped
		if h, took := ask(t.Context()); h != nil || took != 0 {
			t.Errorf("on a node that stops: %v after %s", h, took)
		}
	})
}

// TestListenerAnswersProbes checks that the node answers probes of its readiness at once, on a separate port, too.
func TestListenerAnswersProbes(t *testing.T) {
	n := newNode(&config.Config{HTTP: config.HTTP{Addr: "127.0.0.1:0"}}, Process{})
	n.log, n.registry = slog.New(slog.DiscardHandler), newRegistry(Version{})
	if err := n.openRules(false); err != nil {
		t.Fatal(err)
	}
	n.wait("its shards")
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "/ready", nil)
	r.Host = "127.0.0.1"
	n.guard(n.browsers, n.beforeReady(func(*http.Request) http.Handler {
		t.Error("a probe waited")
		return nil
	})).ServeHTTP(w, r)
	if w.Code != http.StatusServiceUnavailable {
		t.Errorf("answer %d %s", w.Code, w.Body)
	}
}
