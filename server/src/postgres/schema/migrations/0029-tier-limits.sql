-- Limits of a tier on executions and on storage. Null: no limit, which is the unlimited tier, and every tier that an
-- operator has added.
ALTER TABLE tiers
  ADD COLUMN executions_per_minute     integer DEFAULT NULL CHECK (executions_per_minute > 0),
  ADD COLUMN concurrent_executions_max integer DEFAULT NULL CHECK (concurrent_executions_max > 0),
  ADD COLUMN waiting_executions_max    integer DEFAULT NULL CHECK (waiting_executions_max > 0),
  ADD COLUMN storage_bytes_max         bigint DEFAULT NULL CHECK (storage_bytes_max > 0);

UPDATE tiers
SET executions_per_minute = 100, concurrent_executions_max = 100, waiting_executions_max = 10000,
  storage_bytes_max = 104857600
WHERE tier = 'free';
UPDATE tiers
SET executions_per_minute = 1000, concurrent_executions_max = 1000, waiting_executions_max = 100000,
  storage_bytes_max = 1073741824
WHERE tier = 'pro';
UPDATE tiers
SET executions_per_minute = 10000, concurrent_executions_max = 10000, waiting_executions_max = 1000000,
  storage_bytes_max = 10737418240
WHERE tier = 'enterprise';
