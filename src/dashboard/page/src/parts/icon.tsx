const paths = {
  check: 'M3.5 8.5l3 3 6-7',
  warning: 'M8 2.5l6 11H2zM8 6.5v3.2M8 11.6v.4',
  cross: 'M4 4l8 8M12 4l-8 8',
  dots: 'M3.5 8h.01M8 8h.01M12.5 8h.01',
  dash: 'M4 8h8',
  flame: 'M8 2c.5 2.5 3.5 4 3.5 7.2A3.5 3.5 0 0 1 8 13.5a3.5 3.5 0 0 1-3.5-4C4.5 7.5 6 7 6 5c1 .3 1.6 1 1.7 2C8.5 5.8 8.6 3.6 8 2z',
  crown: 'M2.5 12.5h11l1-7-3.5 2.5L8 3.5 5 8 1.5 5.5z',
  arrow: 'M3 8h9.5M9 4.5 12.5 8 9 11.5',
  chevron: 'M6 3.5 10.5 8 6 12.5',
  sun: 'M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM8 1.5v1.5M8 13v1.5M1.5 8H3M13 8h1.5M3.4 3.4l1 1M11.6 11.6l1 1M12.6 3.4l-1 1M4.4 11.6l-1 1',
  moon: 'M13 9.5A5.5 5.5 0 0 1 6.5 3a5.5 5.5 0 1 0 6.5 6.5z',
  sort: 'M8 3v10M4.5 9.5 8 13l3.5-3.5',
  pause: 'M5.5 3.5v9M10.5 3.5v9',
  search: 'M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM10.3 10.3 14 14',
  play: 'M5 3.5v9l7-4.5z',
} as const;

export type IconName = keyof typeof paths;

export function Icon({name}: {name: IconName}) {
  return (
    <svg class={`icon icon-${name}`} viewBox="0 0 16 16" width="14" height="14" aria-hidden="true" focusable="false">
      <path d={paths[name]} fill="none" stroke="currentColor" stroke-width="1.8" stroke-linecap="round" stroke-linejoin="round" />
    </svg>
  );
}
