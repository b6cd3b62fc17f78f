import {useMemo, useState} from 'preact/hooks';
import {giveColors, nameColor, token} from '../color';
import {byName, duration} from '../format';
import {useTheme} from '../parts/hooks';
import {Picture, type Box} from '../parts/picture';
import type {Owners} from './data';
import {clockOf} from './units';

interface Span {
  cluster: string;
  owner: string | null;
  from: number;
  to: number;
}

const rowHeight = 18;

/** Who owned which cluster when: a row for each cluster, a colour for each owner, and a hatched gap where there was none. */
export function OwnersPicture({owners}: {owners: Owners}) {
  const theme = useTheme();
  const [selected, select] = useState<number | null>(null);
  const {clusters, spans, names, end} = useMemo(() => {
    const clusters = Object.keys(owners.clusters).sort(byName);
    const end = Math.max(0, ...owners.t, ...Object.values(owners.clusters).flatMap(list => list.map(([t]) => t)));
    const spans = clusters.flatMap(cluster => owners.clusters[cluster]!.map(([from, owner], index, list): Span => ({cluster, owner, from, to: list[index + 1]?.[0] ?? end})));
    const names = [...new Set(spans.map(span => span.owner).filter((owner): owner is string => owner !== null))].sort(byName);
    giveColors(names);
    return {clusters, spans, names, end};
  }, [owners]);
  const words = (span: Span) => `${span.cluster}: ${span.owner ?? 'nobody'} from ${clockOf(span.from)} for ${duration(span.to - span.from)}`;
  const plan = (width: number) => {
    const left = width < 500 ? 84 : 120;
    const x = (t: number) => left + (t / (end || 1)) * (width - left);
    const boxes: Box[] = spans.map(span => ({x: x(span.from), y: clusters.indexOf(span.cluster) * rowHeight + 2, width: Math.max(2, x(span.to) - x(span.from)), height: rowHeight - 4}));
    return {
      height: clusters.length * rowHeight + 20,
      boxes,
      paint: (context: CanvasRenderingContext2D) => {
        context.font = `11px ${token('font')}`;
        context.fillStyle = token('ink-2');
        clusters.forEach((cluster, index) => context.fillText(cluster, 0, index * rowHeight + 13, left - 8));
        spans.forEach((span, index) => {
          context.fillStyle = span.owner === null ? token('bad-mark') : nameColor(theme, span.owner);
          const box = boxes[index]!;
          if (span.owner === null) context.fillRect(box.x, box.y + box.height / 2 - 1.5, box.width, 3);
          else context.fillRect(box.x, box.y, box.width, box.height);
        });
        context.fillStyle = token('ink-3');
        const steps = width < 500 ? 2 : 4;
        for (let step = 0; step <= steps; step++) {
          context.textAlign = step === 0 ? 'left' : step === steps ? 'right' : 'center';
          context.fillText(clockOf((end * step) / steps), x((end * step) / steps), clusters.length * rowHeight + 15);
        }
        context.textAlign = 'left';
      },
    };
  };
  return (
    <>
      <p class="heat-legend">
        {names.map(name => <span key={name} class="chart-key"><span class="swatch" style={{background: nameColor(theme, name)}} />{name}</span>)}
        <span class="chart-key"><span class="swatch nobody" />nobody</span>
      </p>
      <div class="owners-scroll">
        <Picture label="Who owned which cluster" plan={plan} describe={index => (spans[index] ? words(spans[index]) : '')} selected={selected} onSelect={select} />
      </div>
      {selected !== null && spans[selected] && <p class="picked">{words(spans[selected])}</p>}
    </>
  );
}
