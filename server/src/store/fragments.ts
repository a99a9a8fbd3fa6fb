// Pieces that statements of several files share.
import { fragment } from '../lib/sql.ts'

/** Whether executions of a version (v) wait to be counted. */
export const isLimited = fragment`
  (v.concurrency_key IS NOT NULL OR (v.overlap_policy = 'ALLOW' AND v.concurrency_limit IS NOT NULL))`

/** What the calendars hold that a version (v) names; null: it names none. */
export const calendarsOfVersion = fragment`
  CASE WHEN v.calendars IS NOT NULL THEN (
    SELECT json_build_object('entries', json_object_agg(n.name, coalesce(k.entries, '[]')),
      'revision', coalesce(sum(k.revision), 0))
    FROM unnest(v.calendars) AS n(name) LEFT JOIN calendars k ON k.tenant_id = v.tenant_id AND k.name = n.name
  ) END`
