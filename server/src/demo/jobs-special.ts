// Jobs of the demo world that share a limit, are broken, stand still, run after each other, or are another tenant's.
import { callsTo, type DemoJob, type DemoPlace, handler, job, retries, unavailable } from './job-kit.ts'

export function specialJobs({ url, shellCommands: [shell] }: DemoPlace): DemoJob[] {
  const call = callsTo(url)
  return [
    // Jobs that share a limit.
    job('orders', 'Import orders', {
      schedule: 'every 5 minutes',
      execution: call('?delay_ms=2500'),
      concurrency_key: { key: 'warehouse', limit: 1 },
      tags: ['shop'],
      past: { middleMs: 2_600, failing: 0.01, error: unavailable },
      trigger: true,
    }),
    job('returns', 'Import returns', {
      schedule: 'every 15 minutes',
      execution: call('?delay_ms=1500'),
      concurrency_key: { key: 'warehouse', limit: 1 },
      tags: ['shop'],
      past: { middleMs: 1_600 },
      trigger: true,
    }),

    // Broken jobs: three kinds of error, each with its dead letters.
    job('supplier-feed', 'Import the feed of the supplier', {
      description: 'The supplier has answered 503 for some hours.',
      schedule: '20 * * * *',
      execution: call('?status=503'),
      retry_policy: retries(2),
      tags: ['shop'],
      past: { middleMs: 800, brokenHours: 6, error: unavailable },
    }),
    job('ledger-export', 'Export the ledger', {
      schedule: '40 */2 * * *',
      execution: { callback_url: `${url}/echo?delay_ms=5000`, timeout_seconds: 1 },
      retry_policy: retries(1),
      tags: ['billing'],
      past: {
        middleMs: 700,
        brokenHours: 8,
        error: { type: 'TIMEOUT', message: 'no complete response within 1000 ms' },
      },
    }),
    job('certificates', 'Render certificates', {
      schedule: '50 */3 * * *',
      execution: handler('render-certificates'),
      retry_policy: retries(1),
      tags: ['mail', 'handler'],
      past: {
        middleMs: 1_300,
        brokenHours: 9,
        error: { type: 'HANDLER_ERROR', message: 'The font "Garamond" is not installed' },
      },
    }),

    // Jobs that do not run.
    job('backup', 'Back up the database', {
      schedule: { type: 'CRON', cron_expression: '30 3 * * *', timezone: 'UTC' },
      execution: { type: 'shell', command: shell ?? '/usr/bin/true', args: [], timeout_seconds: 600 },
      tags: ['operations', 'shell'],
      ...(shell === undefined && {
        pause: 'Shell commands are off here; CARILLON_SHELL_COMMANDS allows them.',
      }),
    }),
    job('old-crm', 'Copy customers from the old system', {
      schedule: '@hourly',
      execution: call(),
      tags: ['data'],
      past: { middleMs: 9_000 },
      pause: 'The old system moves.',
    }),

    // A graph with a third node that fails the first time: its run waits to be resumed.
    job('etl-extract', 'Extract the day', {
      schedule: { type: 'CRON', cron_expression: '0 2 * * *', timezone: 'UTC' },
      execution: call('?delay_ms=400'),
      tags: ['warehouse'],
      past: { middleMs: 64_000 },
      trigger: true,
    }),
    job('etl-clean', 'Clean the day', {
      execution: call('?delay_ms=300'),
      tags: ['warehouse'],
      after: ['etl-extract'],
      past: { middleMs: 38_000 },
    }),
    job('etl-load', 'Load the warehouse', {
      description: 'Fails the first time in each run, succeeds when the run is resumed.',
      execution: handler('load-warehouse'),
      retry_policy: { max_retries: 0 },
      tags: ['warehouse', 'handler'],
      after: ['etl-clean'],
      past: { middleMs: 120_000 },
    }),
    job('etl-report', 'Mail the figures', {
      execution: call(),
      tags: ['warehouse', 'mail'],
      after: ['etl-load'],
      past: { middleMs: 900 },
    }),

    // A graph that runs every minute.
    job('prices-fetch', 'Fetch prices', {
      schedule: '* * * * *',
      execution: call('?delay_ms=700'),
      tags: ['prices'],
      past: { days: 1 / 6, middleMs: 710 },
      trigger: true,
    }),
    job('prices-convert', 'Convert currencies', {
      execution: call('?delay_ms=500'),
      tags: ['prices'],
      after: ['prices-fetch'],
      past: { days: 1 / 6, middleMs: 510 },
    }),
    job('prices-check', 'Check for mistakes', {
      execution: call('?delay_ms=1200'),
      tags: ['prices'],
      after: ['prices-fetch'],
      past: { days: 1 / 6, middleMs: 1_210 },
    }),
    job('prices-publish', 'Publish prices', {
      execution: call('?delay_ms=300'),
      tags: ['prices'],
      after: ['prices-convert', 'prices-check'],
      past: { days: 1 / 6, middleMs: 310 },
    }),

    // Jobs of the second tenant.
    job('shipments', 'Track shipments', {
      schedule: 'every 20 seconds',
      execution: call('?delay_ms=350'),
      tags: ['logistics'],
      tenant: 'second',
      past: { days: 1, middleMs: 360, failing: 0.03, error: unavailable },
    }),
    job('customs', 'File customs papers', {
      schedule: '5 * * * *',
      execution: call('?status=422', { office: 'HAM', retry_policy: retries(1), tags: ['logistics'] }),
      tenant: 'second',
      past: {
        middleMs: 520,
        brokenHours: 3,
        error: { type: 'HTTP_ERROR', status: 422, message: 'Callback returned 422 Unprocessable Entity' },
      },
    }),
    job('routes', 'Plan routes', {
      schedule: { type: 'CRON', cron_expression: '0 4 * * *', timezone: 'America/Los_Angeles' },
      execution: call(),
      tags: ['logistics'],
      tenant: 'second',
      past: { middleMs: 88_000 },
    }),
    job('fuel', 'Compare fuel prices', {
      schedule: 'every 30 minutes',
      execution: call('?delay_ms=100'),
      tags: ['data'],
      tenant: 'second',
      past: { middleMs: 130 },
    }),
  ]
}
