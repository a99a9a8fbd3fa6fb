import assert from 'node:assert/strict'
import test from 'node:test'
import { connectionsNeeded } from './connections.ts'

test('an embedded PostgreSQL has a connection for every place in every pool of a start', () => {
  assert.equal(connectionsNeeded({ processes: 1, databaseConnections: 16 }), 100)
  assert.equal(connectionsNeeded({ processes: 8, databaseConnections: 16 }), 180)
  assert.equal(connectionsNeeded({ processes: 2, databaseConnections: 500 }), 1_028)
})
