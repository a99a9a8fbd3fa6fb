// Metrics for Prometheus, fed by events. Never a tenant, job or execution as a label: their number has no limit.
import { collectDefaultMetrics, Gauge, Histogram, Registry } from '@prometheus-io/client'
import * as events from './events.ts'
import { ProcessMetrics, type ProcessReports } from './process-metrics.ts'

export class Metrics implements Disposable {
  readonly #registry = new Registry()
  readonly #subscriptions = new DisposableStack()
  readonly #own: ProcessMetrics
  readonly #reports: ProcessReports

  /** `nowMs`: a monotonic clock. `reports`: of the other processes. */
  constructor(version: string, nowMs: () => number, reports: ProcessReports) {
    const registers = [this.#registry]
    this.#reports = reports
    this.#own = this.#subscriptions.use(new ProcessMetrics(nowMs, () => reports.recent()))
    collectDefaultMetrics({ register: this.#registry })
    const info = new Gauge({
      name: 'carillon_info',
      help: 'Always 1; the version is a label.',
      labelNames: ['version'],
      registers,
    })
    info.set({ version }, 1)
    const requests = new Histogram({
      name: 'carillon_http_request_seconds',
      help: 'API requests by method, route and status.',
      labelNames: ['method', 'route', 'status'],
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
      registers,
    })
    this.#subscriptions.use(
      events.requestFinished.subscribe(({ method, route, status, tookMs }) =>
        requests.observe({ method, route, status }, tookMs / 1_000),
      ),
    )
  }

  get contentType(): string {
    return this.#registry.contentType
  }

  /** Values by label that are asked for when somebody looks, such as how many workers there are. */
  gauges(
    options: { name: string; help: string; label: string },
    read: () => Promise<Record<string, number>>,
  ): void {
    const { name, help, label } = options
    new Gauge({
      name,
      help,
      labelNames: [label],
      registers: [this.#registry],
      async collect() {
        const values = await read().catch(() => null)
        // Without an answer the series is absent, which an alert can tell from zero.
        this.reset()
        for (const [of, value] of Object.entries(values ?? {})) this.set({ [label]: of }, value)
      },
    })
  }

  /** One value that is asked for when somebody looks; null: absent. */
  gauge(name: string, help: string, read: () => Promise<number | null>): void {
    new Gauge({
      name,
      help,
      registers: [this.#registry],
      async collect() {
        const value = await read().catch(() => null)
        if (value === null) this.remove()
        else this.set(value)
      },
    })
  }

  async read(): Promise<string> {
    // Only counters are summed: all other metrics belong to this process or to the database.
    return Registry.merge([await this.#own.sumWith(this.#reports), this.#registry]).metrics()
  }

  [Symbol.dispose](): void {
    this.#subscriptions.dispose()
  }
}
