// Further clients: of OpenSearch, Splunk, Graylog, OpenTelemetry and syslog.
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)

const hostAndPort = (job) => { const [host, port] = job.address.split(':'); return { host, port: Number(port) } }
const sleep = (ms) => new Promise((done) => setTimeout(done, ms))
const pinoLevels = { info: 30, error: 50 }

// Waits until nothing was written for two seconds: the client does not say when it is done.
async function untilQuiet (on) {
  let last = Date.now()
  on(() => { last = Date.now() })
  while (Date.now() - last < 2000) await sleep(50)
}

export const more = {
  'opensearch-bulk': async (job) => {
    const { Client } = require('@opensearch-project/opensearch')
    const client = new Client({ node: `http://${job.address}` })
    for await (const batch of job.batches()) {
      const body = batch.flatMap((mark) => [{ create: { _index: 'shop', _id: `m${mark}` } }, { '@timestamp': new Date().toISOString(), level: job.level(mark), message: 'a record', mark }])
      await job.insist(async () => {
        const answer = await client.bulk({ body })
        if (answer.body.errors) throw new Error(JSON.stringify(answer.body))
      })
    }
  },
  'opensearch-helper': async (job) => {
    const { Client } = require('@opensearch-project/opensearch')
    const client = new Client({ node: `http://${job.address}`, maxRetries: 20 })
    for await (const batch of job.batches()) {
      await job.insist(async () => {
        const result = await client.helpers.bulk({
          datasource: batch.map((mark) => ({ '@timestamp': new Date().toISOString(), level: job.level(mark), message: 'a record', mark })),
          retries: 20,
          wait: 500,
          onDocument: () => ({ index: { _index: 'shop' } }),
        })
        if (result.successful !== batch.length) throw new Error(JSON.stringify(result))
      })
    }
  },
  'elasticsearch-16-bulk': async (job) => { // the client of old, for versions up to 7
    const client = new (require('elasticsearch').Client)({ host: `http://${job.address}`, log: [], apiVersion: '7.x' })
    for await (const batch of job.batches()) {
      const body = batch.flatMap((mark) => [{ index: { _index: 'shop', _type: '_doc', _id: `m${mark}` } }, { '@timestamp': new Date().toISOString(), level: job.level(mark), message: 'a record', mark }])
      await job.insist(async () => {
        const answer = await client.bulk({ body })
        if (answer.errors) throw new Error(JSON.stringify(answer))
      })
    }
    client.close()
  },
  'splunk-bunyan-logger': async (job) => {
    const stream = require('splunk-bunyan-logger').createStream({ url: `http://${job.address}`, token: 'ship:SECRET', maxRetries: 100, maxBatchCount: 50, batchInterval: 300 })
    stream.on('error', (e) => console.error(`lost: ${e.message}`))
    const log = require('bunyan').createLogger({ name: 'shop', streams: [stream] })
    for await (const mark of job.marks()) log[job.level(mark)]({ mark }, 'a record')
    await new Promise((done, fail) => stream.flush((e) => (e ? fail(e) : done())))
    await sleep(1500)
    process.exit()
  },
  'winston-splunk-httplogger': async (job) => {
    const winston = require('winston')
    const Splunk = require('winston-splunk-httplogger')
    const { host, port } = hostAndPort(job)
    const transport = new Splunk({ splunk: { token: 'ship:SECRET', host, port, protocol: 'http', index: 'web', source: 'shop', maxRetries: 100, maxBatchCount: 50, batchInterval: 300 } })
    const logger = winston.createLogger({ transports: [transport] })
    for await (const mark of job.marks()) logger.log(job.level(mark), 'a record', { mark })
    await untilQuiet((note) => transport.on('logged', note))
    process.exit()
  },
  'winston-log2gelf': async (job) => {
    const winston = require('winston')
    const transport = new (require('winston-log2gelf'))({ ...hostAndPort(job), hostname: 'web1', protocol: 'tcp', service: 'shop' })
    const logger = winston.createLogger({ transports: [transport] })
    for await (const mark of job.marks()) logger.log(job.level(mark), 'a record', { mark })
    await sleep(2000)
    process.exit()
  },
  'winston-log2gelf-http': async (job) => {
    const winston = require('winston')
    const transport = new (require('winston-log2gelf'))({ ...hostAndPort(job), hostname: 'web1', protocol: 'http', protocolOptions: { path: '/v1/gelf' }, service: 'shop' })
    const logger = winston.createLogger({ transports: [transport] })
    for await (const mark of job.marks()) logger.log(job.level(mark), 'a record', { mark })
    await sleep(10_000) // it does not say when it is done
    process.exit()
  },
  'pino-opentelemetry-transport': async (job) => {
    const pino = require('pino')
    process.env.OTEL_EXPORTER_OTLP_LOGS_HEADERS = 'x-svc-log-table-name=records'
    const transport = pino.transport({ target: 'pino-opentelemetry-transport', options: { resourceAttributes: { 'service.name': 'shop' }, logRecordProcessorOptions: [{ recordProcessorType: 'batch', exporterOptions: { protocol: 'http', httpExporterOptions: { url: `http://${job.address}/v1/logs` } }, processorConfig: { maxQueueSize: 4000, scheduledDelayMillis: 200 } }] } })
    const logger = pino(transport)
    for await (const mark of job.marks()) logger[job.level(mark)]({ mark }, 'a record')
    transport.end()
    await sleep(5000) // its thread sends what is left
    process.exit()
  },
  'winston-otel': async (job) => {
    const winston = require('winston')
    const { logs } = require('@opentelemetry/api-logs')
    const { LoggerProvider, BatchLogRecordProcessor } = require('@opentelemetry/sdk-logs')
    const { OTLPLogExporter } = require('@opentelemetry/exporter-logs-otlp-proto')
    const { resourceFromAttributes } = require('@opentelemetry/resources')
    const { OpenTelemetryTransportV3 } = require('@opentelemetry/winston-transport')
    const processor = new BatchLogRecordProcessor({ exporter: new OTLPLogExporter({ url: `http://${job.address}/v1/logs` }), maxQueueSize: 4000, scheduledDelayMillis: 200 })
    const provider = new LoggerProvider({ resource: resourceFromAttributes({ 'service.name': 'shop' }), processors: [processor] })
    logs.setGlobalLoggerProvider(provider)
    const logger = winston.createLogger({ transports: [new OpenTelemetryTransportV3()] })
    for await (const mark of job.marks()) logger.log(job.level(mark), 'a record', { mark })
    await provider.forceFlush()
    await provider.shutdown()
  },
  'syslog-client-tcp': async (job) => {
    const syslog = require('syslog-client')
    const { host, port } = hostAndPort(job)
    const client = syslog.createClient(host, { port, transport: syslog.Transport.Tcp, rfc3164: false, appName: 'shop', syslogHostname: 'web1' })
    for await (const mark of job.marks()) {
      await job.insist(() => new Promise((done, fail) => client.log(`mark=${mark} a record`, { severity: job.level(mark) === 'error' ? syslog.Severity.Error : syslog.Severity.Informational }, (e) => (e ? fail(e) : done()))))
    }
    client.close()
  },
  'syslog-client-udp': async (job) => {
    const syslog = require('syslog-client')
    const { host, port } = hostAndPort(job)
    const client = syslog.createClient(host, { port, transport: syslog.Transport.Udp, appName: 'shop', syslogHostname: 'web1' })
    for await (const mark of job.marks()) {
      await new Promise((done, fail) => client.log(`mark=${mark} a record`, { severity: job.level(mark) === 'error' ? syslog.Severity.Error : syslog.Severity.Informational }, (e) => (e ? fail(e) : done())))
    }
    client.close()
  },
  'pino-syslog': async (job) => {
    const pino = require('pino')
    const { host, port } = hostAndPort(job)
    const transport = pino.transport({ pipeline: [
      { target: 'pino-syslog', options: { appname: 'shop', modern: true, newline: true } },
      { target: 'pino-socket', options: { mode: 'tcp', address: host, port, reconnect: true } },
    ] })
    const logger = pino(transport)
    for await (const mark of job.marks()) logger[job.level(mark)]({ mark }, 'a record')
    await sleep(2500)
    process.exit()
  },
  'pino-socket': async (job) => { // lines of JSON over TCP go to the syslog port as they are
    const pino = require('pino')
    const { host, port } = hostAndPort(job)
    const transport = pino.transport({ target: 'pino-socket', options: { mode: 'tcp', address: host, port, reconnect: true } })
    const logger = pino({ formatters: {} }, transport)
    for await (const mark of job.marks()) logger[job.level(mark)]({ mark, level: pinoLevels[job.level(mark)] }, 'a record')
    await sleep(2500)
    process.exit()
  },
}
