import {number} from '../format';
import type {Distribution} from './data';
import {formatOf} from './units';

const bins = 36;
const quantiles = [['median', 0.5], ['90 %', 0.9], ['99 %', 0.99], ['most', 1]] as const;

function quantile(values: number[], share: number): number {
  return values[Math.min(values.length - 1, Math.max(0, Math.ceil(share * values.length) - 1))]!;
}

/** How often which value: a histogram, and what so many per cent do not exceed. */
export function DistributionPicture({distribution}: {distribution: Distribution}) {
  const {values, unit, title} = distribution;
  const format = formatOf(unit);
  if (values.length === 0) return <p class="quiet">Nothing was measured.</p>;
  const [low, high] = [Math.min(0, values[0]!), values[values.length - 1]!];
  const counts = new Array<number>(bins).fill(0);
  for (const value of values) counts[Math.min(bins - 1, Math.floor(((value - low) / (high - low || 1)) * bins))]!++;
  const most = Math.max(...counts);
  const words = quantiles.map(([name, share]) => `${name} ${format(quantile(values, share))}`).join(', ');
  return (
    <figure class="distribution" role="img" aria-label={`${title}: ${values.length} values, ${words}`}>
      <div class="histogram">
        {counts.map((count, index) => (
          <span key={index} title={`${format(low + ((high - low) * index) / bins)} to ${format(low + ((high - low) * (index + 1)) / bins)}: ${count}`}>
            <span style={{height: `${count === 0 ? 0 : Math.max(1.5, (count / most) * 100)}%`}} />
          </span>
        ))}
      </div>
      <div class="histogram-ends"><span>{format(low)}</span><span>{format(high)}</span></div>
      <dl class="quantiles">
        {quantiles.map(([name, share]) => <div key={name}><dt>{name}</dt><dd>{format(quantile(values, share))}</dd></div>)}
        <div><dt>count</dt><dd>{number(values.length)}</dd></div>
      </dl>
    </figure>
  );
}
