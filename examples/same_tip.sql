-- Who was called, and then traded what the caller had traded?
--
--   streamjoin run examples/same_tip.sql
--   streamjoin explain examples/same_tip.sql
--
-- Three equalities on three different columns form a cycle, which no tree of two-way joins can look
-- up: one n-ary join does. Its shards form a grid with an axis for each of the columns.

CREATE STREAM calls
  USING generator OPTIONS (workload 'calls', rate 200, keys 2000, seed 1, disorder '500 ms')
  LATENESS 1 SECOND;

CREATE STREAM trades
  USING generator OPTIONS (workload 'trades', rate 200, keys 2000, seed 2, disorder '500 ms')
  LATENESS 1 SECOND;

-- Results are only counted. INSERT INTO console prints them.
INSERT INTO noop EVERY 2 SECONDS FOR 60 SECONDS

SELECT tip.caller, tip.person, mine.symbol, mine.price - theirs.price AS dearer
FROM calls tip, trades theirs, trades mine
WHERE tip.caller = theirs.person       -- what the caller traded,
  AND tip.person = mine.person         -- what the person who was called traded,
  AND theirs.symbol = mine.symbol       -- the same
  AND theirs.traded_at < tip.called_at AND tip.called_at < mine.traded_at
WINDOW 30 SECONDS
STRATEGY MJOIN;
