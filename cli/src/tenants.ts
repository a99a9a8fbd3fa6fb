// `carillon tenants list|delete|restore|purge`: the end of tenants, for operators.
import type { Tenant, TenantEnding, TenantListQuery } from '@carillon/contract/tenant.ts'
import type { Client } from '@carillon/sdk'
import { confirm } from './confirm.ts'
import { isUuid } from './connection.ts'
import type { Context } from './context.ts'
import { CliError, EXIT } from './exit-code.ts'
import { presentList } from './present-list.ts'
import type { ColumnOf } from './table.ts'
import { instantCell } from './times.ts'
import { statusCell } from './tone.ts'

const columns: readonly ColumnOf<Tenant>[] = [
  { title: 'TENANT ID', cell: ({ tenant_id: id }) => id },
  { title: 'NAME', flexible: true, cell: ({ name }) => name },
  { title: 'STATUS', cell: ({ status }) => statusCell(status) },
  { title: 'TIER', cell: ({ tier }) => tier.name },
  { title: 'MADE', cell: ({ created_at: at }, nowMs) => instantCell(at, nowMs) },
  { title: 'PURGE', cell: ({ purge_at: at }, nowMs) => (at === null ? '' : instantCell(at, nowMs)) },
]

export async function listTenants(context: Context): Promise<undefined> {
  const { client } = await context.connect()
  const query: TenantListQuery = context.values.flag('deleted') ? { status: 'DELETED' } : {}
  return presentList(context, {
    name: 'tenants',
    list: (page) => client.tenants.list({ ...query, ...page }, { signal: context.signal }),
    columns,
    none: ['No tenants.'],
  })
}

export async function deleteTenant(context: Context): Promise<undefined> {
  const { args, values } = context
  const { client } = await context.connect()
  const { tenant_id: id, name } = await findTenant(context, client, args[0]!, 'ACTIVE')
  const dryRun = values.flag('dry-run')
  const cancelRunning = values.flag('cancel-running')
  const purgeAfterSeconds = values.number('purge-after')
  if (!dryRun) await confirm(context, `Delete the tenant ${name} (${id})? Nothing of it fires any more.`)
  const ending = await client.tenants.delete(id, {
    ...{ dryRun, cancelRunning },
    ...(purgeAfterSeconds !== undefined && { purgeAfterSeconds }),
  })
  const purge = `It can be restored until ${ending.tenant.purge_at}.`
  const said = dryRun ? `Would delete ${name}.` : `Deleted ${name}. ${purge}\n${watch(ending)}`
  context.out.report(said, { ...ending, dry_run: dryRun })
  return
}

export async function restoreTenant(context: Context): Promise<undefined> {
  const { client } = await context.connect()
  const { tenant_id: id, name } = await findTenant(context, client, context.args[0]!, 'DELETED')
  const ending = await client.tenants.restore(id)
  context.out.report(`Restored ${name}; its jobs are being resumed.\n${watch(ending)}`, ending)
  return
}

export async function purgeTenant(context: Context): Promise<undefined> {
  const { client } = await context.connect()
  const { tenant_id: id, name } = await findTenant(context, client, context.args[0]!, 'DELETED')
  await confirm(context, `Delete everything of the tenant ${name} (${id})? This cannot be undone.`)
  const ending = await client.tenants.purge(id, name)
  context.out.report(`The purge of ${name} has begun.\n${watch(ending)}`, ending)
  return
}

function watch({ tenant, operation }: TenantEnding): string {
  return `Watch it: carillon operations get ${operation.operation_id} --tenant ${tenant.tenant_id}`
}

const pagesMax = 50

async function findTenant(
  { signal }: Context,
  client: Client,
  asked: string,
  status: 'ACTIVE' | 'DELETED',
): Promise<Tenant> {
  if (isUuid(asked)) return client.tenants.get(asked, { signal })
  let cursor: string | null = null
  for (let n = 0; n < pagesMax; n++) {
    const query: TenantListQuery = { limit: 200, status, ...(cursor !== null && { cursor }) }
    const { tenants, pagination } = await client.tenants.list(query, { signal }).page()
    const found = tenants.find(({ name }) => name === asked)
    if (found !== undefined) return found
    cursor = pagination.next_cursor
    if (cursor === null) break
  }
  const kind = status === 'DELETED' ? 'deleted tenant' : 'tenant'
  throw new CliError(EXIT.notFound, `there is no ${kind} "${asked}".`)
}
