-- A version that no execution names loses its payload, its headers, arguments, variables and metadata. Null: it is whole.
ALTER TABLE job_versions ADD COLUMN pruned_at timestamptz(3);

-- The jobs whose versions are to be looked at, by the time since when.
CREATE TABLE version_notes (
  job_id        uuid PRIMARY KEY REFERENCES jobs,
  after_version integer NOT NULL DEFAULT 0,
  due_at        timestamptz(3) NOT NULL
);
CREATE INDEX version_notes_due ON version_notes (due_at);

-- By triggers, so that changes by a program of an older version are noted too.
CREATE FUNCTION note_versions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO version_notes AS note (job_id, due_at) VALUES (NEW.job_id, clock_ms())
  ON CONFLICT (job_id) DO UPDATE SET due_at = excluded.due_at WHERE note.due_at > excluded.due_at;
  RETURN NULL;
END $$;
CREATE TRIGGER version_made AFTER INSERT ON job_versions FOR EACH ROW
  WHEN (NEW.version > 1) EXECUTE FUNCTION note_versions();
CREATE TRIGGER job_deleted AFTER UPDATE OF deleted_at ON jobs FOR EACH ROW
  WHEN (OLD.deleted_at IS NULL AND NEW.deleted_at IS NOT NULL) EXECUTE FUNCTION note_versions();

INSERT INTO version_notes (job_id, due_at)
SELECT job_id, clock_ms() FROM jobs WHERE version > 1 OR deleted_at IS NOT NULL;
