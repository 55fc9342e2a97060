package clients

const (
	// ofOTLP is a condition for the rows of OTLP exporters.
	ofOTLP = `body = 'a record' AND lower(severity_text) = LEVEL AND resource_attributes->>'service.name' = 'shop'`
	// ofDocuments is a condition for the rows of Elasticsearch clients.
	ofDocuments = `message = 'a record' AND level = LEVEL AND "@timestamp" IS NOT NULL`
	ofFluentd   = `message = 'a record' AND lower(level) = LEVEL AND tag = 'shop.cart'`
	ofDatadog   = `message = 'a record' AND service = 'shop' AND status = LEVEL AND ddtags->>'env' = 'test'`
	ofGELF      = `message = 'a record' AND level = CASE WHEN MARK % 10 = 0 THEN 3 ELSE 6 END AND host <> ''`
	ofSyslog    = `message LIKE '%a record' AND severity = CASE WHEN MARK % 10 = 0 THEN 'err' ELSE 'info' END`

	markOfOTLP = "log_attributes->>'mark'"
)

// documents returns a client of Elasticsearch's bulk API.
func documents(name string, again again, doubles bool) client {
	return client{
		name: name, address: (*server).elasticAddr, table: "shop", mark: "mark", columns: ofDocuments, again: again,
		doubles: doubles,
	}
}

// often makes the tests run a client also with a server that is killed five times.
func often(c client) client {
	c.often = true
	return c
}

// withOutage makes the tests run a client also with nodes that cannot write for a time.
func withOutage(c client) client {
	c.outage = true
	return c
}

// otlp returns an OpenTelemetry exporter. Its protocol has no key.
func otlp(name string, address func(*server) string, again again) client {
	return client{
		name: name, address: address, table: "records", mark: markOfOTLP, at: "timestamp", columns: ofOTLP, again: again,
		doubles: true,
	}
}

