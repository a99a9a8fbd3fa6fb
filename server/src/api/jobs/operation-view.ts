// Operations as clients see them, and new ones as the store takes them.
import type { Operation as OperationReply } from '@carillon/contract/operation.ts'
import type { NewOperation, Operation } from '../../domain/jobs/operation.ts'
import { toRfc3339, toRfc3339OrNull } from '../../lib/time/epoch.ts'
import type { Operations } from '../../ports/operations.ts'
import { ApiError } from '../http/api-error.ts'
import type { WriteAnswer } from '../http/write.ts'
import { fromFilter } from './job-filter.ts'

export function toOperation(one: Operation): OperationReply {
  return {
    operation_id: one.operationId,
    kind: one.kind,
    status: one.status,
    filter: fromFilter(one),
    progress: { total: one.total, total_capped: one.totalCapped, done: one.done, skipped: one.skipped },
    error: one.error,
    created_by: one.createdBy,
    created_at: toRfc3339(one.createdAt),
    finished_at: toRfc3339OrNull(one.finishedAt),
  }
}

/** Stores it and says where it can be watched. */
export async function startOperation(
  operations: Pick<Operations, 'create'>,
  operation: NewOperation,
): Promise<WriteAnswer<OperationReply>> {
  if ((await operations.create(operation)) === 'too_many') {
    throw new ApiError('TOO_MANY_OPERATIONS', 'The tenant has the maximum number of operations in progress.')
  }
  const begun = {
    status: 'RUNNING',
    done: 0,
    skipped: 0,
    after: null,
    error: null,
    finishedAt: null,
  } as const
  return {
    status: 202,
    headers: { location: `/api/v1/operations/${operation.operationId}` },
    body: toOperation({ ...operation, ...begun }),
    wake: ['operations'],
  }
}
