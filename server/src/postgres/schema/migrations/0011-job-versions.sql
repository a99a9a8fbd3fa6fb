-- Who made a version of a job, and when. The first was made with the job; of a later one from before there were these columns it
-- is not known.
ALTER TABLE job_versions ADD created_at timestamptz(3), ADD created_by text;
