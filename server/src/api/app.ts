// The HTTP API: authentication and routes, on the bounds that every HTTP server of ours has. Knows ports, no store.
import { Problem } from '@carillon/contract/problem.ts'
import swagger from '@fastify/swagger'
import type { FastifyInstance } from 'fastify'
import { LaneChooser } from '../domain/queue/lane.ts'
import type { RowSecurityOff } from '../domain/tenants/row-security.ts'
import type { Requests } from '../ports/requests.ts'
import type { EventPorts, StorePorts } from '../ports/store.ts'
import type { Wakeup, WakeupSource } from '../ports/wakeup.ts'
import type { World } from '../ports/world.ts'
import { actFor } from './access/act-for.ts'
import { apiKeyRoutes } from './access/api-keys.ts'
import { checkTenant, decorateCaller, requireKey } from './access/auth.ts'
import { refuseDeletedTenant } from './access/deleted-tenant.ts'
import { KeyCache } from './access/key-cache.ts'
import { checkScope, demandScopes } from './access/scope.ts'
import { sessionDoorRoutes, sessionRoutes } from './access/session.ts'
import { SessionCache } from './access/session-cache.ts'
import { cookieNameOf } from './access/session-cookie.ts'
import { signingKeyRoutes } from './access/signing-key.ts'
import type { TenantCensus } from './access/tenant-census.ts'
import { tenantEndRoutes } from './access/tenant-ends.ts'
import { TenantQuotas } from './access/tenant-quotas.ts'
import { tenantRoutes } from './access/tenants.ts'
import { tierRoutes } from './access/tiers.ts'
import { usageRoutes } from './access/usage.ts'
import { WrongKeys } from './access/wrong-keys.ts'
import { docsRoutes } from './docs/docs.ts'
import { openapiOptions } from './docs/openapi.ts'
import { EventHub } from './events/event-hub.ts'
import { eventRoutes } from './events/events.ts'
import { attemptWordRoutes } from './executions/attempt-reports.ts'
import { guardByToken } from './executions/attempt-token-guard.ts'
import { cancelManyRoutes } from './executions/cancel-many.ts'
import { deadLetterClusterRoutes } from './executions/dead-letter-clusters.ts'
import { deadLetterRoutes } from './executions/dead-letters.ts'
import { executionControlRoutes } from './executions/execution-control.ts'
import { executionRoutes } from './executions/executions.ts'
import { logRoutes } from './executions/logs.ts'
import { redriveRoutes } from './executions/redrive.ts'
import { graphRunRoutes } from './graphs/graph-runs.ts'
import { boundAnswers } from './http/answer-bytes.ts'
import { createBaseApp } from './http/base-app.ts'
import { boundBodies } from './http/body-bytes.ts'
import { type Dashboard, dashboardRoutes, servePages } from './http/dashboard.ts'
import { echoRoutes } from './http/echo.ts'
import { type HealthDeps, healthRoutes } from './http/health.ts'
import type { OwnHosts } from './http/own-hosts.ts'
import { refuseDeleteBody } from './http/problem.ts'
import { proofRoutes } from './http/proof.ts'
import { limitRate } from './http/rate-limit.ts'
import type { RequestShares } from './http/request-shares.ts'
import { activityRoutes } from './insights/activity.ts'
import { forecastRoutes } from './insights/forecast.ts'
import { jobSlotRoutes } from './insights/job-slots.ts'
import { jobWhyRoutes } from './insights/job-why.ts'
import { slaRoutes } from './insights/sla.ts'
import { troubleRoutes } from './insights/troubles.ts'
import { artifactRoutes } from './jobs/artifacts.ts'
import { backfillRoutes } from './jobs/backfill.ts'
import { calendarRoutes } from './jobs/calendars.ts'
import { jobByKeyRoutes } from './jobs/job-by-key.ts'
import { jobChangeRoutes } from './jobs/job-changes.ts'
import { jobStateRoutes } from './jobs/job-states.ts'
import { jobVersionRoutes } from './jobs/job-versions.ts'
import { jobRoutes } from './jobs/jobs.ts'
import { operationRoutes } from './jobs/operations.ts'
import { scheduleRoutes } from './jobs/schedules.ts'
import { triggerRoutes } from './jobs/trigger.ts'
import type { CheckTarget } from './jobs/validate-execution.ts'
import { DefinitionCache } from './workers/definition-cache.ts'
import { LongPollClaims } from './workers/long-poll-claims.ts'
import { partitionRoutes } from './workers/partitions.ts'
import { workerClaimRoutes } from './workers/worker-claims.ts'
import { workerReportRoutes } from './workers/worker-reports.ts'
import { workerRoutes } from './workers/workers.ts'

export interface AppDeps extends Omit<World, 'http'>, Omit<StorePorts, 'requests'> {
  /** Through which everything is written. */
  requests: Pick<Requests, 'run'>
  /** The stores of live views, apart from everything else: live views must delay nothing. */
  events: EventPorts
  census: TenantCensus
  requestShares: Pick<RequestShares, 'count'>
  rowSecurityOff: RowSecurityOff | null
  wakeup: Wakeup & WakeupSource
  health: HealthDeps
  operatorKey: string
  /** The operator key if it is in the data directory, where the command line finds it; else null. */
  provableKey: string | null
  /** Whether anybody may call /echo; otherwise it needs a key. */
  isEchoOpen: boolean
  /** Where browsers reach the API, if that is known; else where they say. */
  publicUrl: string | null
  /** The only names in a Host header that are answered; null: all are. */
  hosts: OwnHosts | null
  /** Networks of reverse proxies, whose X-Forwarded-For names the client. */
  trustedProxies: readonly string[]
  /** See PartitionDeps. */
  connectionsWanted: number
  dashboard: Dashboard
  checkTarget: CheckTarget
  isStopping: () => boolean
  /** Whether the worker of this server runs artifacts. */
  runsArtifacts: boolean
}

