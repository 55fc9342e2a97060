// Clients of Datadog.
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)

export const datadog = {
  'datadog-api-client': async (job) => {
    const { client, v2 } = require('@datadog/datadog-api-client')
    const baseServer = new client.ServerConfiguration(`http://${job.address}`, {})
    const configuration = client.createConfiguration({ baseServer, authMethods: { apiKeyAuth: 'ship:SECRET' }, enableRetry: true, maxRetries: 10 })
    const api = new v2.LogsApi(configuration)
    for await (const batch of job.batches()) {
      const body = batch.map((mark) => ({ message: 'a record', service: 'shop', ddsource: 'nodejs', ddtags: 'env:test', additionalProperties: { mark: String(mark), status: job.level(mark) } }))
      await job.insist(() => api.submitLog({ body, contentEncoding: 'deflate' }))
    }
  },
  'pino-datadog-transport': async (job) => {
    const pino = require('pino')
    const make = require('pino-datadog-transport').default
    const { client } = require('@datadog/datadog-api-client')
    let arrived = 0
    let lost
    const stream = make({
      ddClientConf: { baseServer: new client.ServerConfiguration(`http://${job.address}`, {}), authMethods: { apiKeyAuth: 'ship:SECRET' } },
      ddsource: 'nodejs',
      ddtags: 'env:test',
      service: 'shop',
      sendIntervalMs: 200,
      retries: 20,
      onError: (e) => { lost = e },
      onDebug: (text) => { arrived += Number(/Sending (\d+) logs to Datadog completed/.exec(text)?.[1] ?? 0) },
    })
    const logger = pino(stream)
    for await (const mark of job.marks()) logger[job.level(mark)]({ mark }, 'a record')
    while (arrived < job.count && !lost) await new Promise((done) => setTimeout(done, 100))
    if (lost) throw lost
    process.exit() // its timer does not end
  },
  'datadog-winston': async (job) => {
    const winston = require('winston')
    const DatadogTransport = require('datadog-winston')
    const transport = new DatadogTransport({ apiKey: 'ship:SECRET', service: 'shop', ddsource: 'nodejs', ddtags: 'env:test' })
    transport.api = `http://${job.address}/v1/input/ship:SECRET` // it knows only the hosts of Datadog
    const logger = winston.createLogger({ transports: [transport] })
    for await (const mark of job.marks()) logger.log(job.level(mark), 'a record', { mark })
  },
}
