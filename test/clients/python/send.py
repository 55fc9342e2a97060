"""Sends records with the marks FIRST to LAST-1: send.py CLIENT FIRST LAST ADDRESS, the address of its protocol's port."""

import importlib
import logging
import sys

from opentelemetry.sdk._logs import LoggerProvider, LoggingHandler
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor

client, first, last, address = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
kind = {"otlp-grpc": "grpc", "otlp-http": "http"}[client]
exporter = importlib.import_module(f"opentelemetry.exporter.otlp.proto.{kind}._log_exporter").OTLPLogExporter(
    endpoint=f"http://{address}" + ("/v1/logs" if kind == "http" else "")
)
provider = LoggerProvider()
provider.add_log_record_processor(BatchLogRecordProcessor(exporter, max_queue_size=last - first + 1))
logger = logging.getLogger("clients")
logger.setLevel(logging.INFO)
logger.addHandler(LoggingHandler(logger_provider=provider))
for mark in range(first, last):
    logger.info("a record", extra={"mark": mark})
provider.force_flush()
provider.shutdown()
