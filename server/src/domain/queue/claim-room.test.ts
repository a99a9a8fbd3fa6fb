import assert from 'node:assert/strict'
import test from 'node:test'
import { fitToRoom } from './claim-room.ts'

const lanes = [
  { lane: 'shared', count: 25 },
  { lane: 'a', count: 25 },
]

test('a claim that fits is not changed', () => {
  const order = { lanes, hosts: [{ host: 'h', count: 1 }] }
  assert.deepEqual(fitToRoom(order, 51), order)
})

test('lanes share the room that is left evenly, and the first one gets the odd execution', () => {
  assert.deepEqual(fitToRoom({ lanes, hosts: [] }, 5).lanes, [
    { lane: 'shared', count: 3 },
    { lane: 'a', count: 2 },
  ])
  assert.deepEqual(fitToRoom({ lanes, hosts: [] }, 1).lanes, [{ lane: 'shared', count: 1 }])
})

test('hosts come before lanes, and nothing is claimed beyond the room', () => {
  const hosts = [
    { host: 'h', count: 2 },
    { host: 'i', count: 2 },
  ]
  assert.deepEqual(fitToRoom({ lanes, hosts }, 3), {
    lanes: [],
    hosts: [
      { host: 'h', count: 2 },
      { host: 'i', count: 1 },
    ],
  })
})

test('the sum never exceeds the room, for any number of lanes', () => {
  for (let room = 1; room < 12; room++) {
    for (const counts of [[1], [1, 9], [9, 1], [3, 3, 3], [1, 1, 9, 2]]) {
      const fitted = fitToRoom(
        { lanes: counts.map((count, at) => ({ lane: `${at}`, count })), hosts: [] },
        room,
      )
      const sum = fitted.lanes.reduce((all, { count }) => all + count, 0)
      assert(sum <= room && sum > 0, `${sum} of ${room}`)
    }
  }
})
