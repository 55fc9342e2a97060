"""Sends records with the marks FIRST to LAST-1: send.py CLIENT FIRST LAST ADDRESS, the address of its protocol's port."""

import importlib
import logging
import logging.handlers
import socket
import sys
import time

client, first, last, address = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
host, port = address.rsplit(":", 1)
logger = logging.getLogger("clients")
logger.setLevel(logging.INFO)


def opentelemetry(kind):
    from opentelemetry.sdk._logs import LoggerProvider, LoggingHandler
    from opentelemetry.sdk._logs.export import BatchLogRecordProcessor

    exporter = importlib.import_module(f"opentelemetry.exporter.otlp.proto.{kind}._log_exporter").OTLPLogExporter(
        endpoint=f"http://{address}" + ("/v1/logs" if kind == "http" else "")
    )
    provider = LoggerProvider()
    provider.add_log_record_processor(BatchLogRecordProcessor(exporter, max_queue_size=last - first + 1))
    logger.addHandler(LoggingHandler(logger_provider=provider))
    return lambda: (provider.force_flush(), provider.shutdown())


def syslog(kind):
    handler = logging.handlers.SysLogHandler((host, int(port)), socktype=kind)
    handler.ident = "shop: "
    handler.append_nul = kind == socket.SOCK_STREAM
    handler.setFormatter(logging.Formatter("mark=%(mark)d"))
    logger.addHandler(handler)
    return handler.close


def gelf(kind):
    import pygelf

    handler = getattr(pygelf, kind)(host=host, port=int(port), include_extra_fields=True)
    logger.addHandler(handler)
    return handler.close


def fluent():
    from fluent import handler

    to = handler.FluentHandler("shop.cart", host=host, port=int(port))
    to.setFormatter(handler.FluentRecordFormatter({"mark": "%(mark)d", "message": "%(message)s"}))
    logger.addHandler(to)
    return to.close


def datadog():
    from datadog_api_client import ApiClient, Configuration
    from datadog_api_client.v2.api.logs_api import LogsApi
    from datadog_api_client.v2.model.http_log import HTTPLog
    from datadog_api_client.v2.model.http_log_item import HTTPLogItem

    # It sends again what is refused, but not what cannot be sent.
    configuration = Configuration(
        server_index=1, server_variables={"protocol": "http", "name": address}, enable_retry=True, max_retries=10
    )
    configuration.api_key["apiKeyAuth"] = "ship:SECRET"
    records = []

    class Handler(logging.Handler):
        def emit(self, record):
            records.append(
                HTTPLogItem(message=record.getMessage(), ddsource="python", ddtags="env:test,team:a", mark=str(record.mark))
            )

    logger.addHandler(Handler())

    def send():
        with ApiClient(configuration) as api:
            for i in range(0, len(records), 500):
                LogsApi(api).submit_log(HTTPLog(records[i : i + 500]), content_encoding="gzip")

    return send


end = {
    "datadog-api-client": datadog,
    "otlp-grpc": lambda: opentelemetry("grpc"),
    "otlp-http": lambda: opentelemetry("http"),
    "syslog-udp": lambda: syslog(socket.SOCK_DGRAM),
    "syslog-tcp": lambda: syslog(socket.SOCK_STREAM),
    "gelf-udp": lambda: gelf("GelfUdpHandler"),
    "gelf-tcp": lambda: gelf("GelfTcpHandler"),
    "fluent-logger": fluent,
}[client]()
for mark in range(first, last):
    logger.info("a record", extra={"mark": mark})
    if client.endswith("-udp") and mark % 50 == 0:
        time.sleep(0.001)  # nothing else keeps a sender of datagrams from filling the kernel's buffer
end()
