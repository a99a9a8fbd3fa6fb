// The client for Carillon's API. Runs wherever fetch does; no dependencies.
import type {
  ApiKey,
  ApiKeyChange,
  ApiKeyList,
  ApiKeyListQuery,
  ApiKeyRequest,
  CreatedApiKey,
} from '#contract/api-key.ts'
import type { Calendar, CalendarList, CalendarListQuery, CalendarRequest } from '#contract/calendar.ts'
import type { Ready } from '#contract/health.ts'
import type { Operation, OperationList, OperationListQuery } from '#contract/operation.ts'
import type { PartitionList } from '#contract/partition.ts'
import type { SchedulePreviewReply, SchedulePreviewRequest } from '#contract/schedule.ts'
import type { Session, SessionCode } from '#contract/session.ts'
import type { RotateRequest } from '#contract/signing-key.ts'
import type {
  Tenant,
  TenantChange,
  TenantChanged,
  TenantEnding,
  TenantList,
  TenantListQuery,
  TenantRequest,
  TenantUsage,
  Tier,
  TierChanged,
  TierList,
  TierRequest,
  UsageDays,
  UsageDaysQuery,
} from '#contract/tenant.ts'
import type { SigningKey, WorkerList, WorkerListQuery } from '#contract/worker.ts'
import { type ArtifactsApi, createArtifactsApi } from './artifacts-api.ts'
import { type CallOptions, createCaller, type PostOptions, type WriteOptions } from './call.ts'
import { createDeadLettersApi, type DeadLettersApi } from './dead-letters-api.ts'
import { createExecutionsApi, type ExecutionsApi } from './executions-api.ts'
import { createGraphRunsApi, type GraphRunsApi } from './graph-runs-api.ts'
import { createJobsApi, type JobsApi } from './jobs-api.ts'
import { checkOptionNames, type OptionNames } from './known-options.ts'
import type { List } from './list.ts'
import { resource } from './resource.ts'
import { type Send, sendByFetch } from './send.ts'

export interface ClientOptions {
  /** Where the API answers, such as `http://127.0.0.1:7420`. */
  url: string
  /** An API key. Not needed for `ready`, nor where a token speaks. */
  key?: string
  /** For operators: the tenant to act for. */
  tenantId?: string
  /** The longest a call may take, repeats included. Default 30,000. */
  timeoutMs?: number
  /** How often a call is repeated at most, where that is safe. 0 to 10, default 4. */
  retries?: number
}

export interface TenantDeleteOptions extends WriteOptions {
  /** Running executions are cancelled too. */
  cancelRunning?: boolean
  /** Default: 7 days. */
  purgeAfterSeconds?: number
}

