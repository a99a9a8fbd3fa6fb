// The table of commands. Help, completion, "did you mean" and the list in docs/cli.md come from it.
import {
  DEAD_REASONS,
  ERROR_TYPES,
  EXECUTION_KINDS,
  EXECUTION_STATUSES,
  JOB_STATUSES,
} from '@carillon/contract/constants.ts'
import type { ArgumentSpec, Command, OptionSpec, OptionSpecs } from './command.ts'
import { SHELLS } from './completion.ts'
import { jobFlags } from './job-flags.ts'

type More = Partial<OptionSpec>

function flag(about: string, more: More = {}): OptionSpec {
  return { kind: 'flag', about, ...more }
}

/** An option with a value of this kind. */
const valued =
  (kind: OptionSpec['kind']) =>
  (value: string, about: string, more: More = {}): OptionSpec => ({ kind, value, about, ...more })

const text = valued('text')
const number = valued('number')
const list = valued('list')

const yes: OptionSpecs = { yes: flag('do not ask', { short: 'y' }) }
const dryRun: OptionSpecs = { 'dry-run': flag('say what would be done, and do nothing') }
const noWait: OptionSpecs = { 'no-wait': flag('do not wait for the end of a bulk operation') }
const paging: OptionSpecs = {
  limit: number('N', 'at most so many (50)', { short: 'n' }),
  cursor: text('CURSOR', 'go on where a list ended'),
}
const file: OptionSpecs = {
  file: text('FILE', 'YAML or JSON; - for stdin', { short: 'f', completes: 'file' }),
}
const job: ArgumentSpec = { name: 'JOB', about: 'its id, its key or its exact name', completes: 'job' }
const jobs: ArgumentSpec = { ...job, many: true, optional: true }
const execution: ArgumentSpec = { name: 'EXECUTION', about: 'its id' }
const bulk: OptionSpecs = {
  filter: list('NAME=VALUE', 'all that match: tag, status, search'),
  all: flag('all that are not deleted'),
  ...yes,
  ...dryRun,
  ...noWait,
}
const wait: OptionSpecs = {
  wait: flag('wait for the end; exit code 9 unless it succeeded', { short: 'w' }),
}
const payload = { payload: jobFlags.payload }
const since: OptionSpecs = {
  since: text('WHEN', 'from then on: 2h, 7d, a day or an instant'),
}

