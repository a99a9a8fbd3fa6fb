-- How many calls a second a tenant of the tier may make to one host; null: no limit. Tiers of operators keep none.
ALTER TABLE tiers ADD COLUMN host_calls_per_second integer DEFAULT NULL CHECK (host_calls_per_second > 0);
UPDATE tiers SET host_calls_per_second = CASE tier WHEN 'free' THEN 50 WHEN 'pro' THEN 500 ELSE 5000 END
WHERE tier IN ('free', 'pro', 'enterprise');
