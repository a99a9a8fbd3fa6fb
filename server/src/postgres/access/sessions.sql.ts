// The statements on sessions and the codes that open them.
import { sql } from '../../lib/sql.ts'

/** Also deletes expired sessions, a few at a time: nothing else removes them. */
export const insertSession = sql('insertSession')`
  WITH expired AS (
    DELETE FROM sessions
    WHERE hash IN (SELECT hash FROM sessions WHERE expires_at <= clock_timestamp() LIMIT 100)
  )
  INSERT INTO sessions (hash, key_hash, expires_at)
  VALUES ($1, $2, clock_ms() + $3 * interval '1 millisecond')`

/** Of a key that has more than it may, the oldest. */
export const endOldestSessions = sql('endOldestSessions')`
  DELETE FROM sessions
  WHERE hash IN (
    SELECT hash FROM sessions WHERE key_hash = $1 ORDER BY created_at DESC, hash DESC OFFSET $2
  )`

export const selectSession = sql('selectSession')`
  SELECT key_hash, expires_at FROM sessions WHERE hash = $1 AND expires_at > clock_timestamp()`

export const deleteSession = sql('deleteSession')`
  DELETE FROM sessions WHERE hash = $1`

export const insertCode = sql('insertCode')`
  WITH expired AS (
    DELETE FROM session_codes
    WHERE hash IN (SELECT hash FROM session_codes WHERE expires_at <= clock_timestamp() LIMIT 100)
  )
  INSERT INTO session_codes (hash, key_hash, expires_at)
  VALUES ($1, $2, clock_ms() + $3 * interval '1 millisecond')`

/** Of a key that has more than it may, the oldest. The table is small: a key has few codes, for minutes. */
export const deleteOldestCodes = sql('deleteOldestCodes')`
  DELETE FROM session_codes
  WHERE hash IN (
    SELECT hash FROM session_codes WHERE key_hash = $1 ORDER BY expires_at DESC, hash DESC OFFSET $2
  )`

/** A second caller waits for the first and then finds nothing. */
export const useCode = sql('useCode')`
  WITH used AS (
    DELETE FROM session_codes WHERE hash = $1 RETURNING key_hash, expires_at
  )
  SELECT key_hash
  FROM used
  WHERE expires_at > clock_timestamp()`
