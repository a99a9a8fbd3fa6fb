-- People at the dashboard: sessions, and the one-time links that open one. Neither a cookie nor a code is in here, only
-- their hashes.

CREATE TABLE sessions (
  hash       bytea PRIMARY KEY CHECK (octet_length(hash) = 32),
  -- Of the key that opened it, the operator key too: a session may do what that key may, and ends with it.
  key_hash   bytea NOT NULL CHECK (octet_length(key_hash) = 32),
  created_at timestamptz(3) NOT NULL DEFAULT date_trunc('milliseconds', clock_timestamp()),
  expires_at timestamptz(3) NOT NULL
);
CREATE INDEX sessions_by_key ON sessions (key_hash, created_at, hash);
CREATE INDEX sessions_by_expiry ON sessions (expires_at);

-- A code is deleted by its use: of two uses at once, one finds it.
CREATE TABLE session_codes (
  hash       bytea PRIMARY KEY CHECK (octet_length(hash) = 32),
  key_hash   bytea NOT NULL CHECK (octet_length(key_hash) = 32),
  expires_at timestamptz(3) NOT NULL
);
CREATE INDEX session_codes_by_expiry ON session_codes (expires_at);