var nodeClients = []client{
	documents("elasticsearch-7-bulk", programs, false),
	withOutage(often(documents("elasticsearch-8-bulk", programs, false))),
	documents("elasticsearch-9-bulk", programs, false),
	documents("elasticsearch-7-helper", programs, true),
	withOutage(documents("elasticsearch-8-helper", itself, true)),
	documents("elasticsearch-9-helper", itself, true),
	{
		name: "pino-elasticsearch", address: (*server).elasticAddr, table: "shop",
		mark: "mark", again: itself, doubles: true,
		columns: `msg = 'a record' AND level = CASE WHEN MARK % 10 = 0 THEN 50 ELSE 30 END AND pid > 0`,
	},
	{
		name: "winston-elasticsearch", address: (*server).elasticAddr, table: "shop",
		mark: `"fields.mark"`, again: itself, doubles: true,
		columns: `message = 'a record' AND severity = LEVEL`,
	},
	{
		name: "pino-loki", address: (*server).lokiAddr, table: "pino", mark: "line->>'mark'", again: nobody,
		columns: `app = 'shop' AND line->>'msg' = 'a record' AND level = LEVEL`,
	},
	{
		name: "winston-loki", address: (*server).lokiAddr, table: "loki_logs",
		mark: "structured_metadata->>'mark'", again: nobody,
		columns: `app = 'shop' AND line LIKE 'a record%' AND level = LEVEL`,
	},
	{
		name: "winston-loki-protobuf", address: (*server).lokiAddr, table: "loki_logs",
		mark: `regexp_extract(line, '"mark":(\d+)', 1)`, again: nobody,
		columns: `app = 'shop' AND line LIKE 'a record%' AND level = LEVEL`,
	},
	{
		name: "splunk-logging", address: (*server).splunkAddr, table: "web", often: true, outage: true,
		mark: `"event.message.mark"`, again: programs, doubles: true,
		columns: `"event.message.text" = 'a record' AND "event.severity" = LEVEL AND host = 'web1' AND source = 'shop'`,
	},
	{
		name: "fluent-org-logger", address: (*server).fluentAddr, table: "fluent_logs", mark: "mark",
		columns: ofFluentd, again: programs, doubles: true, socket: true, often: true, outage: true,
	},
	{
		name: "fluent-logger", address: (*server).fluentAddr, table: "fluent_logs", mark: "mark",
		columns: ofFluentd, again: programs, doubles: true, socket: true,
	},
	{
		name: "datadog-api-client", address: (*server).datadogAddr, table: "datadog_logs", mark: "mark",
		columns: ofDatadog, again: programs, doubles: true,
	},
	{
		name: "pino-datadog-transport", address: (*server).datadogAddr, table: "datadog_logs",
		mark: "message->>'mark'", again: itself, doubles: true,
		columns: `message->>'msg' = 'a record' AND message->>'level' = LEVEL AND service = 'shop'
			AND ddtags->>'env' = 'test'`,
	},
	{
		name: "datadog-winston", address: (*server).datadogAddr, table: "datadog_logs", mark: "mark", again: nobody,
		columns: `message = 'a record' AND level = LEVEL AND service = 'shop' AND ddtags->>'env' = 'test'`,
	},
	{
		name: "gelf-pro", address: (*server).gelfAddr, table: "gelf_logs", mark: "mark",
		columns: ofGELF + ` AND app = 'shop'`, again: nobody,
	},
	{
		name: "winston-syslog", address: (*server).syslogAddr, table: "syslog", mark: markInText,
		columns: ofSyslog + ` AND appname = 'shop'`, again: nobody,
	},
	documents("opensearch-bulk", programs, false),
	documents("opensearch-helper", programs, true),
	documents("elasticsearch-16-bulk", programs, false),
	{
		name: "splunk-bunyan-logger", address: (*server).splunkAddr, table: "splunk_logs",
		mark: `"event.message.mark"`, again: nobody,
		columns: `"event.message.msg" = 'a record' AND "event.severity" = LEVEL`,
	},
	{
		name: "winston-splunk-httplogger", address: (*server).splunkAddr, table: "web",
		mark: `"event.message.meta.mark"`, again: nobody,
		columns: `"event.message.msg" = 'a record' AND "event.severity" = LEVEL AND source = 'shop'`,
	},
	{
		name: "winston-log2gelf", address: (*server).gelfAddr, table: "gelf_logs", mark: "mark", again: nobody,
		columns: `message = 'a record' AND host = 'web1' AND service = 'shop'`, // winston names its levels
	},
	{
		name: "winston-log2gelf-http", address: (*server).usersAddr, table: "gelf_logs", mark: "mark", again: nobody,
		columns: `message = 'a record' AND host = 'web1' AND service = 'shop'`,
	},
	{
		name: "syslog-client-tcp", address: (*server).syslogAddr, table: "syslog", mark: markInText, again: nobody,
		columns: ofSyslog + ` AND appname = 'shop' AND hostname = 'web1'`,
	},
	{
		name: "syslog-client-udp", address: (*server).syslogAddr, table: "syslog", mark: markInText, again: nobody,
		columns: ofSyslog + ` AND hostname = 'web1'`, datagrams: true,
	},
	{
		name: "pino-syslog", address: (*server).syslogAddr, table: "syslog", mark: "message->>'mark'", again: nobody,
		columns: `message->>'msg' = 'a record' AND severity = CASE WHEN MARK % 10 = 0 THEN 'err' ELSE 'info' END AND
			appname = 'shop'`,
	},
	{
		name: "pino-socket", address: (*server).syslogAddr, table: "syslog", mark: "message->>'mark'", again: nobody,
		columns: `message->>'msg' = 'a record' AND severity IS NULL`, // JSON lines are not split into columns
	},
	otlp("pino-opentelemetry-transport", (*server).otlpAddr, nobody),
	otlp("winston-otel", (*server).otlpAddr, itself),
	otlp("otlp-proto", (*server).otlpAddr, itself),
	otlp("otlp-http", (*server).otlpAddr, itself),
	otlp("otlp-grpc", (*server).callsAddr, nobody),
}

