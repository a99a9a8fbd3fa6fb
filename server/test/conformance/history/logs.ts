// Conformance: the logs of attempts, in order, each line once, and no more of an attempt than is kept.
import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { type LogLine, logBytesMax, logLineBytes, logLineLengthMax } from '../../../src/domain/history/log.ts'
import { defaultTenantId } from '../../../src/domain/tenants/tenant.ts'
import { UuidV7 } from '../../../src/lib/id.ts'
import { realRandom } from '../../../src/lib/random.ts'
import { epochMs } from '../../../src/lib/time/epoch.ts'
import { dayMs } from '../../../src/lib/time/units.ts'
import type { LogEntry, LogPart, LogQuery } from '../../../src/ports/logs.ts'
import type { StoreScenario } from '../stores.ts'

type Setup = (t: TestContext) => Promise<StoreScenario>

async function open(setup: Setup, t: TestContext) {
  const s = await setup(t)
  const executionId = s.ids.next()
  const lineOf = (message: string): LogLine => ({ at: s.at(300), level: 'info', message })
  const append = (firstLine: number, messages: readonly string[], changes: Partial<LogPart> = {}) => {
    const place = { tenantId: defaultTenantId, executionId, attempt: 1, firstLine }
    return s.logs.append([{ ...place, lines: messages.map(lineOf), ...changes }])
  }
  const readPage = (changes: Partial<LogQuery> = {}) => {
    const all = { tenantId: defaultTenantId, executionId, attempt: null, after: null, limit: 10_000 }
    return s.logs.read({ ...all, ...changes })
  }
  const read = async (changes: Partial<LogQuery> = {}) => (await readPage(changes)).lines
  /** All pages, each with its lines as places. */
  const readPages = async (changes: Partial<LogQuery>) => {
    const pages: string[][] = []
    for (let { after, more } = { after: changes.after ?? null, more: true }; more; ) {
      const page = await readPage({ ...changes, after })
      pages.push(page.lines.map(({ attempt, line }) => `${attempt}.${line}`))
      after = page.lines.at(-1) ?? after
      more = page.more
    }
    return pages
  }
  return { s, executionId, append, read, readPage, readPages, lineOf }
}

const placesOf = (entries: readonly LogEntry[]) =>
  entries.map(({ attempt, line, message }) => `${attempt}.${line} ${message}`)

export function testLogs(name: string, setup: Setup): void {
  testOrder(name, setup)
  testPages(name, setup)
  testBounds(name, setup)
  testPrune(name, setup)
}

function testOrder(name: string, setup: Setup): void {
  test(`${name}: a line is read as it was said`, async (t) => {
    const { s, append, read } = await open(setup, t)
    const line = { at: s.at(12), level: 'error', message: 'no "ä" 😀\n\\ line' } as const
    await append(3, [], { lines: [line], attempt: 2 })
    assert.deepEqual(await read(), [{ ...line, attempt: 2, line: 3 }])
  })

  test(`${name}: lines are read in the order of attempts and numbers, however they came`, async (t) => {
    const { append, read } = await open(setup, t)
    await append(0, ['second'], { attempt: 2 })
    await append(10, ['k', 'l'])
    await append(0, ['a', 'b'])
    await append(2, ['c'])
    assert.deepEqual(placesOf(await read()), ['1.0 a', '1.1 b', '1.2 c', '1.10 k', '1.11 l', '2.0 second'])
    assert.deepEqual(placesOf(await read({ attempt: 2 })), ['2.0 second'])
    assert.deepEqual(await read({ attempt: 3 }), [])
  })

  test(`${name}: reading goes on where it ended, and the last page says that it is the last`, async (t) => {
    const { append, read, readPages } = await open(setup, t)
    assert.deepEqual(await readPages({ limit: 3 }), [[]])
    await append(0, ['a', 'b', 'c', 'd'])
    await append(0, ['x', 'y'], { attempt: 2 })
    const all = ['1.0', '1.1', '1.2', '1.3', '2.0', '2.1']
    assert.deepEqual(await readPages({ limit: 6 }), [all])
    assert.deepEqual(await readPages({ limit: 5 }), [all.slice(0, 5), all.slice(5)])
    assert.deepEqual(await readPages({ limit: 4 }), [all.slice(0, 4), all.slice(4)])
    assert.deepEqual(await readPages({ limit: 3 }), [all.slice(0, 3), all.slice(3)])
    assert.deepEqual(await readPages({ limit: 4, attempt: 1 }), [all.slice(0, 4)])
    const behind = await read({ attempt: 1, after: { attempt: 1, line: 2 } })
    assert.deepEqual(placesOf(behind), ['1.3 d'])
  })

  test(`${name}: lines that are there are not written again`, async (t) => {
    const { append, read } = await open(setup, t)
    await append(0, ['a', 'b'])
    await append(0, ['a', 'b'])
    await append(0, ['other'])
    await append(1, ['other', 'c'])
    assert.deepEqual(placesOf(await read()), ['1.0 a', '1.1 b', '1.2 c'])
  })

  test(`${name}: many parts are written at once, each to its own log`, async (t) => {
    const { s, executionId, lineOf, read } = await open(setup, t)
    const other = s.ids.next()
    const place = { tenantId: defaultTenantId, attempt: 1 }
    await s.logs.append([
      { ...place, executionId, firstLine: 0, lines: [lineOf('a')] },
      { ...place, executionId: other, firstLine: 0, lines: [lineOf('x')] },
      { ...place, executionId, firstLine: 1, lines: [lineOf('b')] },
    ])
    await s.logs.append([])
    assert.deepEqual(placesOf(await read()), ['1.0 a', '1.1 b'])
    assert.deepEqual(placesOf(await read({ executionId: other })), ['1.0 x'])
  })

  test(`${name}: a tenant reads only its own`, async (t) => {
    const { s, append, read } = await open(setup, t)
    const tenantId = await s.addTenant(1)
    const theirs = s.ids.next()
    await append(0, ['ours'])
    await append(0, ['theirs'], { tenantId, executionId: theirs })
    assert.deepEqual(await read({ tenantId }), [])
    assert.deepEqual(await read({ executionId: theirs }), [])
    assert.deepEqual(placesOf(await read({ tenantId, executionId: theirs })), ['1.0 theirs'])
  })
}

