// Numbers, amounts and times as people read them.

export function percent(share: number | null | undefined): string {
  if (share === null || share === undefined || !Number.isFinite(share)) return '–';
  return `${Math.round(share * 100)} %`;
}

export function number(value: number | null | undefined, digits = 2): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return '–';
  const size = Math.abs(value);
  if (size >= 10_000) return Math.round(value).toLocaleString('en-US');
  return String(Number(value.toFixed(size >= 100 ? 0 : size >= 10 ? Math.min(digits, 1) : digits)));
}

/** As many digits as the largest of a column needs, so that its points stand below each other. */
export function digitsFor(values: (number | null | undefined)[]): number {
  const size = Math.max(0, ...values.map(value => Math.abs(value ?? 0)));
  return size >= 100 || size === 0 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : size >= 0.1 ? 3 : 4;
}

export function fixed(value: number | null | undefined, digits: number): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return '–';
  return value.toLocaleString('en-US', {minimumFractionDigits: digits, maximumFractionDigits: digits});
}

const binary = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

/** Loads are whole numbers in the metric's own unit: cpu in thousandths, memory in bytes, whatever else as it is. */
export function amount(metric: string, value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return '–';
  const name = metric.toLowerCase();
  if (name === 'cpu') return number(value / 1000);
  if (name !== 'memory' && name !== 'ephemeral-storage') return number(value);
  let unit = 0;
  while (Math.abs(value) >= 1024 && unit < binary.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${number(value, 1)} ${binary[unit]}`;
}

export function duration(seconds: number): string {
  if (!Number.isFinite(seconds)) return '–';
  const size = Math.abs(seconds);
  if (size < 10) return `${number(seconds, 1)} s`;
  if (size < 60) return `${Math.round(seconds)} s`;
  if (size < 3600) return `${Math.floor(size / 60)} m ${Math.floor(size % 60)} s`;
  if (size < 86_400) return `${Math.floor(size / 3600)} h ${Math.floor((size % 3600) / 60)} m`;
  return `${Math.floor(size / 86_400)} d ${Math.floor((size % 86_400) / 3600)} h`;
}

const clock = new Intl.DateTimeFormat('en-GB', {hour: '2-digit', minute: '2-digit', second: '2-digit'});
const day = new Intl.DateTimeFormat('en-GB', {day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit'});

/** Of the viewer's own time zone; with the day where it is not today's. */
export function clockTime(time: string): string {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return time;
  return (Math.abs(Date.now() - date.getTime()) < 43_200_000 ? clock : day).format(date);
}

const dayOnly = new Intl.DateTimeFormat('en-GB', {day: 'numeric', month: 'short'});

/** Of a mark on an axis whose marks are so many seconds apart: no more than tells it from its neighbours. */
export function axisTime(ms: number, stepSeconds: number): string {
  const date = new Date(ms);
  const midnight = date.getHours() === 0 && date.getMinutes() === 0;
  if (stepSeconds >= 86_400 || (stepSeconds >= 3600 && midnight)) return dayOnly.format(date);
  if (stepSeconds >= 43_200) return day.format(date);
  return clock.format(date).slice(0, stepSeconds < 60 ? 8 : 5);
}

/** "12 s ago", "in 3 m 20 s". */
export function relative(time: string, nowMs: number): string {
  const seconds = (nowMs - new Date(time).getTime()) / 1000;
  if (Number.isNaN(seconds)) return time;
  if (seconds >= 0) return seconds < 1 ? 'now' : `${duration(Math.floor(seconds))} ago`;
  return `in ${duration(Math.ceil(-seconds))}`;
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString('en-US')} ${count === 1 ? one : many}`;
}

/** How many nodes are not as they should be. */
export function nodesNote(notReady: number, upcoming: number): string {
  return [notReady ? `${notReady} not ready` : 'all ready', upcoming ? `${upcoming} upcoming` : ''].filter(Boolean).join(', ');
}

const collator = new Intl.Collator('en', {numeric: true});

/** member-2 before member-10. */
export function byName(a: string, b: string): number {
  return collator.compare(a, b);
}
