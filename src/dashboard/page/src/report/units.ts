import {duration, number, percent} from '../format';

/** Seconds since the beginning as h:mm:ss. */
export function clockOf(seconds: number): string {
  const whole = Math.round(seconds);
  const two = (value: number) => String(value).padStart(2, '0');
  return `${Math.floor(whole / 3600)}:${two(Math.floor((whole % 3600) / 60))}:${two(whole % 60)}`;
}

/** How values of a unit are written. */
export function formatOf(unit: string | undefined): (value: number) => string {
  if (unit === 's' || unit === 'seconds') return duration;
  if (unit === 'share') return percent;
  // Other units stand beside the title, once.
  return value => number(value);
}
