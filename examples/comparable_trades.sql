-- Which stocks were traded in Tokyo in higher volumes than Google's in New York?
--
--   streamjoin run examples/comparable_trades.sql
--   streamjoin explain examples/comparable_trades.sql
--
-- The query Q1 of Mukherji et al. (2011, section 1) as it is printed there, with the freshness that
-- the paper asks for: trades are at most 10 minutes apart, and no result has one that is older than
-- 12 minutes. There is no equality, so every pair within the window is compared.

-- Made-up trades: row i comes i / rate seconds after the start.
CREATE STREAM stocksNYC
  USING generator OPTIONS (workload 'trades', rate 20, seed 1, disorder '500 ms')
  TIME at LATENESS 500 MS
  AS SELECT replace(symbol, 'ACME', 'GOOG') AS symbol, price, shares AS volume, traded_at AS at;

CREATE STREAM stocksTokyo
  USING generator OPTIONS (workload 'trades', rate 20, seed 2, disorder '500 ms')
  TIME at LATENESS 500 MS
  AS SELECT symbol, price, shares AS volume, traded_at AS at;

-- Results go to Parquet files. Without EVERY a run takes what is there and ends.
INSERT INTO parquet '../output/comparable_trades' EVERY 2 SECONDS FOR 60 SECONDS

SELECT B.symbol, B.price FROM stocksNYC A, stocksTokyo B
WHERE A.symbol = "GOOG" and B.volume > A.volume
WINDOW 10 mins FRESHNESS 12 mins;