export async function createApp(deps: AppDeps): Promise<FastifyInstance> {
  const { isStopping, hosts, trustedProxies, dashboard, census } = deps
  const app = createBaseApp({
    isStopping,
    hosts,
    trustedProxies,
    wrapNotFound: (notFound) => servePages(dashboard, notFound),
  })
  app.addSchema(Problem)
  const isShared = () => census.isShared()
  boundAnswers(app, { isShared })
  boundBodies(app, { isShared })
  await app.register(swagger, openapiOptions(deps.health.version))
  await app.register(async (open) => {
    healthRoutes(open, deps.health)
    open.get('/openapi.json', { schema: { hide: true } }, async () => app.swagger())
    docsRoutes(open, () => app.swagger())
    dashboardRoutes(open, dashboard)
    proofRoutes(open, deps)
  })
  app.addHook('onReady', async () => void census.count())
  const withDefinitions = { ...deps, definitions: new DefinitionCache(deps.queue) }
  await app.register(
    async (v1) => {
      guardByToken(v1, { ...deps, isShared })
      actFor(v1, ({ attemptOf: { tenantId } }) => ({ tenantId, operator: false }))
      attemptWordRoutes(v1, withDefinitions)
    },
    { prefix: '/api/v1' },
  )
  const withKeys = {
    ...deps,
    keyCache: new KeyCache(deps),
    sessionCache: new SessionCache(deps),
    wrongKeys: new WrongKeys(deps.clock),
    cookieName: cookieNameOf(deps.secrets),
  }
  await app.register(async (echo) => {
    const authenticate = requireKey(withKeys)
    decorateCaller(echo)
    if (!deps.isEchoOpen) echo.addHook('onRequest', async (request) => authenticate(request))
    await echoRoutes(echo, deps)
  })
  const hub = new EventHub({ ...deps, ...deps.events, newId: () => deps.ids.next(), isShared })
  app.addHook('preClose', async () => hub.close())
  await app.register(async (v1) => sessionDoorRoutes(v1, withKeys), { prefix: '/api/v1' })
  await app.register(
    async (v1) => {
      const authenticate = requireKey(withKeys)
      const limit = limitRate(deps.clock, deps.requestShares)
      const quotas = new TenantQuotas(deps)
      const withLanes = { ...deps, quotas, lanes: new LaneChooser() }
      decorateCaller(v1)
      demandScopes(v1)
      // Before the body is read: a caller without the right to call does not get to send one.
      v1.addHook('onRequest', async (request, reply) => {
        reply.header('cache-control', 'no-store')
        await authenticate(request)
        limit(request, reply)
        checkTenant(request)
        checkScope(request)
        refuseDeletedTenant(request)
      })
      v1.addHook('preValidation', refuseDeleteBody)
      actFor(v1, ({ caller }) => caller)
      jobRoutes(v1, withLanes)
      await v1.register(async (changes) => jobChangeRoutes(changes, withLanes))
      jobByKeyRoutes(v1, withLanes)
      jobStateRoutes(v1, deps)
      triggerRoutes(v1, withLanes)
      backfillRoutes(v1, deps)
      executionRoutes(v1, deps)
      jobSlotRoutes(v1, deps)
      jobWhyRoutes(v1, deps)
      jobVersionRoutes(v1, deps)
      executionControlRoutes(v1, withLanes)
      cancelManyRoutes(v1, deps)
      graphRunRoutes(v1, withLanes)
      deadLetterRoutes(v1, deps)
      redriveRoutes(v1, withLanes)
      operationRoutes(v1, deps)
      scheduleRoutes(v1, deps)
      calendarRoutes(v1, deps)
      await v1.register(async (bundles) => artifactRoutes(bundles, { ...withLanes, isShared }))
      workerRoutes(v1, deps)
      const longPollClaims = new LongPollClaims({ ...deps, isShared })
      workerClaimRoutes(v1, { ...withDefinitions, longPollClaims })
      workerReportRoutes(v1, { ...withDefinitions, onRoom: (worker) => longPollClaims.noteRoom(worker) })
      logRoutes(v1, deps)
      signingKeyRoutes(v1, deps)
      partitionRoutes(v1, deps)
      activityRoutes(v1, deps)
      slaRoutes(v1, deps)
      troubleRoutes(v1, deps)
      forecastRoutes(v1, deps)
      deadLetterClusterRoutes(v1, deps)
      tenantRoutes(v1, withKeys)
      tenantEndRoutes(v1, withKeys)
      usageRoutes(v1, deps)
      tierRoutes(v1, withKeys)
      apiKeyRoutes(v1, withKeys)
      sessionRoutes(v1, withKeys)
      eventRoutes(v1, { hub, authenticate, executions: deps.events.executions })
    },
    { prefix: '/api/v1' },
  )
  return app
}
