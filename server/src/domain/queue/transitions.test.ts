// The page of states is rendered from the tables: UPDATE_DOCS=1 writes it.
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import test from 'node:test'
import { JOB_STATUSES, RUN_STATUSES } from '@carillon/contract/constants.ts'
import { findPath, stateOfOutcome } from '../../../test/differential/states.ts'
import type { TransitionTable } from '../../lib/transition-table.ts'
import { runTransitions } from '../graphs/transitions.ts'
import { jobTransitions } from '../jobs/transitions.ts'
import { LIVE_STATES, OUTCOMES } from './execution.ts'
import { executionTransitions } from './transitions.ts'

const page = new URL('../../../../docs/internals/states.md', import.meta.url)

const machines: { title: string; text: string; table: TransitionTable; states: readonly string[] }[] = [
  {
    title: 'An execution',
    text: `Stored as a position in a batch, then as a row of \`live\`, then as the final row of \`attempts\`; never the other way
round. From \`server/src/domain/queue/transitions.ts\`.`,
    table: executionTransitions,
    states: [...LIVE_STATES, 'cancelling', ...new Set(OUTCOMES.map(stateOfOutcome))],
  },
  {
    title: 'A job',
    text: 'Stored in `cursors.status`. From `server/src/domain/jobs/transitions.ts`.',
    table: jobTransitions,
    states: JOB_STATUSES,
  },
  {
    title: 'A graph run',
    text: 'Stored in `graph_runs.status`. From `server/src/domain/graphs/transitions.ts`.',
    table: runTransitions,
    states: RUN_STATUSES,
  },
]

function rowsBy<Key extends string>(
  { transitions }: TransitionTable,
  keyOf: (one: TransitionTable['transitions'][number]) => Key,
): Map<Key, TransitionTable['transitions'][number][]> {
  return Map.groupBy(transitions, keyOf)
}

function diagramOf(table: TransitionTable): string[] {
  const arrows = [...rowsBy(table, ({ from, to }) => `${from ?? '[*]'} --> ${to}`)]
  const ends = Object.keys(table.states).filter(
    (state) => !table.transitions.some(({ from }) => from === state),
  )
  return [
    ...['```mermaid', 'stateDiagram-v2'],
    ...arrows.map(([arrow, rows]) => `  ${arrow} : ${rows.map(({ event }) => event).join(', ')}`),
    ...ends.map((state) => `  ${state} --> [*]`),
    '```',
  ]
}

function render(): string {
  const lines = [
    '# States',
    '',
    'Rendered from the transition tables by `transitions.test.ts` (`UPDATE_DOCS=1` writes it). The lockstep test in',
    '`server/test/differential` fails on every observed move that is not in these tables.',
  ]
  for (const { title, text, table } of machines) {
    const moves = [...rowsBy(table, ({ from, event }) => `${from ?? ''} ${event}`).values()]
    lines.push('', `## ${title}`, '', text, '', ...diagramOf(table))
    lines.push('', '| State | Meaning |', '|---|---|')
    for (const [state, meaning] of Object.entries(table.states)) lines.push(`| \`${state}\` | ${meaning} |`)
    lines.push('', '| From | Event | To |', '|---|---|---|')
    for (const rows of moves) {
      const { from, event } = rows[0]!
      const to = rows.map((row) => `\`${row.to}\``).join(' or ')
      lines.push(`| ${from === null ? '(new)' : `\`${from}\``} | ${event} | ${to} |`)
    }
    lines.push('', '| Event | Caused by | Store calls | Guard |', '|---|---|---|---|')
    for (const [event, { by, calls, guard }] of Object.entries(table.events))
      lines.push(`| ${event} | ${by} | ${calls.map((call) => `\`${call}\``).join(', ')} | ${guard} |`)
  }
  return `${lines.join('\n')}\n`
}

test('docs/internals/states.md is rendered from the transition tables', async () => {
  const rendered = render()
  if (process.env['UPDATE_DOCS'] !== undefined) await writeFile(page, rendered)
  assert.equal(await readFile(page, 'utf8'), rendered)
})

for (const { title, table, states } of machines) {
  test(`${title.toLowerCase()} has a row for every state, and can reach each`, () => {
    assert.deepEqual(Object.keys(table.states), [...states])
    const calls = new Set(Object.values(table.events).flatMap((event) => event.calls))
    for (const to of states)
      assert.notEqual(findPath(table, { from: null, to, calls }), null, `${to} cannot be reached`)
  })

  test(`${title.toLowerCase()} has a transition for every event, and no transition twice`, () => {
    const events = new Set(table.transitions.map(({ event }) => event))
    assert.deepEqual([...events].toSorted(), Object.keys(table.events).toSorted())
    const names = table.transitions.map(({ from, event, to }) => `${from} ${event} ${to}`)
    assert.equal(new Set(names).size, names.length)
  })
}

test('an execution that has ended never moves again', () => {
  const ends = OUTCOMES.map(stateOfOutcome)
  assert.deepEqual(
    executionTransitions.transitions.filter(({ from }) => from !== null && ends.includes(from)),
    [],
  )
})

test('a path takes only events that the calls may carry out', () => {
  const finish = new Set(['queue.finishLive'])
  const names = findPath(executionTransitions, { from: 'running', to: 'retrying', calls: finish })
  assert.deepEqual(names, [{ from: 'running', event: 'fail', to: 'retrying' }])
  assert.equal(findPath(executionTransitions, { from: 'retrying', to: 'ready', calls: finish }), null)
  const fired = new Set(['slots.fireAndClaim'])
  const claimed = findPath(executionTransitions, { from: null, to: 'running', calls: fired })
  assert.deepEqual(
    claimed?.map(({ event }) => event),
    ['fire', 'claim'],
  )
})