export interface Client {
  /** Whether the server can do its work now. Resolves also when it cannot; rejects when nobody answers. */
  ready(options?: CallOptions): Promise<Ready>
  readonly jobs: JobsApi
  readonly executions: ExecutionsApi
  /** Jobs that ran after each other, as one. */
  readonly graphRuns: GraphRunsApi
  readonly deadLetters: DeadLettersApi
  /** Long work that a request asked for. */
  readonly operations: {
    get(operationId: string, options?: CallOptions): Promise<Operation>
    /** Newest first. */
    list(query?: OperationListQuery, options?: CallOptions): List<Operation, OperationList>
    cancel(operationId: string, options?: PostOptions): Promise<Operation>
  }
  /** Days and windows on which not to run. */
  readonly calendars: {
    get(name: string, options?: CallOptions): Promise<Calendar>
    list(query?: CalendarListQuery, options?: CallOptions): List<Calendar, CalendarList>
    put(name: string, calendar: CalendarRequest, options?: WriteOptions): Promise<Calendar>
    delete(name: string, options?: WriteOptions): Promise<void>
  }
  readonly artifacts: ArtifactsApi
  readonly schedules: {
    /** The meaning of a schedule and when it would run. */
    preview(request: SchedulePreviewRequest, options?: CallOptions): Promise<SchedulePreviewReply>
  }
  /** The key that callbacks are signed with; see verifySignature. */
  readonly signingKey: {
    get(options?: CallOptions): Promise<SigningKey>
    /** Makes a new one; the one before stays good for a while, within which it is not done again without `force`. */
    rotate(request?: RotateRequest, options?: CallOptions): Promise<SigningKey>
  }
  /** The workers that run attempts. */
  readonly workers: {
    /** Oldest registration first, up to 1,000 at a time; `next_cursor` leads on. */
    list(query?: WorkerListQuery, options?: CallOptions): Promise<WorkerList>
  }
  /** Which scheduler fires which jobs; for operators. */
  readonly partitions: { list(options?: CallOptions): Promise<PartitionList> }
  readonly tenants: {
    create(tenant: TenantRequest, options?: PostOptions): Promise<Tenant>
    get(tenantId: string, options?: CallOptions): Promise<Tenant>
    list(query?: TenantListQuery, options?: CallOptions): List<Tenant, TenantList>
    patch(tenantId: string, change: TenantChange, options?: WriteOptions): Promise<TenantChanged>
    /** From now on nothing of it fires. The operation in the answer pauses its jobs. */
    delete(tenantId: string, options?: TenantDeleteOptions): Promise<TenantEnding>
    /** Undoes a delete until the purge begins. */
    restore(tenantId: string, options?: PostOptions): Promise<TenantEnding>
    /** Deletes all rows of a deleted tenant for good. `name`: its name, to confirm it. */
    purge(tenantId: string, name: string, options?: PostOptions): Promise<TenantEnding>
    /** The tenant against the limits of its tier; a tenant may ask for its own. */
    usage(tenantId: string, options?: CallOptions): Promise<TenantUsage>
    /** Its executions by day, of the last 30 days or of up to 400. */
    usageDays(tenantId: string, query?: UsageDaysQuery, options?: CallOptions): Promise<UsageDays>
  }
  /** The caller, its tenant and its rights. */
  readonly session: {
    get(options?: CallOptions): Promise<Session>
    /** A code for a link (`/#code=CODE`) that logs one browser in with the rights of this key, once, for 15 minutes. */
    makeCode(options?: CallOptions): Promise<SessionCode>
  }
  /** The limits of tenants; for operators. */
  readonly tiers: {
    get(name: string, options?: CallOptions): Promise<Tier>
    list(options?: CallOptions): Promise<TierList>
    /** Creates or replaces it as a whole. The answer names the tenants that are beyond its limits. */
    put(name: string, tier: TierRequest, options?: WriteOptions): Promise<TierChanged>
  }
  readonly apiKeys: {
    /** The answer is the only one that has the key itself; so it is never repeated when the answer is lost. */
    create(request: ApiKeyRequest, options?: WriteOptions): Promise<CreatedApiKey>
    get(keyId: string, options?: CallOptions): Promise<ApiKey>
    list(query?: ApiKeyListQuery, options?: CallOptions): List<ApiKey, ApiKeyList>
    patch(keyId: string, change: ApiKeyChange, options?: WriteOptions): Promise<ApiKey>
    /** For good. */
    revoke(keyId: string, options?: WriteOptions): Promise<void>
  }
}

const clientOptions: OptionNames<ClientOptions> = {
  url: true,
  key: true,
  tenantId: true,
  timeoutMs: true,
  retries: true,
}

export function createClient(options: ClientOptions): Client {
  return createClientOver(options, sendByFetch)
}

