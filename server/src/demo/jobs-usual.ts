// Jobs of the demo world that go well, or nearly: jobs that move while somebody watches, and every kind of schedule.
import {
  calendar,
  callsTo,
  type DemoJob,
  type DemoPlace,
  handler,
  job,
  retries,
  unavailable,
} from './job-kit.ts'

export function usualJobs({ url, soon }: DemoPlace): DemoJob[] {
  const call = callsTo(url)
  return [
    // Jobs that move while somebody watches.
    job('status-page', 'Ping the status page', {
      schedule: 'every 2 seconds',
      execution: call('?delay_ms=120'),
      tags: ['monitoring'],
      past: { days: 1 / 24, middleMs: 125 },
    }),
    job('search-index', 'Rebuild the search index', {
      description: 'A handler that runs for most of a minute, says how far it is and writes a log.',
      schedule: 'every 1 minute',
      execution: handler('rebuild-search-index'),
      tags: ['search', 'handler'],
      past: { days: 1, middleMs: 42_000, answer: '{"documents":48000}' },
      trigger: true,
    }),
    job('board-tiles', 'Refresh the tiles of the board', {
      schedule: 'every 10 seconds',
      execution: call('?delay_ms=900'),
      overlap_policy: 'CANCEL_RUNNING',
      tags: ['reporting'],
      past: { days: 1, middleMs: 910 },
    }),
    job('cache', 'Warm the cache', {
      schedule: '*/30 * * * * *',
      execution: call('?delay_ms=60'),
      priority: 8,
      tags: ['web'],
      past: { days: 2, middleMs: 66 },
    }),
    job('inventory', 'Sync the inventory', {
      description: 'The flaky one: about every third attempt fails and is tried again.',
      schedule: 'every 5 minutes',
      execution: handler('sync-inventory'),
      retry_policy: retries(5),
      tags: ['shop', 'handler'],
      past: {
        middleMs: 2_400,
        failing: 0.3,
        error: { type: 'HANDLER_ERROR', message: 'The stock service closed the connection after # rows' },
        answer: '{"rows":1200}',
      },
      trigger: true,
    }),

    // Every kind of schedule, in several zones.
    job('subscriptions', 'Charge subscriptions', {
      schedule: '0 * * * *',
      execution: call('?delay_ms=300', {
        batch: 'hourly',
        priority: 2,
        retry_policy: retries(5),
        tags: ['billing'],
        metadata: { owner: 'billing', runbook: 'https://example.com/runbooks/charge' },
      }),
      past: { middleMs: 2_900, failing: 0.02, error: unavailable },
    }),
    job('invoices', 'Send invoices', {
      schedule: { type: 'CRON', cron_expression: '0 9 * * 1-5', timezone: 'Europe/Berlin' },
      execution: call('?delay_ms=200'),
      tags: ['billing', 'mail'],
      past: { middleMs: 18_000 },
    }),
    job('sales-report', 'Daily sales report', {
      schedule: { type: 'CRON', cron_expression: '0 10 * * *', timezone: 'America/New_York' },
      execution: call('?delay_ms=400', { report_type: 'daily_sales', tags: ['reporting'] }),
      past: { middleMs: 41_000, failing: 0.05, error: unavailable },
    }),
    job('weekly-digest', 'Weekly digest', {
      schedule: { type: 'CRON', cron_expression: '0 8 * * MON', timezone: 'Asia/Tokyo' },
      execution: call(),
      tags: ['mail'],
      past: { middleMs: 62_000 },
    }),
    job('month-end', 'Month-end close', {
      schedule: { type: 'CRON', cron_expression: '0 22 L * *', timezone: 'Europe/London' },
      execution: call(),
      priority: 1,
      tags: ['billing'],
      past: { middleMs: 340_000 },
    }),
    job('standup', 'Remind of the stand-up', {
      schedule: 'every weekday at 9:30 in Europe/London',
      execution: call(),
      tags: ['mail'],
      past: { middleMs: 240 },
    }),
    job('tides', 'Fetch the tide tables', {
      schedule: { type: 'CRON', cron_expression: '15 */6 * * *', timezone: 'Pacific/Auckland' },
      execution: call(),
      tags: ['data'],
      past: { middleMs: 1_700 },
    }),
    job('sessions', 'Purge expired sessions', {
      schedule: 'R/PT15M',
      execution: call('?delay_ms=150'),
      tags: ['web'],
      past: { middleMs: 410 },
    }),
    job('exchange-rates', 'Refresh exchange rates', {
      schedule: 'every 10 minutes',
      execution: call('?delay_ms=80'),
      tags: ['data', 'billing'],
      past: { middleMs: 95, failing: 0.01, error: unavailable },
    }),
    job('thumbnails', 'Make thumbnails', {
      schedule: { type: 'INTERVAL', every_seconds: 900 },
      execution: call('?delay_ms=700'),
      overlap_policy: 'BUFFER_ONE',
      tags: ['web'],
      past: { middleMs: 5_200 },
    }),
    job('geo', 'Rebuild the map of shops', {
      schedule: 'H H * * *',
      execution: call(),
      jitter_seconds: 300,
      tags: ['data'],
      past: { middleMs: 21_000 },
    }),
    job('payroll', 'Prepare the payroll', {
      schedule: {
        type: 'CRON',
        cron_expression: '0 6 * * 1-5',
        timezone: 'America/Sao_Paulo',
        exclusions: [{ calendar: calendar.name }],
      },
      execution: call(),
      tags: ['billing'],
      past: { middleMs: 33_000 },
    }),
    job('campaign', 'Launch the campaign', {
      schedule: { type: 'ONE_TIME', scheduled_time: soon },
      execution: call('', { campaign: 'winter', tags: ['mail'] }),
    }),
    job('smoke-test', 'Smoke test of the release', { schedule: { type: 'IMMEDIATE' }, execution: call() }),
    job('warm-up', 'Warm up twenty times', {
      schedule: { type: 'INTERVAL', every_seconds: 3, max_runs: 20 },
      execution: call('?delay_ms=250'),
      tags: ['web'],
    }),
    job('partner-poll', 'Poll the partner', {
      description: 'Half a minute after its last end, however long it took.',
      schedule: { type: 'INTERVAL', every_seconds: 30, after_completion: true },
      execution: call('?delay_ms=1500'),
      tags: ['data'],
    }),
  ]
}
