// The statements on artifacts. Ids are compared as bytes, so that a list has one order on every server.
import { fragment, sql } from '../../lib/sql.ts'

const columns = fragment`
  artifact.artifact_id, artifact.sha256, artifact.bytes, artifact.created_at, artifact.created_by`

export const selectArtifact = sql('selectArtifact')`
  SELECT ${columns} FROM artifacts artifact WHERE artifact.tenant_id = $1 AND artifact.artifact_id = $2`

export const selectArtifacts = sql('selectArtifacts')`
  SELECT ${columns}
  FROM artifacts artifact
  WHERE artifact.tenant_id = $1 AND artifact.artifact_id COLLATE "C" > $2
  ORDER BY artifact.artifact_id COLLATE "C" LIMIT $3`

export const countArtifacts = sql('countArtifacts')`
  SELECT count(*) AS total FROM artifacts WHERE tenant_id = $1`

/** One after the other, so that their number holds. */
export const lockArtifacts = sql('lockArtifacts')`
  SELECT pg_advisory_xact_lock(7420, hashtext('artifacts of ' || $1::uuid))`

export const upsertArtifact = sql('upsertArtifact')`
  INSERT INTO artifacts AS artifact (tenant_id, artifact_id, sha256, bytes, content, created_at, created_by)
  VALUES ($1, $2, $3, length($4::bytea), $4, clock_ms(), $5)
  ON CONFLICT (tenant_id, artifact_id) DO UPDATE SET sha256 = excluded.sha256, bytes = excluded.bytes,
    content = excluded.content, created_at = excluded.created_at, created_by = excluded.created_by
  RETURNING ${columns}`

/** A piece of the content; it is stored without compression, so that only this piece is read. */
export const selectContent = sql('selectContent')`
  SELECT substring(artifact.content FROM $4::int + 1 FOR $5::int) AS piece
  FROM artifacts artifact
  WHERE artifact.tenant_id = $1 AND artifact.artifact_id = $2 AND artifact.sha256 = $3`

export const deleteArtifact = sql('deleteArtifact')`
  DELETE FROM artifacts WHERE tenant_id = $1 AND artifact_id = $2`
