// Numbers and times as people read them.

const grouped = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

/** 0.42, 7.5, 312, 4,711, 86.4 k, 1.3 M */
export function count(value: number): string {
  const size = Math.abs(value);
  if (size >= 1e9) return `${digits(value / 1e9)} G`;
  if (size >= 1e6) return `${digits(value / 1e6)} M`;
  if (size >= 1e5) return `${digits(value / 1e3)} k`;
  return size >= 100 ? grouped.format(value) : digits(value);
}

export function exactly(value: number): string {
  return grouped.format(value);
}

function digits(value: number): string {
  const size = Math.abs(value);
  if (size >= 100 || Number.isInteger(value)) return value.toFixed(0);
  return String(Number(value.toPrecision(size < 1 ? 2 : 3)));
}

export function perSecond(value: number): string {
  return `${count(value)}/s`;
}

export function percent(share: number): string {
  const value = 100 * share;
  const near = value > 99 && value < 100;
  return `${near ? Math.min(99.99, Number(value.toFixed(2))) : value.toFixed(value < 10 && value > 0 ? 1 : 0)} %`;
}

export function bytes(value: number): string {
  let rest = value;
  for (const unit of ["B", "KB", "MB", "GB"]) {
    if (Math.abs(rest) < 1000) return `${digits(rest)} ${unit}`;
    rest /= 1000;
  }
  return `${digits(rest)} TB`;
}

export function cores(value: number): string {
  return `${Number(value.toFixed(2))} ${value === 1 ? "core" : "cores"}`;
}

/** On an axis there is little room: 0.5 s, 12 s, 1:40, 2 h. */
export function shortDuration(seconds: number): string {
  if (seconds < 60) return `${digits(seconds)} s`;
  if (seconds >= 3600) return `${digits(seconds / 3600)} h`;
  const rest = Math.round(seconds % 60);
  return `${Math.floor(seconds / 60)}:${String(rest).padStart(2, "0")}`;
}

export function plain(value: number): string {
  return String(Number(value.toFixed(3)));
}

/** 0.52 s, 12 s, 2 min 30 s, 3 h 5 min, 2 days 4 h */
export function duration(seconds: number): string {
  if (seconds < 60) return `${digits(seconds)} s`;
  const whole = Math.round(seconds);
  if (whole < 3600) return two(whole, 60, "min", 1, "s");
  if (whole < 86400) return two(whole, 3600, "h", 60, "min");
  return two(whole, 86400, whole < 172800 ? "day" : "days", 3600, "h");
}

function two(value: number, big: number, bigName: string, small: number, smallName: string): string {
  const first = Math.floor(value / big);
  const second = Math.floor((value % big) / small);
  return second ? `${first} ${bigName} ${second} ${smallName}` : `${first} ${bigName}`;
}

const time = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });

export function clock(at: number): string {
  return time.format(at * 1000);
}

/** The time of the day, with the day unless it is today. */
export function moment(at: number): string {
  const date = new Date(at * 1000);
  const today = date.toDateString() === new Date().toDateString();
  return today ? clock(at) : `${day.format(date)}, ${clock(at)}`;
}
