-- A job that runs all its missed slots (FIRE_ALL) lets on-time slots join while it catches up: how many have joined. A range
-- that is empty (from_slot after to_slot) is a catch-up with its last executions still under way.
ALTER TABLE catchups ADD joined integer NOT NULL DEFAULT 0, DROP CONSTRAINT catchups_check;

-- Slots skipped by a pause keep the facts of it. Null: skipped for another reason, or before this migration.
ALTER TABLE skips ADD paused_at timestamptz(3), ADD paused_by text, ADD pause_reason text;
