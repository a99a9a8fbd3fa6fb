// GET /api/v1/executions/{execution_id}/logs: the log lines of its attempts, while they run and afterwards.
import { LogListQuery, logPageDefault } from '@carillon/contract/log.ts'
import { LogList } from '@carillon/contract/worker.ts'
import type { FastifyInstance } from 'fastify'
import type { Executions, ExecutionView } from '../../ports/executions.ts'
import type { LogQuery, Logs } from '../../ports/logs.ts'
import { readNameCursor, writeCursor } from '../http/cursor.ts'
import { anExecution } from '../http/path-id.ts'
import { route } from '../http/route.ts'
import { toLogLine } from './log-lines.ts'

export interface LogDeps {
  executions: Pick<Executions, 'getExecution'>
  logs: Pick<Logs, 'read'>
}

export function logRoutes(app: FastifyInstance, { executions, logs }: LogDeps): void {
  app.get<{ Params: { execution_id: string }; Querystring: LogListQuery }>(
    '/executions/:execution_id/logs',
    route('executions', 'read', 'The log of an execution', {
      description:
        'In the order of attempts and lines. To follow the log, repeat the request with `next_cursor` until that is null.',
      querystring: LogListQuery,
      answer: LogList,
    }),
    async ({ tenantId, params, query }): Promise<LogList> => {
      const executionId = anExecution.read(params.execution_id)
      const { attempt = null, limit = logPageDefault } = query
      const after = readPlace(query)
      // First the execution, then its lines: an execution that has ended by then has all of them written.
      const execution = anExecution.found(await executions.getExecution(tenantId, executionId), executionId)
      const { lines, more } = await logs.read({ tenantId, executionId, attempt, after, limit })
      const isAll = !more && hasEnded(execution, attempt)
      return { logs: lines.map(toLogLine), next_cursor: isAll ? null : writePlace(lines.at(-1) ?? after) }
    },
  )
}

const place = /^(\d{1,5})\.(\d{1,8})$/

function readPlace(query: LogListQuery): LogQuery['after'] {
  const match = place.exec(readNameCursor('logs', query, place) ?? '')
  return match === null ? null : { attempt: Number(match[1]), line: Number(match[2]) }
}

function writePlace(after: { attempt: number; line: number } | null): string {
  return writeCursor('logs', after === null ? '0.0' : `${after.attempt}.${after.line}`)
}

/** Nothing more comes, of the attempt that is asked for or of any. */
function hasEnded({ status, attempts }: ExecutionView, attempt: number | null): boolean {
  const isUnderWay = ['PENDING', 'RUNNING', 'RETRYING', 'CANCELLING'].includes(status)
  return !isUnderWay || (attempt !== null && attempts.some((one) => one.attempt === attempt))
}
