-- Which slots of a job were late: a range of skips that grows takes the place of what was noted of it.
CREATE INDEX late_slots_by_job ON late_slots (job_id, slot);
