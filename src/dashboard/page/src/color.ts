// What is drawn on a canvas takes its colours from here; the rest is in style/tokens.css.

import type {Theme} from './theme';

/** From nothing to full: lightness alone says which is more, so that it can be read without colour as well. */
const loadStops: Record<Theme, string[]> = {
  light: ['#e9f1f2', '#bfdde0', '#83bfc9', '#4596b0', '#1f6a94', '#123f70'],
  dark: ['#1d2b33', '#1c4350', '#1f6576', '#2f8f9b', '#62bfc0', '#b9ebe3'],
};
const over: Record<Theme, string> = {light: '#d55e00', dark: '#ee6f1f'};
const levels = 64;

function channels(color: string): [number, number, number] {
  return [1, 3, 5].map(at => parseInt(color.slice(at, at + 2), 16)) as [number, number, number];
}

function ramp(stops: string[]): string[] {
  return Array.from({length: levels + 1}, (_, index) => {
    const place = (index / levels) * (stops.length - 1);
    const low = Math.min(Math.floor(place), stops.length - 2);
    const [from, to] = [channels(stops[low]!), channels(stops[low + 1]!)];
    const mixed = from.map((value, at) => Math.round(value + (to[at]! - value) * (place - low)));
    return `rgb(${mixed.join(' ')})`;
  });
}

const ramps: Record<Theme, string[]> = {light: ramp(loadStops.light), dark: ramp(loadStops.dark)};

function luminance(color: string): number {
  const [red, green, blue] = channels(color).map(value => (value / 255 <= 0.03928 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4)) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** Black or white, whichever stands out more from what `loadColor` gives. */
export function loadInk(theme: Theme, share: number): string {
  const stops = loadStops[theme];
  const behind = share > 1 ? over[theme] : stops[Math.round(Math.max(0, share) * (stops.length - 1))]!;
  return luminance(behind) > 0.18 ? '#0b1216' : '#ffffff';
}

export function loadColor(theme: Theme, share: number): string {
  if (share > 1) return over[theme];
  return ramps[theme][Math.round(Math.max(0, share) * levels)]!;
}

/** Okabe and Ito's colours, in an order in which neighbours differ most, each dark (light) enough for its background. */
const categories: Record<Theme, string[]> = {
  light: ['#0072b2', '#c04e00', '#00805f', '#a8487f', '#8a6a00', '#2b8cc4', '#5b5b66', '#6a4fa3'],
  dark: ['#56b4e9', '#ff9a52', '#2fc99b', '#e08fbd', '#f0c53d', '#9fd0f5', '#b9bcc6', '#b7a2ee'],
};

export function categoryColor(theme: Theme, index: number): string {
  const list = categories[theme];
  return list[((index % list.length) + list.length) % list.length]!;
}

const kept = 'evenkeel-colours';

/** Names that have been given a colour, in the order in which they got it. */
function remembered(): Map<string, number> {
  try {
    const read: unknown = JSON.parse(localStorage.getItem(kept) ?? '[]');
    return new Map(Array.isArray(read) ? read.filter((each): each is [string, number] => Array.isArray(each) && typeof each[0] === 'string' && Number.isInteger(each[1])) : []);
  } catch {
    return new Map();
  }
}

const given = remembered();
/** Of so many names the colour is remembered, the latest. */
const givenMost = 64;

/** FNV-1a. */
function hashed(name: string): number {
  let hash = 0x811c9dc5;
  for (const char of name) hash = Math.imul(hash ^ char.codePointAt(0)!, 0x01000193) >>> 0;
  return hash;
}

/**
 * Gives each name a colour that stays its own, whoever comes and goes and also at the next visit: the one that its hash says, or where
 * another of `names` has it the next that nobody has.
 */
export function giveColors(names: readonly string[]) {
  const count = categories.light.length;
  const taken = new Set(names.map(name => given.get(name)).filter(index => index !== undefined));
  let fresh = false;
  for (const name of names) {
    if (given.has(name)) continue;
    const first = hashed(name) % count;
    const free = Array.from({length: count}, (_, step) => (first + step) % count).find(index => !taken.has(index)) ?? first;
    given.set(name, free);
    taken.add(free);
    fresh = true;
  }
  if (!fresh) return;
  for (const name of [...given.keys()].slice(0, Math.max(0, given.size - givenMost))) if (!names.includes(name)) given.delete(name);
  try {
    localStorage.setItem(kept, JSON.stringify([...given]));
  } catch {
    // Then they last as long as the page.
  }
}

/** The colour of a replica; see giveColors. */
export function nameColor(theme: Theme, name: string): string {
  return categoryColor(theme, given.get(name) ?? hashed(name));
}

/** A custom property of the page. */
export function token(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
