-- Lists leave payloads out, and end a page that would get too large: neither may read a payload for that. A program from
-- before this migration leaves both columns out; of its versions, lists read the execution itself.
ALTER TABLE job_versions ADD lean_execution json, ADD payload_bytes integer;
