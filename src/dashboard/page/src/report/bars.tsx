import type {Series} from './data';
import {formatOf} from './units';

/** Amounts side by side, a row for each name: what it is, and what it becomes. */
export function Bars({series}: {series: Series}) {
  const {title, lines, names = [], unit} = series;
  const format = formatOf(unit);
  const most = Math.max(1e-9, ...lines.flatMap(line => line.values.map(value => value ?? 0)));
  const words = names.map((name, at) => `${name} ${lines.map(line => format(line.values[at] ?? NaN)).join(' to ')}`);
  return (
    <figure class="bars" role="img" aria-label={`${title}: ${words.join(', ')}`}>
      {lines.length > 1 && (
        <figcaption class="chart-legend" aria-hidden="true">
          {lines.map((line, index) => <span key={line.name} class="chart-key"><span class={`swatch bar-${index}`} />{line.name}</span>)}
        </figcaption>
      )}
      {names.map((name, at) => (
        <div key={name} class="bar-row" title={words[at]}>
          <span class="bar-name">{name}</span>
          <span class="bar-marks">
            {lines.map((line, index) => <span key={line.name} class={`bar-${index}`} style={{width: `${(100 * (line.values[at] ?? 0)) / most}%`}} />)}
          </span>
          <span class="bar-values">{lines.map(line => format(line.values[at] ?? NaN)).join(' → ')}</span>
        </div>
      ))}
    </figure>
  );
}
