// `carillon top`: the present activity, redrawn in place every second. Leaves the terminal as it was.
import type { Connection } from './connection.ts'
import type { Context } from './context.ts'
import { CliError, EXIT } from './exit-code.ts'
import { clearBelow, clearRest, enterScreen, hideCursor, home, leaveScreen, showCursor } from './screen.ts'
import { readFailures, readTop } from './top-source.ts'
import { createTopState, rateOf, type TopState, take } from './top-state.ts'
import { writeTop } from './top-text.ts'
import { wait } from './wait.ts'

const drawMs = 500
const slowMs = 5_000
const columnsMin = 40
const rowsMin = 10

export async function runTop(context: Context): Promise<number> {
  const { io, out, signal } = context
  const connection = await context.connect()
  // Asked at once, so that a wrong key or address is said before the screen is taken.
  await connection.client.jobs.list({ limit: 1 }, { signal }).page()
  const state = createTopState()
  if (out.json) return printLines(state, connection, context)
  if (io.stdout.isTTY !== true)
    throw new CliError(EXIT.usage, 'top needs a terminal; --json prints a line each second.')
  const end = new AbortController()
  const ending = AbortSignal.any([signal, end.signal])
  const keys = { paused: false }
  const onKey = (chunk: Uint8Array | string) => {
    const key = String(chunk)
    if (key === 'q' || key === 'Q') end.abort('quit')
    if (key === '\u0003') end.abort('interrupted')
    if (key === 'p') keys.paused = !keys.paused
  }
  io.stdin.setRawMode?.(true)
  io.stdin.on?.('data', onKey)
  io.stdin.resume?.()
  out.write(enterScreen + hideCursor)
  try {
    await Promise.all([
      follow(state, connection, ending),
      askSlowly(state, connection, ending),
      draw(state, keys, connection, context, ending),
    ])
  } catch (error) {
    if (!ending.aborted) throw error
  } finally {
    end.abort('over')
    out.write(showCursor + leaveScreen)
    io.stdin.off?.('data', onKey)
    io.stdin.setRawMode?.(false)
    io.stdin.pause?.()
  }
  return end.signal.reason === 'quit' ? EXIT.ok : EXIT.interrupted
}

async function follow(state: TopState, connection: Connection, signal: AbortSignal): Promise<void> {
  for await (const event of readTop(connection, signal)) take(state, event)
}

/** Polls the figures that no event carries. A key may lack the right to some of them. */
async function askSlowly(state: TopState, connection: Connection, signal: AbortSignal): Promise<void> {
  const { client } = connection
  for (;;) {
    const [failures, workers, letters] = await Promise.all([
      readFailures(connection, signal).catch(() => state.failures),
      client.workers.list({ limit: 1 }, { signal }).catch(() => null),
      client.deadLetters
        .list({ limit: 1 }, { signal })
        .page()
        .catch(() => null),
    ])
    state.failures = failures
    if (workers !== null) {
      const { active, draining, running, capacity } = workers.counts
      state.workers = { count: active + draining, load: running, capacity }
    }
    if (letters !== null) {
      const { total: count, total_capped: capped } = letters.pagination
      state.deadLetters = { count, capped }
    }
    await wait(slowMs, signal)
  }
}

async function draw(
  state: TopState,
  keys: { paused: boolean },
  { url }: Connection,
  { io, out }: Context,
  signal: AbortSignal,
): Promise<void> {
  let wasPaused = false
  for (;;) {
    const width = Math.max(columnsMin, io.stdout.columns ?? 80)
    const height = Math.max(rowsMin, io.stdout.rows ?? 24)
    const look = { width, height, paint: out.paint, nowMs: Date.now(), url, paused: keys.paused }
    // Once more when it is paused, so that it says so.
    if (!keys.paused || !wasPaused) {
      const lines = writeTop(state, look).map((line) => line + clearRest)
      out.write(home + lines.join('\r\n') + clearBelow)
    }
    wasPaused = keys.paused
    await wait(drawMs, signal)
  }
}

/** For programs: a line for each second. */
async function printLines(
  state: TopState,
  connection: Connection,
  { out, signal }: Context,
): Promise<number> {
  for await (const event of readTop(connection, signal)) {
    take(state, event)
    if (event.kind !== 'pulse') continue
    const { atMs, running, waiting } = event.pulse
    const line = {
      as_of: new Date(atMs).toISOString(),
      running,
      waiting,
      started_per_second: rateOf(state, 'started', 1),
      succeeded_per_second: rateOf(state, 'succeeded', 1),
      failed_per_second: rateOf(state, 'failed', 1),
    }
    out.write(`${JSON.stringify(line)}\n`)
  }
  return EXIT.ok
}
