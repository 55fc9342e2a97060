// Sends records with the marks FIRST to LAST-1 by a client: node send.mjs CLIENT FIRST LAST ADDRESS, the address of its protocol's port.
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)
const [client, first, last, address] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4]), process.argv[5]]
const marks = Array.from({ length: last - first }, (_, i) => first + i)

async function byOpenTelemetry(module, url) {
  const { LoggerProvider, BatchLogRecordProcessor } = await import('@opentelemetry/sdk-logs')
  const { OTLPLogExporter } = await import(module)
  const exporter = new OTLPLogExporter({ url, compression: 'gzip', timeoutMillis: 30000 })
  const processor = new BatchLogRecordProcessor({ exporter, maxQueueSize: marks.length, maxExportBatchSize: 500, exportTimeoutMillis: 60000 })
  const provider = new LoggerProvider({ processors: [processor] })
  const logger = provider.getLogger('clients')
  for (const mark of marks) logger.emit({ body: 'a record', severityText: 'INFO', attributes: { mark } })
  await provider.forceFlush()
  await provider.shutdown()
}

const clients = {
  'pino-loki': async () => {
    const pino = require('pino')
    const transport = pino.transport({ target: 'pino-loki', options: { host: `http://${address}`, labels: { app: 'shop' }, headers: { 'x-svc-log-table-name': 'pino' } } })
    await new Promise((done) => transport.on('ready', done))
    const logger = pino(transport)
    for (const mark of marks) logger.info({ mark }, 'a record')
    const alive = setInterval(() => {}, 1000) // its thread does not keep the program
    await new Promise((done) => { transport.on('close', done); transport.end() })
    clearInterval(alive)
  },
  'winston-loki': async () => {
    const winston = require('winston')
    const LokiTransport = require('winston-loki')
    const transport = new LokiTransport({ host: `http://${address}`, labels: { app: 'shop' }, json: true, interval: 1, onConnectionError: (e) => { throw e } })
    const logger = winston.createLogger({ transports: [transport] })
    for (const mark of marks) logger.info('a record', { mark })
    await transport.flush()
    logger.close()
  },
  'splunk-logging': async () => {
    const { Logger } = require('splunk-logging')
    const logger = new Logger({ url: `http://${address}`, path: '/services/collector/event/1.0', token: 'ship:SECRET', maxRetries: 100, maxBatchCount: 0, batchInterval: 0 })
    for (const mark of marks) logger.send({ message: { mark }, metadata: { index: 'splunk_logging' } })
    await new Promise((done, fail) => logger.flush((err, resp, body) => (err || body.code !== 0 ? fail(err ?? new Error(JSON.stringify(body))) : done())))
  },
  'datadog-api-client': async () => {
    const { client, v2 } = require('@datadog/datadog-api-client')
    const baseServer = new client.ServerConfiguration(`http://${address}`, {})
    const configuration = client.createConfiguration({ baseServer, authMethods: { apiKeyAuth: 'ship:SECRET' }, enableRetry: true, maxRetries: 10 })
    const api = new v2.LogsApi(configuration)
    for (let i = 0; i < marks.length; i += 500) {
      const body = marks.slice(i, i + 500).map((mark) => ({ message: 'a record', ddsource: 'nodejs', ddtags: 'env:test', additionalProperties: { mark: String(mark) } }))
      await api.submitLog({ body, contentEncoding: 'deflate' })
    }
  },
  'fluent-logger': async () => {
    const { FluentClient } = require('@fluent-org/logger')
    const [host, port] = address.split(':')
    const logger = new FluentClient('shop', { ack: {}, socket: { host, port: Number(port), timeout: 30000 } })
    await Promise.all(marks.map((mark) => logger.emit('cart', { mark })))
    await logger.disconnect()
  },
  'otlp-proto': () => byOpenTelemetry('@opentelemetry/exporter-logs-otlp-proto', `http://${address}/v1/logs`),
  'otlp-http': () => byOpenTelemetry('@opentelemetry/exporter-logs-otlp-http', `http://${address}/v1/logs`),
  'otlp-grpc': () => byOpenTelemetry('@opentelemetry/exporter-logs-otlp-grpc', `http://${address}`),
}

await clients[client]()
