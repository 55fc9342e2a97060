// OpenTelemetry's exporters.
function by (module, url) {
  return async (job) => {
    const { LoggerProvider, BatchLogRecordProcessor } = await import('@opentelemetry/sdk-logs')
    const { resourceFromAttributes } = await import('@opentelemetry/resources')
    const { OTLPLogExporter } = await import(`@opentelemetry/exporter-logs-otlp-${module}`)
    const exporter = new OTLPLogExporter({ url: url(job.address), compression: 'gzip', timeoutMillis: 30000 })
    const processor = new BatchLogRecordProcessor({ exporter, maxQueueSize: 2 * job.count, maxExportBatchSize: 100, scheduledDelayMillis: 200, exportTimeoutMillis: 60000 })
    const provider = new LoggerProvider({ processors: [processor], resource: resourceFromAttributes({ 'service.name': 'shop' }) })
    const logger = provider.getLogger('clients')
    for await (const mark of job.marks()) {
      logger.emit({ body: 'a record', severityNumber: mark % 10 === 0 ? 17 : 9, severityText: job.level(mark), attributes: { mark } })
    }
    await provider.forceFlush()
    await provider.shutdown()
  }
}

export const opentelemetry = {
  'otlp-proto': by('proto', (address) => `http://${address}/v1/logs`),
  'otlp-http': by('http', (address) => `http://${address}/v1/logs`),
  'otlp-grpc': by('grpc', (address) => `http://${address}`),
}
