// The fence between the delete of a tenant and everything that makes executions. A statement with this condition holds
// ROW SHARE on `deleted_tenants` until its transaction ends, as the locks of a prepared statement are taken before its
// snapshot: a delete either waits for the transaction, or is seen by it. In most installations the table is empty, and the
// condition costs one look at an empty index for the whole statement.
import { type Fragment, fragment } from '../../lib/sql.ts'

/** Rows are not locked: FOR KEY SHARE on no rows asks for the lock of the table alone. */
export const isOfUndeletedTenant = (tenantId: Fragment): Fragment => fragment`
  ${tenantId} <> ALL (ARRAY(
    SELECT gone.tenant_id
    FROM deleted_tenants gone
    UNION ALL
    SELECT held.tenant_id
    FROM (SELECT fence.tenant_id FROM deleted_tenants fence WHERE false FOR KEY SHARE) held
  ))`
