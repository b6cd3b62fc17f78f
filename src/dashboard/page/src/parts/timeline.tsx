import {useMemo, useState} from 'preact/hooks';
import {giveColors, nameColor, token} from '../color';
import {axisTime, byName, clockTime, duration} from '../format';
import type {Handover} from '../live/documents';
import {Picture, type Box} from './picture';
import {useNow} from './hooks';

const laneHeight = 34;
const axisHeight = 22;
const steps = [10, 30, 60, 300, 600, 1800, 3600, 7200, 21_600, 43_200, 86_400, 172_800, 604_800];

interface Props {
  handovers: (Handover & {id: string})[];
  replicas: string[];
}

function words(handover: Handover): string {
  const took = handover.seconds === undefined || handover.seconds === null ? '' : ` in ${duration(handover.seconds)}`;
  return `${clockTime(handover.time)} ${handover.cluster}: ${handover.from ?? 'nobody'} → ${handover.to ?? 'nobody'}${took}${handover.reason ? `. ${handover.reason}` : ''}`;
}

/** Hand-overs over time, each in the lane of who took over; the mark's size says for how long nobody owned the cluster. */
export function Timeline({handovers, replicas}: Props) {
  // Half a minute is less than a pixel; drawing it each second would be for nothing.
  const now = Math.floor(useNow() / 30_000) * 30_000 + 30_000;
  const [selected, select] = useState<string | null>(null);
  const lanes = useMemo(() => [...new Set([...replicas, ...handovers.map(each => each.to ?? 'nobody')])].sort(byName), [replicas, handovers]);
  useMemo(() => giveColors(lanes), [lanes]);
  const inOrder = useMemo(() => [...handovers].reverse(), [handovers]);
  const plan = (width: number) => {
    const left = width < 500 ? 82 : 120;
    const first = new Date(inOrder[0]!.time).getTime();
    const span = Math.max(60_000, now - first);
    // Marks at either end have room beside the names and the edge.
    const x = (ms: number) => left + 10 + ((ms - first) / span) * (width - left - 26);
    const boxes: Box[] = inOrder.map(each => {
      const size = 8 + Math.min(10, Math.sqrt(each.seconds ?? 0) * 2.5);
      const middle = lanes.indexOf(each.to ?? 'nobody') * laneHeight + laneHeight / 2;
      return {x: x(new Date(each.time).getTime()) - size / 2, y: middle - size / 2, width: size, height: size};
    });
    return {
      height: lanes.length * laneHeight + axisHeight,
      boxes,
      paint: (context: CanvasRenderingContext2D, theme: 'light' | 'dark') => {
        context.font = `11px ${token('font')}`;
        context.strokeStyle = token('line');
        context.lineWidth = 1;
        const bottom = lanes.length * laneHeight;
        const step = (steps.find(seconds => (span / 1000 / seconds) * 80 < width - left) ?? 604_800) * 1000;
        // Marks are at round hours and days of the viewer's time zone.
        const shift = new Date(first).getTimezoneOffset() * 60_000;
        for (let at = Math.ceil((first - shift) / step) * step + shift; at < now; at += step) {
          context.beginPath();
          context.moveTo(x(at), 0);
          context.lineTo(x(at), bottom);
          context.stroke();
          context.fillStyle = token('ink-3');
          context.fillText(axisTime(at, step / 1000), x(at) - 14, bottom + 15);
        }
        lanes.forEach((lane, index) => {
          const y = index * laneHeight + laneHeight / 2;
          context.beginPath();
          context.moveTo(left, y);
          context.lineTo(width, y);
          context.stroke();
          context.fillStyle = token('ink-2');
          context.fillText(lane.length > left / 6.6 ? `…${lane.slice(1 - Math.floor(left / 6.6))}` : lane, 0, y + 4);
        });
        inOrder.forEach((each, index) => {
          const box = boxes[index]!;
          context.fillStyle = each.to ? nameColor(theme, each.to) : token('bad-mark');
          context.strokeStyle = token('surface');
          context.beginPath();
          context.arc(box.x + box.width / 2, box.y + box.height / 2, box.width / 2, 0, 2 * Math.PI);
          context.fill();
          context.stroke();
        });
      },
    };
  };
  const at = selected === null ? -1 : inOrder.findIndex(each => each.id === selected);
  return (
    <>
      <Picture label="Hand-overs over time" plan={plan} describe={index => (inOrder[index] ? words(inOrder[index]) : '')}
        selected={at < 0 ? null : at} onSelect={index => select(inOrder[index]?.id ?? null)} />
      <p class="picked">{at >= 0 ? words(inOrder[at]!) : <span class="quiet">Latest: {words(inOrder[inOrder.length - 1]!)}</span>}</p>
    </>
  );
}
