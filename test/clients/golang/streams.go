package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"time"

	"github.com/Graylog2/go-gelf/gelf"
	"github.com/RackSec/srslog"
	"github.com/fluent/fluent-logger-golang/fluent"
	"github.com/grafana/loki-client-go/loki"
	"github.com/prometheus/common/model"
	slogloki "github.com/samber/slog-loki/v3"
	"go.opentelemetry.io/contrib/bridges/otelslog"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/resource"
)

// sender sends the records with the marks first to last-1, one by one, with a pause after every 20.
type sender func(address string, first, last int, pause time.Duration) error

var senders = map[string]sender{
	"fluent-logger-golang": byFluent, "go-gelf-udp": byGELF, "srslog-tcp": bySyslog, "loki-client-go": byLoki,
	"slog-loki": bySlog, "otelslog": byBridge,
}

// level returns the level of the record with a mark.
func level(mark int) string {
	if mark%10 == 0 {
		return "error"
	}
	return "info"
}

// severity returns the level of the record with a mark for log/slog.
func severity(mark int) slog.Level {
	if mark%10 == 0 {
		return slog.LevelError
	}
	return slog.LevelInfo
}

// marks calls do with each mark, with a pause after every 20.
func marks(first, last int, pause time.Duration, do func(mark int) error) error {
	for mark := first; mark < last; mark++ {
		if err := do(mark); err != nil {
			return err
		}
		if pause > 0 && mark%20 == 19 {
			time.Sleep(pause)
		}
	}
	return nil
}

// retry calls send until it returns no error, at most 100 times, as a program does that must not lose records.
func retry(send func() error) (err error) {
	for range 100 {
		if err = send(); err == nil {
			return nil
		}
		time.Sleep(300 * time.Millisecond)
	}
	return err
}

func hostAndPort(address string) (string, int) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		panic(err) // the test passes the address
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return host, port
}

func byFluent(address string, first, last int, pause time.Duration) error {
	host, port := hostAndPort(address)
	logger, err := fluent.New(fluent.Config{
		FluentHost: host, FluentPort: port, RequestAck: true, SubSecondPrecision: true, WriteTimeout: 20 * time.Second,
		ReadTimeout: 20 * time.Second, MaxRetry: 60, RetryWait: 200, MaxRetryWait: 500,
	})
	if err != nil {
		return err
	}
	defer logger.Close()
	return marks(first, last, pause, func(mark int) error {
		return retry(func() error {
			return logger.Post("shop.cart", map[string]any{"mark": mark, "level": level(mark), "message": "a record"})
		})
	})
}

func byGELF(address string, first, last int, pause time.Duration) error {
	w, err := gelf.NewUDPWriter(address)
	if err != nil {
		return err
	}
	defer w.Close()
	return marks(first, last, pause, func(mark int) error {
		severity := int32(6)
		if mark%10 == 0 {
			severity = 3
		}
		if mark%50 == 0 {
			time.Sleep(time.Millisecond) // so that the socket's buffer does not overflow
		}
		return w.WriteMessage(&gelf.Message{
			Version: "1.1", Host: "web1", Short: "a record", TimeUnix: float64(time.Now().UnixMilli()) / 1000, Level: severity,
			Extra: map[string]any{"_mark": mark},
		})
	})
}

func bySyslog(address string, first, last int, pause time.Duration) error {
	w, err := srslog.Dial("tcp", address, srslog.LOG_USER|srslog.LOG_INFO, "shop")
	if err != nil {
		return err
	}
	w.SetFormatter(srslog.RFC5424Formatter)
	w.SetFramer(srslog.RFC5425MessageLengthFramer)
	defer w.Close()
	return marks(first, last, pause, func(mark int) error {
		text := fmt.Sprintf("mark=%d a record", mark)
		if mark%10 == 0 {
			return w.Err(text)
		}
		return w.Info(text)
	})
}

func newLoki(address string) (*loki.Client, error) {
	config, err := loki.NewDefaultConfig("http://" + address + "/loki/api/v1/push")
	if err != nil {
		return nil, err
	}
	config.BatchWait, config.BatchSize, config.Timeout = 200*time.Millisecond, 10_000, 20*time.Second
	config.BackoffConfig.MaxRetries, config.BackoffConfig.MaxBackoff = 100, time.Second
	return loki.New(config)
}

func byLoki(address string, first, last int, pause time.Duration) error {
	client, err := newLoki(address)
	if err != nil {
		return err
	}
	defer client.Stop()
	return marks(first, last, pause, func(mark int) error {
		labels := model.LabelSet{"app": "shop", "level": model.LabelValue(level(mark))}
		return client.Handle(labels, time.Now(), fmt.Sprintf("mark=%d a record", mark))
	})
}

func bySlog(address string, first, last int, pause time.Duration) error {
	client, err := newLoki(address)
	if err != nil {
		return err
	}
	defer client.Stop()
	logger := slog.New(slogloki.Option{Level: slog.LevelDebug, Client: client}.NewLokiHandler()).With("app", "shop")
	return marks(first, last, pause, func(mark int) error {
		logger.Log(context.Background(), severity(mark), fmt.Sprintf("mark=%d a record", mark))
		return nil
	})
}

// byBridge sends OTLP over HTTP from log/slog.
func byBridge(address string, first, last int, pause time.Duration) error {
	ctx := context.Background()
	exporter, err := otlploghttp.New(ctx, otlploghttp.WithEndpoint(address), otlploghttp.WithInsecure(),
		otlploghttp.WithTimeout(time.Minute))
	if err != nil {
		return err
	}
	provider := sdklog.NewLoggerProvider(
		sdklog.WithResource(resource.NewSchemaless(attribute.String("service.name", "shop"))),
		sdklog.WithProcessor(sdklog.NewBatchProcessor(exporter, sdklog.WithMaxQueueSize(4000),
			sdklog.WithExportMaxBatchSize(100), sdklog.WithExportInterval(200*time.Millisecond),
			sdklog.WithExportTimeout(time.Minute))))
	logger := otelslog.NewLogger("clients", otelslog.WithLoggerProvider(provider))
	err = marks(first, last, pause, func(mark int) error {
		logger.Log(ctx, severity(mark), "a record", "mark", mark)
		return nil
	})
	return errors.Join(err, provider.Shutdown(ctx))
}
