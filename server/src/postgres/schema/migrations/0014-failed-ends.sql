-- Searches for what failed ask for how executions ended. Attempts that were tried again are many times as many, and to pass
-- over them took seconds.
DROP INDEX attempts_failed;
DROP INDEX attempts_failed_by_job;
CREATE INDEX attempts_failed ON attempts (tenant_id, execution_id) WHERE outcome <> 'succeeded' AND final;
CREATE INDEX attempts_failed_by_job ON attempts (job_id, execution_id) WHERE outcome <> 'succeeded' AND final;
