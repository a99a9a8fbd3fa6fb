-- The use of an attempt; null: not known, or it does not apply.
ALTER TABLE attempts
  ADD COLUMN cpu_ms bigint,
  ADD COLUMN bytes_sent integer,
  ADD COLUMN bytes_received integer;
