-- Notes are looked for by tenant and then by run, so that no tenant and no run waits behind all that was noted of others.
ALTER TABLE run_notes ADD tenant_id uuid;
UPDATE run_notes n SET tenant_id = coalesce(
  (SELECT j.tenant_id FROM jobs j WHERE j.job_id = n.job_id), '00000000-0000-0000-0000-000000000000');
ALTER TABLE run_notes ALTER tenant_id SET NOT NULL;
DROP INDEX run_notes_by_run;
CREATE INDEX run_notes_by_run ON run_notes (run_id, note_id);
CREATE INDEX run_notes_by_tenant ON run_notes (tenant_id, run_id, note_id);

-- An older version of the program does not name the tenant. No note may be refused: an execution could not end.
CREATE FUNCTION name_tenant_of_note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.tenant_id := coalesce(
    (SELECT j.tenant_id FROM jobs j WHERE j.job_id = NEW.job_id), '00000000-0000-0000-0000-000000000000');
  RETURN NEW;
END $$;
CREATE TRIGGER run_notes_tenant BEFORE INSERT ON run_notes FOR EACH ROW
  WHEN (NEW.tenant_id IS NULL) EXECUTE FUNCTION name_tenant_of_note();

CREATE OR REPLACE FUNCTION note_run() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    INSERT INTO run_notes (run_id, what, job_id, execution_id, at, tenant_id)
    VALUES (OLD.run_id, 'end', OLD.job_id, OLD.execution_id, clock_ms(), OLD.tenant_id);
  ELSE
    -- A run that was resumed may have a row of this root already: the reader of the note gives it a run of its own.
    INSERT INTO run_roots (job_id, run_id, execution_id, operation_id)
    VALUES (NEW.job_id, NEW.run_id, NEW.execution_id, NEW.operation_id) ON CONFLICT DO NOTHING;
    INSERT INTO run_notes (run_id, what, job_id, execution_id, at, tenant_id)
    VALUES (NEW.run_id, 'root', NEW.job_id, NEW.execution_id, clock_ms(), NEW.tenant_id);
  END IF;
  RETURN NULL;
END $$;
