-- Processes with the role `history`, for liveness only: while one of them beats, schedulers leave folding and pruning to it.
CREATE TABLE history_processes (
  process_id uuid PRIMARY KEY,
  beat_at    timestamptz(3) NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);