/** The same over another way to send. */
export function createClientOver(options: ClientOptions, send: Send): Client {
  const call = createCaller(checkOptions(options), send)
  const get = <T>(path: string, given?: CallOptions) => call<T>({ path, repeat: 'same' }, given)
  const operations = resource(call, '/api/v1/operations')
  const calendars = resource(call, '/api/v1/calendars')
  const tenants = resource(call, '/api/v1/tenants')
  const tiers = resource(call, '/api/v1/tiers')
  const apiKeys = resource(call, '/api/v1/api-keys')
  return {
    ready: (given) => call<Ready>({ path: '/readyz', alsoExpected: [503], repeat: 'same' }, given),
    jobs: createJobsApi(call),
    executions: createExecutionsApi(call),
    graphRuns: createGraphRunsApi(call),
    deadLetters: createDeadLettersApi(call),
    operations: {
      get: operations.get,
      list: (query, given) => operations.list((page: OperationList) => page.operations, query, given),
      cancel: (id, given) => operations.post(operations.pathOf(id, 'cancel'), undefined, given),
    },
    calendars: {
      get: calendars.get,
      list: (query, given) => calendars.list((page: CalendarList) => page.calendars, query, given),
      put: calendars.put,
      delete: calendars.remove,
    },
    artifacts: createArtifactsApi(call),
    schedules: {
      preview: (body, given) =>
        call({ method: 'POST', path: '/api/v1/schedules/preview', body, repeat: 'same' }, given),
    },
    signingKey: {
      get: (given) => get('/api/v1/signing-key', given),
      rotate: (body = {}, given) =>
        call({ method: 'POST', path: '/api/v1/signing-key/rotate', body, repeat: 'once' }, given),
    },
    workers: { list: (query = {}, given) => call({ path: '/api/v1/workers', query, repeat: 'same' }, given) },
    partitions: { list: (given) => get('/api/v1/partitions', given) },
    tenants: {
      create: (body, given) => tenants.post(tenants.root, body, given),
      get: tenants.get,
      list: (query, given) => tenants.list((page: TenantList) => page.tenants, query, given),
      patch: tenants.patch,
      delete: (id, given = {}) => {
        const { cancelRunning, purgeAfterSeconds, ...rest } = given
        const query = {
          ...(cancelRunning === true && { cancel_running: true }),
          ...(purgeAfterSeconds !== undefined && { purge_after_seconds: purgeAfterSeconds }),
        }
        return call({ method: 'DELETE', path: tenants.pathOf(id), query, repeat: 'same' }, rest)
      },
      restore: (id, given) => tenants.post(tenants.pathOf(id, 'restore'), undefined, given),
      purge: (id, name, given) => tenants.post(tenants.pathOf(id, 'purge'), { name }, given),
      usage: (id, given) => get(tenants.pathOf(id, 'usage'), given),
      usageDays: (id, query = {}, given) =>
        call({ path: tenants.pathOf(id, 'usage/days'), query, repeat: 'same' }, given),
    },
    session: {
      get: (given) => get('/api/v1/session', given),
      // A code of a lost answer is never used, and void after its time.
      makeCode: (given) =>
        call({ method: 'POST', path: '/api/v1/session/code', body: {}, repeat: 'same' }, given),
    },
    tiers: { get: tiers.get, list: (given) => get(tiers.root, given), put: tiers.put },
    apiKeys: {
      create: (body, given) => call({ method: 'POST', path: apiKeys.root, body, repeat: 'once' }, given),
      get: apiKeys.get,
      list: (query, given) => apiKeys.list((page: ApiKeyList) => page.api_keys, query, given),
      patch: apiKeys.patch,
      revoke: apiKeys.remove,
    },
  }
}

function checkOptions(options: ClientOptions): ClientOptions {
  checkOptionNames('createClient', options, clientOptions)
  if (!URL.canParse(options.url) || !/^https?:/i.test(options.url)) {
    throw new TypeError(`url is ${JSON.stringify(options.url)}: it must be an http or https address.`)
  }
  const { retries = 4 } = options
  if (!Number.isInteger(retries) || retries < 0 || retries > 10) {
    throw new TypeError(`retries is ${retries}: it must be a whole number from 0 to 10.`)
  }
  return options
}
