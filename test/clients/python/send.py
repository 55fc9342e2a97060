"""Sends records with the marks FIRST to LAST-1: send.py CLIENT FIRST LAST ADDRESS PAUSE, the address of its protocol's port and the
milliseconds to wait after each 20 records. Every tenth record is an error."""

import importlib
import logging
import logging.handlers
import os
import queue
import socket
import sys
import time

client, first, last, address, pause = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], int(sys.argv[5])
host, port = address.rsplit(":", 1)
logger = logging.getLogger("clients")
logger.setLevel(logging.INFO)


def marks():
    """The marks, as fast as the program makes records."""
    for mark in range(first, last):
        yield mark
        if pause and mark % 20 == 19:
            time.sleep(pause / 1000)


def level(mark):
    return "error" if mark % 10 == 0 else "info"


def log():
    """Logs the records by the handlers of the logger."""
    for mark in marks():
        logger.log(logging.ERROR if mark % 10 == 0 else logging.INFO, "a record", extra={"mark": mark})
        if client.endswith("-udp") and mark % 50 == 0:
            time.sleep(0.001)  # nothing else keeps a sender of datagrams from filling the kernel's buffer


def insist(send):
    """Does what a program does that wants its records to arrive: it sends again if the client says that it could not."""
    for left in range(100, -1, -1):
        try:
            return send()
        except Exception as e:
            if not left:
                raise
            print(f"again: {e}", file=sys.stderr)
            time.sleep(0.3)


def batches():
    batch = []
    for mark in marks():
        batch.append(mark)
        if len(batch) == 100:
            yield batch
            batch = []
    if batch:
        yield batch


def document(mark, **more):
    now = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime())
    return {"_index": "shop", "_source": {"@timestamp": now + "Z", "level": level(mark), "message": "a record", "mark": mark}, **more}


def elasticsearch(version, kind):
    if version == 8:  # it wants other versions of what 9 wants
        sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "elasticsearch8"))
    module = importlib.import_module(f"elasticsearch{version}")
    helpers = importlib.import_module(f"elasticsearch{version}.helpers")
    to = module.Elasticsearch(f"http://{address}", max_retries=20, retry_on_timeout=True)
    if kind == "bulk":  # each document has an id
        for batch in batches():
            insist(lambda: helpers.bulk(to, [document(mark, _id=f"m{mark}") for mark in batch]))
    else:
        for batch in batches():
            insist(lambda: all(ok for ok, _ in helpers.streaming_bulk(to, map(document, batch), max_retries=20, initial_backoff=0.2, max_backoff=1)))


def opentelemetry(kind):
    from opentelemetry.sdk._logs import LoggerProvider, LoggingHandler
    from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
    from opentelemetry.sdk.resources import Resource

    exporter = importlib.import_module(f"opentelemetry.exporter.otlp.proto.{kind}._log_exporter").OTLPLogExporter(
        endpoint=f"http://{address}" + ("/v1/logs" if kind == "http" else "")
    )
    provider = LoggerProvider(resource=Resource.create({"service.name": "shop"}))
    provider.add_log_record_processor(
        BatchLogRecordProcessor(exporter, max_queue_size=2 * Records, schedule_delay_millis=200, max_export_batch_size=100)
    )
    logger.addHandler(LoggingHandler(logger_provider=provider))
    log()
    provider.force_flush()
    provider.shutdown()


Records = last - first


def syslog(kind):
    handler = logging.handlers.SysLogHandler((host, int(port)), socktype=kind)
    handler.ident = "shop: "
    handler.append_nul = kind == socket.SOCK_STREAM
    handler.setFormatter(logging.Formatter("mark=%(mark)d %(message)s"))
    logger.addHandler(handler)
    log()
    handler.close()


def gelf(kind):
    import pygelf

    handler = getattr(pygelf, kind)(host=host, port=int(port), include_extra_fields=True)
    logger.addHandler(handler)
    log()
    handler.close()


def graypy(kind):
    module = importlib.import_module("graypy")
    if kind == "http":
        handler = module.GELFHTTPHandler(host, port=int(port), compress=True)
    else:
        handler = module.GELFUDPHandler(host, int(port))
    logger.addHandler(handler)
    log()
    handler.close()


def fluent():
    from fluent import handler

    to = handler.FluentHandler("shop.cart", host=host, port=int(port))
    to.setFormatter(handler.FluentRecordFormatter({"mark": "%(mark)d", "level": "%(levelname)s", "message": "%(message)s"}))
    logger.addHandler(to)
    log()
    to.close()


def loki(queued):
    import logging_loki

    options = {"url": f"http://{address}/loki/api/v1/push", "tags": {"app": "shop"}, "version": "1"}
    handler = logging_loki.LokiQueueHandler(queue.Queue(-1), **options) if queued else logging_loki.LokiHandler(**options)
    (handler.handler if queued else handler).setFormatter(logging.Formatter("mark=%(mark)d %(message)s"))
    logger.addHandler(handler)
    log()
    if queued:
        handler.listener.stop()


def splunk():
    from splunk_handler import SplunkHandler

    handler = SplunkHandler(
        host=host, port=port, token="ship:SECRET", index="web", sourcetype="_json", source="shop", hostname="web1", protocol="http",
        verify=False, flush_interval=0.2, retry_count=20, retry_backoff=0.3, queue_size=0, record_format=True,
    )
    handler.setFormatter(JSON())
    logger.addHandler(handler)
    log()
    handler.force_flush()
    handler.close()


