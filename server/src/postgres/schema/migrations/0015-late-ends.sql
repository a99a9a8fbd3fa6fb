-- What was enqueued more than a minute after its slot: retries by people, backfills, what was late. A search for the slots of
-- some days begins right behind them and looks at these besides: a day of slack would be more than it can look at.
DROP INDEX attempts_late;
DROP INDEX attempts_late_by_job;
CREATE INDEX attempts_late ON attempts (tenant_id, execution_id) WHERE enqueued_at - slot > interval '1 minute' AND final;
CREATE INDEX attempts_late_by_job ON attempts (job_id, execution_id) WHERE enqueued_at - slot > interval '1 minute' AND final;
