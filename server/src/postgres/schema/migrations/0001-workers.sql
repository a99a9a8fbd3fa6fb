-- One row per worker incarnation. The right to act is the existence of the row; `beats` is the lease.
CREATE TABLE workers (
  worker_id     uuid PRIMARY KEY,
  host          text NOT NULL,
  version       text NOT NULL,
  labels        text[] NOT NULL,
  capacity      integer NOT NULL CHECK (capacity > 0),
  current_load  integer NOT NULL DEFAULT 0 CHECK (current_load >= 0),
  status        text NOT NULL DEFAULT 'ACTIVE' CHECK (status IN ('ACTIVE', 'DRAINING')),
  beats         bigint NOT NULL DEFAULT 0,
  registered_at timestamptz(3) NOT NULL DEFAULT date_trunc('milliseconds', clock_timestamp()),
  beat_at       timestamptz(3) NOT NULL DEFAULT date_trunc('milliseconds', clock_timestamp())
) WITH (
  -- Every beat rewrites the row: room on its page keeps that a heap-only update.
  fillfactor = 50,
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 200
);
