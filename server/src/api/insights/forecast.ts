// GET /api/v1/forecast: how many slots are to come, and when most of them.
import { ForecastQuery, ForecastReply, forecastStepSeconds } from '@carillon/contract/forecast.ts'
import type { FastifyInstance } from 'fastify'
import { toRfc3339 } from '../../lib/time/epoch.ts'
import { route } from '../http/route.ts'
import { Forecaster, type ForecasterDeps } from './forecaster.ts'

const hoursDefault = 24

export function forecastRoutes(app: FastifyInstance, deps: ForecasterDeps): void {
  const forecaster = new Forecaster(deps)
  app.get<{ Querystring: ForecastQuery }>(
    '/forecast',
    route('dashboards', 'read', 'The number of upcoming slots, and their peaks', {
      description:
        'Jobs with dependencies have no slots of their own. For jobs that count from the end of the last execution, only the next slot is known.',
      querystring: ForecastQuery,
      answer: ForecastReply,
    }),
    async ({ tenantId, query }): Promise<ForecastReply> => {
      const made = await forecaster.forecast(tenantId, query.hours ?? hoursDefault)
      return {
        from: toRfc3339(made.from),
        step_seconds: forecastStepSeconds,
        counts: [...made.counts],
        peaks: made.peaks.map(({ at, count, jobs }) => ({
          at: toRfc3339(at),
          count,
          jobs: jobs.map(({ jobId, name }) => ({ job_id: jobId, name })),
        })),
        jobs_seen: made.jobsSeen,
        complete: made.complete,
        as_of: toRfc3339(made.asOf),
      }
    },
  )
}
