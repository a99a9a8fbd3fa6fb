-- The ids of what is enqueued are gathered before they go into the index, and every reader walks through what is gathered: 4 MB
-- of it after a minute of load, most of it of batches that are long gone ([m] 0.4 ms of every page of a job's history, growing).
ALTER INDEX batches_by_job SET (gin_pending_list_limit = 256);
