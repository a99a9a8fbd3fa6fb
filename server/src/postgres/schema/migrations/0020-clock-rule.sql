-- The clock rule of a version: see domain/jobs/clock-rule.ts. A program from before this migration leaves the column out, and
-- what it wrote by rule 1 is found in the index below until it has been looked at. The index is empty again soon after an
-- upgrade. Its condition is wider than the difference between the rules: a list, range or step in the minute or second
-- field, and an hour field that is not a plain star.
ALTER TABLE job_versions ADD implied_dst text[] CHECK (implied_dst <@ ARRAY['dst_gap', 'dst_fold']);
CREATE INDEX job_versions_older ON job_versions (job_id, version)
  WHERE implied_dst IS NULL
    AND schedule ->> 'type' = 'CRON'
    AND schedule ->> 'timezone' <> 'UTC'
    AND schedule ->> 'cron_expression' ~ '^\s*(\S*[*/,-]\S*|\S+\s+\S*[*/,-]\S*|\S*[*/,-]\S*\s+\S+)\s+(?!\*\s)\S+(\s+\S+){3,4}\s*$';