function testPages(name: string, setup: Setup): void {
  const long = 'x'.repeat(4_000)

  test(`${name}: a page of lines ends early at its bytes, and the next goes on there`, async (t) => {
    const { append, readPages } = await open(setup, t)
    // Sent at once, one by one, and by a second attempt.
    await append(0, [long, long, long, 'short', long])
    for (const line of [5, 6, 7]) await append(line, [long])
    await append(0, ['short', 'x'.repeat(8_000), 'short'], { attempt: 2 })
    const pages = [
      ['1.0', '1.1'],
      ['1.2', '1.3', '1.4'],
      ['1.5', '1.6'],
      ['1.7', '2.0'],
      ['2.1', '2.2'],
    ]
    assert.deepEqual(await readPages({ bytesMax: 9_000 }), pages)
    // A line that is larger than a page comes alone.
    assert.deepEqual(
      await readPages({ bytesMax: 1 }),
      pages.flat().map((place) => [place]),
    )
    assert.deepEqual(await readPages({ bytesMax: 100_000 }), [pages.flat()])
  })

  test(`${name}: a page of lines counts escapes in full, and has 2 MiB by default`, async (t) => {
    const { append, readPages } = await open(setup, t)
    const escaped = new Array<string>(31).fill('\u0001'.repeat(8_192))
    await append(0, escaped)
    await append(0, escaped, { attempt: 2 })
    const counts = (await readPages({})).map((page) => page.length)
    assert.deepEqual(counts, [42, 20])
  })
}

function testBounds(name: string, setup: Setup): void {
  const lineBytes = 1_024
  const full = 'x'.repeat(lineBytes - logLineBytes)
  const fitting = logBytesMax / lineBytes
  const linesOf = (count: number) => new Array<string>(count).fill(full)

  test(`${name}: a log is kept to the last byte that it may have`, async (t) => {
    const { append, read } = await open(setup, t)
    await append(0, linesOf(fitting))
    const kept = await read()
    assert.equal(kept.length, fitting)
    assert.equal(kept.at(-1)!.message, full)
  })

  test(`${name}: of a log that is too long the first part is kept, and a last line says so`, async (t) => {
    const { append, read } = await open(setup, t)
    await append(0, linesOf(fitting - 10))
    await append(fitting - 10, linesOf(20))
    const kept = await read()
    assert.equal(kept.length, fitting + 1)
    assert.deepEqual([kept[fitting - 1]!.message, kept[fitting]!.line], [full, fitting])
    assert.match(kept[fitting]!.message, /cut/)
    // Once it is cut nothing is added any more, said again or not.
    await append(fitting - 10, linesOf(20))
    await append(fitting + 10, ['more'])
    assert.deepEqual(await read(), kept)
  })

  test(`${name}: one that is cut does not cut another attempt's`, async (t) => {
    const { append, read } = await open(setup, t)
    await append(0, linesOf(fitting + 1))
    await append(0, ['again'], { attempt: 2 })
    assert.deepEqual(placesOf(await read({ attempt: 2 })), ['2.0 again'])
  })

  test(`${name}: empty lines and letters of several bytes count too`, async (t) => {
    const { append, read } = await open(setup, t)
    await append(0, new Array<string>(logBytesMax / logLineBytes + 1).fill(''))
    assert.equal((await read()).length, logBytesMax / logLineBytes + 1)
    assert.match((await read()).at(-1)!.message, /cut/)
    await append(0, new Array<string>(40).fill('ä'.repeat(logLineLengthMax)), { attempt: 2 })
    assert.equal(
      (await read({ attempt: 2 })).length,
      Math.floor(logBytesMax / (2 * logLineLengthMax + logLineBytes)) + 1,
    )
  })

  test(`${name}: a line that is too long is cut`, async (t) => {
    const { append, read } = await open(setup, t)
    await append(0, ['y'.repeat(logLineLengthMax + 5)])
    assert.equal((await read())[0]!.message, 'y'.repeat(logLineLengthMax))
  })
}

function testPrune(name: string, setup: Setup): void {
  test(`${name}: logs of executions that no history reaches any more are deleted, a bounded number at once`, async (t) => {
    const { s, append, read } = await open(setup, t)
    const now = await s.now()
    const madeDaysAgo = (days: number) => new UuidV7(() => epochMs(now - days * dayMs), realRandom).next()
    const old = [madeDaysAgo(31), madeDaysAgo(32), madeDaysAgo(33)]
    const young = madeDaysAgo(29)
    await append(0, ['now'])
    for (const one of [...old, young]) await append(0, ['hello'], { executionId: one })
    assert.deepEqual(
      [await s.logs.prune(30, 2), await s.logs.prune(30, 2), await s.logs.prune(30, 2)],
      [2, 1, 0],
    )
    for (const one of old) assert.deepEqual(await read({ executionId: one }), [])
    assert.deepEqual([(await read()).length, (await read({ executionId: young })).length], [1, 1])
  })
}
