-- What was recorded more than a day after its slot: retries by people, backfills, what was late. A search for the slots of
-- some days looks at those days and at these, and not at everything since.
CREATE INDEX attempts_late ON attempts (tenant_id, execution_id) WHERE recorded_at - slot > interval '1 day';
CREATE INDEX attempts_late_by_job ON attempts (job_id, execution_id) WHERE recorded_at - slot > interval '1 day';