class JSON(logging.Formatter):
    """The event as an object."""

    def format(self, record):
        return {"mark": record.mark, "level": record.levelname.lower(), "message": record.getMessage()}


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
    with ApiClient(configuration) as api:
        for batch in batches():
            items = [
                HTTPLogItem(message="a record", service="shop", ddsource="python", ddtags="env:test", mark=str(mark), status=level(mark))
                for mark in batch
            ]
            insist(lambda: LogsApi(api).submit_log(HTTPLog(items), content_encoding="gzip"))


def opensearch(kind):
    import opensearchpy

    to = opensearchpy.OpenSearch(f"http://{address}", max_retries=20, retry_on_timeout=True)
    if kind == "bulk":
        for batch in batches():
            insist(lambda: opensearchpy.helpers.bulk(to, [document(mark, _id=f"m{mark}") for mark in batch]))
    else:
        for batch in batches():
            insist(lambda: all(ok for ok, _ in opensearchpy.helpers.streaming_bulk(to, map(document, batch), max_retries=20, initial_backoff=0.2, max_backoff=1)))


def parallel():
    import elasticsearch9
    from elasticsearch9 import helpers

    to = elasticsearch9.Elasticsearch(f"http://{address}", max_retries=20, retry_on_timeout=True)
    for batch in batches():  # of documents with ids
        insist(lambda: all(ok for ok, _ in helpers.parallel_bulk(to, [document(mark, _id=f"m{mark}") for mark in batch], thread_count=1)))


def asynchronous():
    import asyncio

    import elasticsearch9
    from elasticsearch9 import helpers

    async def send():
        async with elasticsearch9.AsyncElasticsearch(f"http://{address}", max_retries=20, retry_on_timeout=True) as to:
            for batch in batches():
                for left in range(100, -1, -1):
                    try:
                        await helpers.async_bulk(to, [document(mark, _id=f"m{mark}") for mark in batch])
                        break
                    except Exception as e:
                        if not left:
                            raise
                        print(f"again: {e}", file=sys.stderr)
                        await asyncio.sleep(0.3)

    asyncio.run(send())


def loki_handler():
    from loki_logger_handler.loki_logger_handler import LokiLoggerHandler

    handler = LokiLoggerHandler(url=f"http://{address}/loki/api/v1/push", labels={"app": "shop"}, timeout=1)
    logger.addHandler(handler)
    log()
    time.sleep(3)


def splunk_hec():
    from splunk_hec_handler import SplunkHecHandler

    handler = SplunkHecHandler(host, "ship:SECRET", port=int(port), proto="http", index="web", sourcetype="_json", source="shop", hostname="web1")
    logger.addHandler(handler)
    for mark in marks():
        logger.log(logging.ERROR if mark % 10 == 0 else logging.INFO, {"mark": mark, "text": "a record"})


def rfc5424():
    from rfc5424logging import Rfc5424SysLogHandler

    handler = Rfc5424SysLogHandler(address=(host, int(port)), socktype=socket.SOCK_STREAM, appname="shop", structured_data={"shop@1": {"a": "b"}})
    handler.setFormatter(logging.Formatter("mark=%(mark)d %(message)s"))
    logger.addHandler(handler)
    log()
    handler.close()


def fluent_async():
    from fluent import asynchandler

    to = asynchandler.FluentHandler("shop.cart", host=host, port=int(port), nanosecond_precision=True, queue_maxsize=5000)
    from fluent.handler import FluentRecordFormatter

    to.setFormatter(FluentRecordFormatter({"mark": "%(mark)d", "level": "%(levelname)s", "message": "%(message)s"}))
    logger.addHandler(to)
    log()
    to.close()


{
    "opensearch-bulk": lambda: opensearch("bulk"),
    "opensearch-streaming": lambda: opensearch("streaming_bulk"),
    "elasticsearch-9-parallel": parallel,
    "elasticsearch-9-async": asynchronous,
    "loki-logger-handler": loki_handler,
    "splunk-hec-handler": splunk_hec,
    "rfc5424-logging-handler": rfc5424,
    "fluent-logger-async": fluent_async,
    "datadog-api-client": datadog,
    "elasticsearch-7-bulk": lambda: elasticsearch(7, "bulk"),
    "elasticsearch-8-bulk": lambda: elasticsearch(8, "bulk"),
    "elasticsearch-9-bulk": lambda: elasticsearch(9, "bulk"),
    "elasticsearch-7-streaming": lambda: elasticsearch(7, "streaming_bulk"),
    "elasticsearch-8-streaming": lambda: elasticsearch(8, "streaming_bulk"),
    "elasticsearch-9-streaming": lambda: elasticsearch(9, "streaming_bulk"),
    "logging-loki": lambda: loki(False),
    "logging-loki-queue": lambda: loki(True),
    "otlp-grpc": lambda: opentelemetry("grpc"),
    "otlp-http": lambda: opentelemetry("http"),
    "splunk-handler": splunk,
    "syslog-udp": lambda: syslog(socket.SOCK_DGRAM),
    "syslog-tcp": lambda: syslog(socket.SOCK_STREAM),
    "gelf-udp": lambda: gelf("GelfUdpHandler"),
    "gelf-tcp": lambda: gelf("GelfTcpHandler"),
    "graypy-udp": lambda: graypy("udp"),
    "graypy-http": lambda: graypy("http"),
    "fluent-logger": fluent,
}[client]()