var pythonClients = []client{
	documents("elasticsearch-7-bulk", programs, false),
	often(documents("elasticsearch-8-bulk", programs, false)),
	documents("elasticsearch-9-bulk", programs, false),
	documents("elasticsearch-7-streaming", programs, true),
	withOutage(documents("elasticsearch-8-streaming", programs, true)),
	documents("elasticsearch-9-streaming", programs, true),
	{
		name: "logging-loki", address: (*server).lokiAddr, table: "loki_logs",
		mark: `regexp_extract(line, 'mark=(\d+)', 1)`, again: nobody,
		columns: `app = 'shop' AND line LIKE '%a record' AND severity = LEVEL AND logger = 'clients'`,
	},
	{
		name: "logging-loki-queue", address: (*server).lokiAddr, table: "loki_logs",
		mark: `regexp_extract(line, 'mark=(\d+)', 1)`, again: nobody,
		columns: `app = 'shop' AND line LIKE '%a record' AND severity = LEVEL AND logger = 'clients'`,
	},
	{
		name: "splunk-handler", address: (*server).splunkAddr, table: "web",
		mark: `"event.mark"`, again: itself, doubles: true,
		columns: `"event.message" = 'a record' AND "event.level" = LEVEL AND host = 'web1' AND source = 'shop'`,
	},
	{
		name: "datadog-api-client", address: (*server).datadogAddr, table: "datadog_logs", mark: "mark",
		columns: ofDatadog, again: programs, doubles: true,
	},
	documents("opensearch-bulk", programs, false),
	documents("opensearch-streaming", programs, true),
	documents("elasticsearch-9-parallel", programs, false),
	documents("elasticsearch-9-async", programs, false),
	{
		name: "loki-logger-handler", address: (*server).lokiAddr, table: "loki_logs", mark: "line->>'mark'", again: nobody,
		columns: `app = 'shop' AND line->>'message' = 'a record' AND lower(line->>'level') = LEVEL`, slow: true,
	},
	{
		name: "splunk-hec-handler", address: (*server).splunkAddr, table: "web", mark: `"event.mark"`, again: nobody,
		columns: `"event.text" = 'a record' AND lower("event.log_level") = LEVEL AND host = 'web1' AND source = 'shop'`,
	},
	{
		name: "rfc5424-logging-handler", address: (*server).syslogAddr, table: "syslog", mark: markInText, again: nobody,
		columns: ofSyslog + ` AND appname = 'shop' AND structured_data->'shop@1'->>'a' = 'b'`,
	},
	{
		name: "fluent-logger-async", address: (*server).fluentAddr, table: "fluent_logs", mark: "mark", again: nobody,
		columns: ofFluentd,
	},
	withOutage(often(otlp("otlp-grpc", (*server).callsAddr, itself))),
	otlp("otlp-http", (*server).otlpAddr, itself), // the exporter retries once if a connection breaks
	{
		name: "syslog-udp", address: (*server).syslogAddr, table: "syslog", mark: markInText,
		columns: ofSyslog, again: nobody, datagrams: true,
	},
	{
		name: "syslog-tcp", address: (*server).syslogAddr, table: "syslog", mark: markInText,
		columns: ofSyslog, again: nobody,
	},
	{
		name: "gelf-udp", address: (*server).gelfAddr, table: "gelf_logs", mark: "mark",
		columns: ofGELF, again: nobody, datagrams: true,
	},
	{name: "gelf-tcp", address: (*server).gelfAddr, table: "gelf_logs", mark: "mark", columns: ofGELF, again: nobody},
	{
		name: "graypy-udp", address: (*server).gelfAddr, table: "gelf_logs", mark: "mark",
		columns: ofGELF, again: nobody, datagrams: true,
	},
	{
		name: "graypy-http", address: (*server).usersAddr, table: "gelf_logs", mark: "mark",
		columns: ofGELF, again: nobody,
	},
	{
		name: "fluent-logger", address: (*server).fluentAddr, table: "fluent_logs", mark: "mark",
		columns: ofFluentd, again: nobody,
	},
}

var javaClients = []client{
	{
		name: "loki4j", address: (*server).lokiAddr, table: "loki_logs", mark: "structured_metadata->>'mark'",
		again: itself, often: true, outage: true, perKill: 100, // a batch
		columns: `app = 'shop' AND line = 'a record' AND lower(level) = LEVEL`, doubles: true,
	},
	{
		name: "logback-gelf", address: (*server).gelfAddr, table: "gelf_logs", mark: "mark", again: nobody,
		columns: ofGELF + ` AND app = 'shop'`,
	},
	otlp("otlp-grpc", (*server).callsAddr, itself),
	otlp("otlp-http", (*server).otlpAddr, itself),
	documents("elasticsearch-ingester", programs, false),
	{
		name: "logback-elasticsearch", address: (*server).elasticAddr, table: "shop", mark: "mark", again: itself,
		columns: `message = 'a record' AND "@timestamp" IS NOT NULL`, doubles: true,
	},
	{
		name: "log4j2-gelf", address: (*server).gelfAddr, table: "gelf_logs", mark: "mark", again: nobody,
		columns: ofGELF + ` AND app = 'shop'`,
	},
	{
		name: "log4j2-syslog", address: (*server).syslogAddr, table: "syslog", mark: `structured_data->'mdc@32473'->>'mark'`,
		columns: ofSyslog + ` AND appname = 'shop'`, again: nobody,
	},
	{
		name: "tjahzi", address: (*server).lokiAddr, table: "loki_logs", mark: `regexp_extract(line, 'mark=(\d+)', 1)`,
		columns: `app = 'shop' AND line LIKE '%a record' AND lower(level) = LEVEL`, again: itself, slow: true,
	},
	{
		name: "fluency", address: (*server).fluentAddr, table: "fluent_logs", mark: "mark", columns: ofFluentd,
		again: itself, doubles: true, socket: true,
	},
}
