-- Who was called, bought, sold at a gain, and was called again by anyone?
--
--   streamjoin run examples/called_twice.sql
--   streamjoin explain examples/called_twice.sql
--
-- Four streams on one key, two of them used twice. They run as one plan of three joins within
-- three tenths of the cores; no result has a row that is older than 40 seconds.

CREATE STREAM calls
  USING generator OPTIONS (workload 'calls', rate 400, keys 4000, seed 1, disorder '500 ms')
  LATENESS 1 SECOND;

CREATE STREAM trades
  USING generator OPTIONS (workload 'trades', rate 400, keys 4000, seed 1, disorder '500 ms')
  LATENESS 1 SECOND;

-- Results are only counted. INSERT INTO console prints them, and so does a query without INSERT.
INSERT INTO noop EVERY 2 SECONDS FOR 60 SECONDS

SELECT first.caller, first.person, bought.symbol, sold.price - bought.price AS gain
FROM calls first
JOIN trades bought ON first.person = bought.person
JOIN trades sold ON bought.person = sold.person
JOIN calls again ON sold.person = again.person
WHERE bought.action = 'buy' AND sold.action = 'sell'    -- filters of the two streams
  AND sold.price > bought.price                         -- checked on the results
  AND first.called_at < bought.traded_at
WINDOW 30 SECONDS
FRESHNESS 40 SECONDS
BUDGET 0.3 CPU
PLAN '((first bought) sold) again';