export const commands: readonly Command[] = [
  {
    path: ['start'],
    about: 'start the server and stay in the foreground: API, scheduler, worker, and an embedded PostgreSQL',
    options: {
      handlers: text('FILE', 'run the jobs that this file exports (made by defineJob of @carillon/sdk)', {
        completes: 'file',
      }),
      demo: flag('fill an empty installation with jobs and 30 days of history to look at, once'),
      'demo-jobs': number('N', 'for measuring: a demo of so many jobs'),
      'demo-attempts': number('N', 'for measuring: and about so many attempts'),
    },
    notes: `Handlers run in a process of their own; those with a schedule are put into the API.

Settings are environment variables, all in docs/config.md; the common ones:
  CARILLON_PORT              port of the API (7420)
  CARILLON_DATA              directory of the embedded PostgreSQL and the API key
  CARILLON_DATABASE_URL      an external PostgreSQL 15 to 18 instead
Ctrl-C or SIGTERM stops everything, PostgreSQL included. Same as npm start.`,
    local: true,
    load: async () => (await import('./start.ts')).start,
  },
  {
    path: ['status'],
    about: 'whether a server is ready, and who works',
    options: {},
    notes: 'Exit code 0: ready; 8: not ready; 7: nobody answers. Without a key it shows no workers.',
    shows: true,
    load: async () => (await import('./status.ts')).showStatus,
  },
  {
    path: ['jobs', 'list'],
    about: 'list jobs, newest first',
    options: {
      status: text('STATUS', 'active, paused, completed or deleted', { choices: JOB_STATUSES }),
      tag: text('TAG', 'that have this tag'),
      search: text('TEXT', 'part of the name, the key or a tag', { short: 'q' }),
      ...paging,
    },
    examples: ['carillon jobs list --tag reporting --wide', 'carillon jobs list --status paused --json'],
    shows: true,
    load: async () => (await import('./jobs-show.ts')).listJobs,
  },
  {
    path: ['jobs', 'get'],
    about: 'show a job: when it runs, what it calls, how it went, why it does not run now',
    arguments: [job],
    options: {},
    shows: true,
    load: async () => (await import('./jobs-show.ts')).getJob,
  },
  {
    path: ['jobs', 'create'],
    about: 'create a job',
    options: { ...file, ...jobFlags, ...dryRun, ...wait },
    examples: [
      'carillon jobs create --name "Nightly report" --schedule "every day at 2:00" --zone Europe/Berlin --callback-url https://example.com/report',
      'carillon jobs create --name index --schedule "0 3 * * *" --handler rebuild-index --payload \'{"full":true}\' --retries 5',
      'carillon jobs create --name hello --schedule now --callback-url http://127.0.0.1:7420/echo --wait',
      'carillon jobs create -f job.yaml',
    ],
    load: async () => (await import('./jobs-write.ts')).createJob,
  },
  {
    path: ['jobs', 'edit'],
    about: 'change a job: by options, from a file, or in $EDITOR',
    arguments: [job],
    options: { ...file, ...jobFlags, ...dryRun },
    notes: 'Without options it opens the job in $VISUAL or $EDITOR. What is not named stays.',
    examples: ['carillon jobs edit nightly-report --schedule "0 3 * * *" --priority 3'],
    load: async () => (await import('./jobs-write.ts')).editJob,
  },
  {
    path: ['jobs', 'pause'],
    about: 'pause jobs: none of their slots fires',
    arguments: [jobs],
    options: {
      reason: text('TEXT', 'a note for later readers'),
      until: text('WHEN', 'resume then: 2h, 7d or an instant'),
      ...bulk,
    },
    examples: ['carillon jobs pause nightly-report --until 2h', 'carillon jobs pause --filter tag=reporting'],
    load: async () => (await import('./jobs-act.ts')).actOnJobs('pause'),
  },
  {
    path: ['jobs', 'resume'],
    about: 'resume paused jobs',
    arguments: [jobs],
    options: bulk,
    load: async () => (await import('./jobs-act.ts')).actOnJobs('resume'),
  },
  {
    path: ['jobs', 'delete'],
    about: 'delete jobs; their history stays',
    arguments: [jobs],
    options: { 'cancel-running': flag('cancel what runs, too'), ...bulk },
    load: async () => (await import('./jobs-act.ts')).actOnJobs('delete'),
  },
  {
    path: ['jobs', 'trigger'],
    about: 'run jobs now',
    arguments: [jobs],
    options: {
      ...payload,
      count: number('N', 'so many times, at most 1,000'),
      ...wait,
      ...bulk,
    },
    examples: ['carillon jobs trigger nightly-report --payload \'{"date":"2026-01-31"}\' --wait'],
    load: async () => (await import('./jobs-act.ts')).actOnJobs('trigger'),
  },
  {
    path: ['executions', 'list'],
    about: 'list what ran and what runs, newest first',
    options: {
      job: text('JOB', 'of this job', { completes: 'job' }),
      status: text('STATUS', 'such as running, failed, succeeded; skipped needs --job', {
        choices: EXECUTION_STATUSES,
      }),
      kind: text('KIND', EXECUTION_KINDS.join(', '), { choices: EXECUTION_KINDS }),
      error: text('TYPE', 'such as timeout or http_error', { choices: ERROR_TYPES }),
      dead: flag('only dead letters'),
      tag: text('TAG', 'of jobs that have this tag'),
      search: text('TEXT', 'part of the job or of the error message', { short: 'q' }),
      ...since,
      until: text('WHEN', 'up to then'),
      ...paging,
    },
    examples: [
      'carillon executions list --status failed --since 2h',
      'carillon executions list --job import --watch',
    ],
    shows: true,
    load: async () => (await import('./executions-show.ts')).listExecutions,
  },
  {
    path: ['executions', 'get'],
    about: 'show an execution with its attempts',
    arguments: [execution],
    options: {},
    shows: true,
    load: async () => (await import('./executions-show.ts')).getExecution,
  },
  {
    path: ['executions', 'logs'],
    about: 'the log of the attempts of an execution',
    arguments: [execution],
    options: {
      follow: flag('wait for what is still to come, until its end', { short: 'f' }),
      attempt: number('N', 'of this attempt only'),
    },
    load: async () => (await import('./executions-act.ts')).showLogs,
  },
  {
    path: ['executions', 'cancel'],
    about: 'cancel executions that wait or run',
    arguments: [{ ...execution, many: true, optional: true }],
    options: {
      filter: list('NAME=VALUE', 'all that match: job, status, kind, error, tag, search'),
      ...yes,
      ...dryRun,
      ...noWait,
    },
    load: async () => (await import('./executions-act.ts')).cancelExecutions,
  },
  {
    path: ['executions', 'retry'],
    about: 'run executions again that have ended',
    arguments: [{ ...execution, many: true }],
    options: { ...payload, ...wait, ...dryRun },
    load: async () => (await import('./executions-act.ts')).retryExecutions,
  },
  {
    path: ['dead-letters', 'list'],
    about: 'list executions that failed for good and wait for a person',
    options: {
      job: text('JOB', 'of this job', { completes: 'job' }),
      error: text('TYPE', 'whose last error is this', { choices: ERROR_TYPES }),
      reason: text('REASON', 'such as max_retries_exceeded', { choices: DEAD_REASONS }),
      ...since,
      ...paging,
    },
    shows: true,
    load: async () => (await import('./dead-letters.ts')).listDeadLetters,
  },
  {
    path: ['dead-letters', 'redrive'],
    about: 'run dead letters again',
    arguments: [{ ...execution, many: true, optional: true }],
    options: {
      filter: list('NAME=VALUE', 'all that match: job, error, reason, since, until'),
      all: flag('all of them'),
      rate: number('N', 'so many a second, with a filter (50)'),
      ...yes,
      ...dryRun,
      ...noWait,
    },
    examples: ['carillon dead-letters redrive --filter job=import --filter error=http_error --rate 10'],
    load: async () => (await import('./dead-letters.ts')).redriveDeadLetters,
  },
  {
    path: ['operations', 'list'],
    about: 'list long work that somebody asked for by a filter',
    options: paging,
    shows: true,
    load: async () => (await import('./operations.ts')).listOperations,
  },
  {
    path: ['operations', 'get'],
    about: 'show how far an operation is',
    arguments: [{ name: 'OPERATION', about: 'its id' }],
    options: {},
    shows: true,
    load: async () => (await import('./operations.ts')).getOperation,
  },
  {
    path: ['operations', 'cancel'],
    about: 'end an operation; what is done stays done',
    arguments: [{ name: 'OPERATION', about: 'its id' }],
    options: {},
    load: async () => (await import('./operations.ts')).cancelOperation,
  },
  {
    path: ['next'],
    about: 'when a schedule would run: cron, ISO 8601, or English in quotes; asks no server',
    arguments: [{ name: 'EXPR', about: 'such as "every weekday at 9:00 in London"', optional: true }],
    options: {
      zone: jobFlags.zone,
      from: text('INSTANT', 'slots after this instant (now)'),
      count: text('N', 'how many, 1 to 100 (10)', { short: 'n' }),
      stdin: { kind: 'flag', about: 'answer JSON lines {"expr","tz","from","count","dst_gap"?,"dst_fold"?}' },
    },
    local: true,
    load: async () => (await import('./next.ts')).runNext,
  },
  {
    path: ['apply'],
    about: 'make the jobs of files so: shows the plan, asks, does it',
    options: {
      file: text('PATH', 'YAML or JSON, one file or a folder; - for stdin', {
        short: 'f',
        completes: 'file',
      }),
      prune: flag('delete jobs that the files do not name; needs --tag or --prefix'),
      tag: text('TAG', 'with --prune: only jobs with this tag'),
      prefix: text('PREFIX', 'with --prune: only jobs whose key begins so'),
      ...yes,
      ...dryRun,
    },
    notes:
      'A job is known by its key; jobs that run after others name them by key. docs/cli.md has the form.',
    examples: ['carillon apply -f jobs/ --dry-run', 'carillon apply -f jobs.yaml --prune --tag team-a --yes'],
    load: async () => (await import('./apply.ts')).applyFiles,
  },
  {
    path: ['export'],
    about: 'write jobs as a file that apply takes',
    arguments: [jobs],
    options: {
      tag: text('TAG', 'that have this tag'),
      search: text('TEXT', 'part of the name, the key or a tag', { short: 'q' }),
    },
    notes: 'YAML, or JSON with --json. Without names: all that are active or paused and have a key.',
    examples: ['carillon export > jobs.yaml'],
    load: async () => (await import('./export.ts')).exportJobs,
  },
  {
    path: ['top'],
    about: 'watch what happens: throughput, what runs, what fails, what waits',
    options: {},
    notes: 'q quits, p pauses. With --json a line for each second.',
    load: async () => (await import('./top.ts')).runTop,
  },
  {
    path: ['doctor'],
    about: 'look for what commonly goes wrong, and say what to do',
    options: {},
    notes: 'Exit code 9 when something is wrong.',
    load: async () => (await import('./doctor.ts')).runDoctor,
  },
  {
    path: ['completion'],
    about: 'print the completion script of a shell',
    arguments: [{ name: 'SHELL', about: SHELLS.join(', '), choices: SHELLS }],
    options: {},
    examples: ['source <(carillon completion bash)'],
    local: true,
    load: async () => (await import('./completion.ts')).printCompletion,
  },
  {
    path: ['__complete'],
    about: 'what may come next, for the completion scripts',
    arguments: [{ name: 'WORD', about: 'the words typed so far', many: true, optional: true }],
    options: {},
    hidden: true,
    load: async () => {
      const { complete } = await import('./completion.ts')
      return (context) => complete(context, commands)
    },
  },
]
