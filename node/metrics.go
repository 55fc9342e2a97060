package node

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
)

func newRegistry(v Version) *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "cordwood_build_info", Help: "Always 1; the labels show the version and commit of this process.",
		ConstLabels: prometheus.Labels{"version": v.Version, "commit": v.Commit, "go": v.Go},
	})
	info.Set(1)
	r.MustRegister(info)
	return r
}

func (n *node) observe() {
	n.registry.MustRegister(n.lines,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "cordwood_node_ready", Help: "1 while the node is ready; otherwise /ready gives the reason.",
		}, func() float64 {
			if len(n.unready()) > 0 {
				return 0
			}
			return 1
		}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "cordwood_node_memtable_limit_bytes",
			Help: "Memory that the rows of all shards of this node may take before they are written to segments.",
		}, func() float64 {
			return float64(n.cfg.Shares().Rows)
		}),
	)
	n.calls = newCallMetrics(n.registry)
}

func newLineCounter() *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "cordwood_node_log_lines_total", Help: "Lines of the log, by level: debug, info, warn or error.",
	}, []string{"level"})
	for _, l := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
		c.WithLabelValues(levelName(l))
	}
	return c
}

func levelName(l slog.Level) string { return strings.ToLower(l.String()) }

// callMetrics are the metrics of the gRPC calls that this node answers. They include only methods of registered
// services: gRPC refuses others earlier.
type callMetrics struct {
	calls   *prometheus.CounterVec   // by method, code
	seconds *prometheus.HistogramVec // by method
}

func newCallMetrics(reg prometheus.Registerer) *callMetrics {
	m := &callMetrics{
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cordwood_rpc_calls_total",
			Help: "Calls between nodes, and of roles of one process, that were answered here, by method and gRPC " +
				"status. Writes and queries within one process are not counted.",
		}, []string{"method", "code"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "cordwood_rpc_call_seconds",
			Help: "Duration of calls between nodes, by method, without streams, which last as long as their " +
				"readers want.",
			Buckets: prometheus.ExponentialBuckets(0.0002, 4, 10),
		}, []string{"method"}),
	}
	reg.MustRegister(m.calls, m.seconds)
	return m
}

func (m *callMetrics) unary(
	ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler,
) (any, error) {
	begin := time.Now()
	resp, err := next(ctx, req)
	method := methodName(info.FullMethod)
	m.calls.WithLabelValues(method, status.Code(err).String()).Inc()
	m.seconds.WithLabelValues(method).Observe(time.Since(begin).Seconds())
	return resp, err
}

func (m *callMetrics) stream(srv any, s grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	err := next(srv, s)
	m.calls.WithLabelValues(methodName(info.FullMethod), status.Code(err).String()).Inc()
	return err
}

// methodName returns a method without the package of its service: ShardService/Write.
func methodName(full string) string {
	name := strings.TrimPrefix(full, "/")
	service, method, _ := strings.Cut(name, "/")
	return service[strings.LastIndexByte(service, '.')+1:] + "/" + method
}
