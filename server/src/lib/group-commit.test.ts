import assert from 'node:assert/strict'
import test from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { GroupCommit, type GroupCommitOptions } from './group-commit.ts'
import { Unavailable } from './unavailable.ts'

const options: GroupCommitOptions<string> = {
  itemsMax: 100,
  weigh: (item) => item.length,
  weightMax: 1_000,
  waitingMax: 1_000,
}

/** A group commit with writes answered by the test, one after the other. */
function setup(changes: Partial<GroupCommitOptions<string>> = {}) {
  const writes: { items: readonly string[]; end: PromiseWithResolvers<readonly string[]> }[] = []
  const group = new GroupCommit<string, string>(
    (items) => {
      const end = Promise.withResolvers<readonly string[]>()
      writes.push({ items, end })
      return end.promise
    },
    { ...options, ...changes },
  )
  /** The items of the latest write. */
  const items = () => writes.at(-1)!.items
  async function commit() {
    const { items, end } = writes.at(-1)!
    end.resolve(items.map((item) => item.toUpperCase()))
    await nextTurn()
  }
  async function fail(error: Error) {
    writes.at(-1)!.end.reject(error)
    await nextTurn()
  }
  /** Its answer, or why there is none. */
  const add = (item: string): Promise<string> => group.add(item).catch((error: Error) => error.message)
  return { group, add, writes, items, commit, fail }
}

/** How each ended; 'waits': it has not. */
async function endsOf(promises: readonly Promise<string>[]): Promise<string[]> {
  await nextTurn()
  return Promise.all(promises.map((promise) => Promise.race([promise, nextTurn('waits')])))
}

test('alone, an item goes at once, and is answered when it is written', async () => {
  const { group, items, commit } = setup()
  const one = group.add('a')
  assert.deepEqual(items(), ['a'])
  assert.deepEqual(await endsOf([one]), ['waits'])
  await commit()
  assert.equal(await one, 'A')
})

test('items that arrive during a write are written together by the next, each with its own answer', async () => {
  const { group, writes, items, commit } = setup()
  const first = group.add('a')
  const others = ['b', 'c', 'd'].map((item) => group.add(item))
  assert.equal(writes.length, 1)
  await commit()
  assert.deepEqual(items(), ['b', 'c', 'd'])
  assert.deepEqual(await endsOf([first, ...others]), ['A', 'waits', 'waits', 'waits'])
  const late = group.add('e')
  await commit()
  assert.deepEqual(items(), ['e'])
  await commit()
  assert.deepEqual(await Promise.all([...others, late]), ['B', 'C', 'D', 'E'])
  assert.equal(writes.length, 3)
})

test('after a pause it goes on at once', async () => {
  const { group, items, commit } = setup()
  for (const item of ['a', 'b', 'c']) {
    const one = group.add(item)
    assert.deepEqual(items(), [item])
    await commit()
    assert.equal(await one, item.toUpperCase())
  }
})

test('an item that is added the moment another is answered is not forgotten', async () => {
  const { group, commit } = setup()
  const both = group.add('a').then(() => group.add('b'))
  await commit()
  await commit()
  assert.equal(await both, 'B')
})

test('a write takes so many items, and so much weight, at least one', async () => {
  const { group, writes, commit } = setup({ itemsMax: 3, weightMax: 10 })
  const added = ['-', 'a', 'b', 'c', 'd', '12345', '12345', '1', 'far too heavy', 'e'].map((item) =>
    group.add(item),
  )
  while (writes.some(({ items }) => items.includes('e')) === false) await commit()
  await commit()
  await Promise.all(added)
  assert.deepEqual(
    writes.map(({ items }) => items),
    [['-'], ['a', 'b', 'c'], ['d', '12345'], ['12345', '1'], ['far too heavy'], ['e']],
  )
})

test('items beyond the waiting limit are refused, and the waiting ones are not lost', async () => {
  const { group, commit } = setup({ waitingMax: 2 })
  const first = group.add('a')
  const waiting = [group.add('b'), group.add('c')]
  await assert.rejects(group.add('d'), Unavailable)
  await commit()
  const after = group.add('e')
  await commit()
  await commit()
  assert.deepEqual(await Promise.all([first, ...waiting, after]), ['A', 'B', 'C', 'E'])
})

test('one that fails alone is told why, and the next goes on', async () => {
  const { add, fail, commit } = setup()
  const one = add('a')
  await fail(new Error('no'))
  assert.deepEqual(await endsOf([one]), ['no'])
  const next = add('b')
  await commit()
  assert.equal(await next, 'B')
})

test('when a group fails each is written alone: one is at fault, the others are written', async () => {
  const { add, items, commit, fail } = setup()
  const added = ['a', 'b', 'c', 'd'].map((item) => add(item))
  await commit()
  await fail(new Error('one of them'))
  assert.deepEqual(items(), ['b'])
  await commit()
  assert.deepEqual(items(), ['c'])
  await fail(new Error('c it is'))
  assert.deepEqual(items(), ['d'])
  const later = add('e')
  await commit()
  await commit()
  assert.deepEqual(await endsOf([...added, later]), ['A', 'B', 'c it is', 'D', 'E'])
})

test('when the database is away, a group is not written again: it may have been taken', async () => {
  const { add, writes, commit, fail } = setup()
  const added = ['a', 'b', 'c'].map((item) => add(item))
  await commit()
  await fail(new Unavailable('the database'))
  assert.equal(writes.length, 2)
  const away = 'the database does not answer'
  assert.deepEqual(await endsOf(added), ['A', away, away])
  const next = add('d')
  await commit()
  assert.equal(await next, 'D')
})

test('when the database goes away while a group is written one by one, the rest is refused at once', async () => {
  const { add, writes, commit, fail } = setup()
  const added = ['a', 'b', 'c', 'd', 'e'].map((item) => add(item))
  await commit()
  await fail(new Error('one of them'))
  await fail(new Unavailable('the database'))
  // Each would wait for a connection for seconds, and everybody behind them too.
  const away = 'the database does not answer'
  assert.deepEqual(await endsOf(added), ['A', away, away, away, away])
  assert.equal(writes.length, 3)
})

test('a write that throws at once is one that failed', async () => {
  const group = new GroupCommit<string, string>(() => {
    throw new Error('at once')
  }, options)
  await assert.rejects(group.add('a'), /at once/)
  await assert.rejects(group.add('b'), /at once/)
})

test('an item that cannot be weighed is refused alone', async () => {
  const { group, commit } = setup({
    weigh(item) {
      if (item === 'bad') throw new TypeError('how much?')
      return 1
    },
  })
  await assert.rejects(async () => group.add('bad'), TypeError)
  const next = group.add('a')
  await commit()
  assert.equal(await next, 'A')
})
