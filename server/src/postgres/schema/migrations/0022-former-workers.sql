-- A worker says where its process listens; null: it does not, or a program of an older version registered it.
ALTER TABLE workers ADD COLUMN port integer CHECK (port BETWEEN 1 AND 65535);

-- The workers of a tenant, a page at a time. Beats change no column of it.
CREATE INDEX workers_by_tenant ON workers (tenant_id, worker_id);
-- Whether a program of an older version is there, without a look at thousands of workers.
CREATE INDEX workers_by_generation ON workers (generation);

-- Workers that died or left, for people to see. It gives no right to act: that is the row in `workers`.
CREATE TABLE former_workers (
  worker_id     uuid PRIMARY KEY,
  tenant_id     uuid REFERENCES tenants,
  host          text NOT NULL,
  port          integer,
  version       text NOT NULL,
  labels        text[] NOT NULL,
  executors     text[] NOT NULL,
  handlers      text[] NOT NULL,
  capacity      integer NOT NULL,
  registered_at timestamptz(3) NOT NULL,
  beat_at       timestamptz(3) NOT NULL,
  status        text NOT NULL CHECK (status IN ('DEAD', 'LEFT')),
  ended_at      timestamptz(3) NOT NULL,
  shown_until   timestamptz(3) NOT NULL
);
CREATE INDEX former_workers_by_tenant ON former_workers (tenant_id, status, worker_id);
CREATE INDEX former_workers_shown_until ON former_workers (shown_until);

-- Executions between two attempts, or whose target will report: no worker holds them, but one has. For the list of the
-- executions of a worker; an execution that ends at its first attempt is never in it.
CREATE INDEX live_between_attempts ON live (execution_id) WHERE worker_id IS NULL AND attempt > 0;
