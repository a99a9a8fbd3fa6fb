import assert from 'node:assert/strict'
import test from 'node:test'
import { ClaimReservations } from './claim-reservations.ts'

const load = { capacity: 500, size: 120 }

test('room that claims under way have asked for is not free until their requests end', () => {
  const reservations = new ClaimReservations()
  assert.equal(reservations.unrequested(load), 380)
  reservations.requested += 300
  reservations.requested += 50
  assert.equal(reservations.unrequested(load), 30)
  reservations.requested -= 300
  assert.equal(reservations.unrequested(load), 330)
})

test('direct dispatches may reserve a batch together, as far as the worker has room', () => {
  const reservations = new ClaimReservations()
  assert.deepEqual(
    [100, 101].map((count) => reservations.mayReserve(count, load, 380)),
    [true, false],
  )
  assert.equal(reservations.mayReserve(20, load, 19), false)
  reservations.reserved += 60
  assert.deepEqual(
    [40, 41].map((count) => reservations.mayReserve(count, load, 380)),
    [true, false],
  )
  reservations.reserved -= 60
  assert.equal(reservations.mayReserve(100, load, 380), true)
})

test('a direct dispatch reserves no room that another claim has asked for', () => {
  const reservations = new ClaimReservations()
  reservations.requested += 375
  assert.deepEqual(
    [5, 6].map((count) => reservations.mayReserve(count, load, 380)),
    [true, false],
  )
})
