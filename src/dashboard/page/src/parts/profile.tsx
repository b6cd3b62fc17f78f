import {categoryColor, token} from '../color';
import type {Theme} from '../theme';
import {Picture, type Box} from './picture';

export interface Bar {
  name: string;
  before: number;
  after: number | null;
  words: string;
}

interface Props {
  label: string;
  bars: Bar[];
  format: (value: number) => string;
  /** The line that no bar should exceed. */
  allowed: number;
  /** The same after the plan, where there is one. */
  allowedAfter: number | null;
  selected: string | null;
  onSelect: (name: string) => void;
}

const height = 220;
const top = 12;
const bottom = 4;
const left = 64;

/** A round number not below the value, for the scale's upper end. */
function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value || 1));
  return [1, 1.5, 2, 3, 4, 5, 7.5, 10].map(step => step * power).find(step => step >= value) ?? value;
}

function plan({bars, format, allowed, allowedAfter}: Props, width: number) {
  const high = roundUp(Math.max(1e-9, allowed, allowedAfter ?? 0, ...bars.map(bar => Math.max(bar.before, bar.after ?? 0))));
  const y = (value: number) => top + (1 - value / high) * (height - top - bottom);
  const pitch = Math.min(48, (width - left) / Math.max(1, bars.length));
  const gap = pitch > 4 ? Math.min(6, pitch * 0.25) : 0;
  const boxes: Box[] = bars.map((_, index) => ({x: left + index * pitch, y: top, width: pitch, height: height - top - bottom}));
  return {
    height,
    boxes,
    paint: (context: CanvasRenderingContext2D, theme: Theme) => {
      context.font = `11px ${token('font')}`;
      context.lineWidth = 1;
      context.strokeStyle = token('line');
      context.fillStyle = token('ink-3');
      for (let step = 0; step <= 4; step++) {
        const value = (high * step) / 4;
        context.beginPath();
        context.moveTo(left, y(value));
        context.lineTo(width, y(value));
        context.stroke();
        context.fillText(format(value), 0, y(value) + 4);
      }
      const [normal, over, mark] = [categoryColor(theme, 0), token('bad-mark'), token('ink')];
      bars.forEach((bar, index) => {
        context.fillStyle = bar.before > allowed ? over : normal;
        context.globalAlpha = 0.75;
        context.fillRect(boxes[index]!.x + gap / 2, y(bar.before), Math.max(1, pitch - gap), y(0) - y(bar.before));
      });
      context.globalAlpha = 1;
      context.fillStyle = mark;
      bars.forEach((bar, index) => {
        if (bar.after !== null) context.fillRect(boxes[index]!.x, y(bar.after) - 1.5, Math.max(2, pitch), 3);
      });
      context.lineWidth = 1.5;
      for (const [value, color, dash] of [[allowed, over, [6, 4]], [allowedAfter, mark, [2, 3]]] as const) {
        if (value === null) continue;
        context.strokeStyle = color;
        context.setLineDash([...dash]);
        context.beginPath();
        context.moveTo(left, y(value));
        context.lineTo(width, y(value));
        context.stroke();
      }
      context.setLineDash([]);
    },
  };
}

/** The load of each node as a bar, with what a plan makes of it as a mark on the bar. */
export function Profile(props: Props) {
  const {label, bars, selected, onSelect, format, allowed, allowedAfter} = props;
  const index = selected === null ? -1 : bars.findIndex(bar => bar.name === selected);
  return (
    <>
      <Picture label={label} plan={width => plan(props, width)} describe={at => bars[at]?.words ?? ''} selected={index < 0 ? null : index} onSelect={at => bars[at] && onSelect(bars[at].name)} />
      <p class="heat-legend">
        <span class="key key-bar">now</span>
        <span class="key key-over">now, above what is allowed ({format(allowed)})</span>
        {allowedAfter !== null && <><span class="key key-after">after the plan</span><span class="key key-after-allowed">allowed then ({format(allowedAfter)})</span></>}
        {index >= 0 && <b>{bars[index]!.words}</b>}
      </p>
    </>
  );
}
