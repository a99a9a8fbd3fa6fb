// The commands on tenants, tiers and usage.
import { type ArgumentSpec, type Command, flag, list, number, text } from './command.ts'
import { dryRun, paging, yes } from './shared-options.ts'

const tenant: ArgumentSpec = { name: 'TENANT', about: 'its id or name' }
const tier: ArgumentSpec = { name: 'TIER', about: 'its name' }

export const tenantCommands: readonly Command[] = [
  {
    path: ['tenants', 'list'],
    about: 'list the tenants; for operators',
    options: { ...paging, deleted: flag('the ones that are deleted and not purged yet') },
    shows: true,
    load: async () => (await import('./tenants.ts')).listTenants,
  },
  {
    path: ['tenants', 'delete'],
    about: 'delete a tenant: nothing of it fires any more, until it is restored',
    arguments: [tenant],
    options: {
      'cancel-running': flag('cancel its running executions too'),
      'purge-after': number('SECONDS', 'time until its rows are purged (7 days)'),
      ...yes,
      ...dryRun,
    },
    load: async () => (await import('./tenants.ts')).deleteTenant,
  },
  {
    path: ['tenants', 'restore'],
    about: 'undo the delete of a tenant, until its purge begins',
    arguments: [tenant],
    load: async () => (await import('./tenants.ts')).restoreTenant,
  },
  {
    path: ['tenants', 'purge'],
    about: 'delete all rows of a deleted tenant, for good',
    arguments: [tenant],
    options: yes,
    load: async () => (await import('./tenants.ts')).purgeTenant,
  },
  {
    path: ['tiers', 'list'],
    about: 'list the tiers of tenants, with their limits; for operators',
    shows: true,
    load: async () => (await import('./tiers.ts')).listTiers,
  },
  {
    path: ['tiers', 'get'],
    about: 'show all limits of a tier',
    arguments: [tier],
    shows: true,
    load: async () => (await import('./tiers.ts')).getTier,
  },
  {
    path: ['tiers', 'set'],
    about: 'change limits of a tier, or make one; names the tenants beyond them',
    arguments: [tier],
    options: {
      limit: list('NAME=VALUE', 'a limit as in the API, or none', { short: 'l' }),
      like: text('TIER', 'start from the limits of this tier'),
      ...dryRun,
    },
    examples: [
      'carillon tiers set free --limit active_jobs_max=500 --dry-run',
      'carillon tiers set gold --like pro --limit requests_per_second=none',
    ],
    load: async () => (await import('./tiers.ts')).setTier,
  },
  {
    path: ['usage'],
    about: 'show how much of its limits the tenant uses, or with --days how much it ran',
    options: { days: number('N', 'executions by day, of the last N days, 1 to 400') },
    shows: true,
    examples: ['carillon usage', 'carillon usage --days 30'],
    load: async () => (await import('./usage.ts')).showUsage,
  },
]
