-- A batch may hold triggers: many executions of one job that were asked for at once. Each may have a payload of its own: one
-- JSON array for all places the batch began with, so that what leaves the batch changes nothing of it.
ALTER TABLE batches
  ADD kind text NOT NULL DEFAULT 'slot' CHECK (kind IN ('slot', 'trigger')),
  ADD payloads json;

-- What a program can read of the above: 0: only batches of slots. Triggers are rows of their own while anybody is here who would
-- take their batches for slots, and run them without their payloads; and while there are such batches nobody like that comes in.
ALTER TABLE workers ADD generation smallint NOT NULL DEFAULT 0;
ALTER TABLE schedulers ADD generation smallint NOT NULL DEFAULT 0;

CREATE FUNCTION refuse_older() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- Whoever makes such batches shares it: either sees the other.
  PERFORM pg_advisory_xact_lock(7420, 16);
  IF EXISTS (SELECT FROM batches WHERE kind = 'trigger') THEN
    RAISE EXCEPTION 'triggers wait in batches that this version of Carillon cannot read: run a newer one, or wait until they have run';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER refuse_older BEFORE INSERT ON workers FOR EACH ROW WHEN (NEW.generation < 1) EXECUTE FUNCTION refuse_older();
CREATE TRIGGER refuse_older BEFORE INSERT ON schedulers FOR EACH ROW WHEN (NEW.generation < 1) EXECUTE FUNCTION refuse_older();
