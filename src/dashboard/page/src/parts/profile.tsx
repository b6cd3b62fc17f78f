import {categoryColor, token} from '../color';
import type {Theme} from '../theme';
import {fitted, Picture, type Box} from './picture';

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

const plotHeight = 220;
const top = 18;
const left = 64;
/** From here on a node has two bars beside each other; below, the second one is a mark on the first. */
const pairPitch = 18;
/** From here on a node has its name and its numbers. */
const namedPitch = 84;
const widestPitch = 220;
const namesHeight = 22;

/** A round number not below the value, for the scale's upper end. */
function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value || 1));
  return [1, 1.5, 2, 3, 4, 5, 7.5, 10].map(step => step * power).find(step => step >= value) ?? value;
}

type Context = CanvasRenderingContext2D;

/** Where values and nodes are. */
interface Scales {
  high: number;
  pitch: number;
  gap: number;
  y: (value: number) => number;
}

function paintScale(context: Context, {high, y}: Scales, width: number, format: Props['format']) {
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
}

function paintBar(context: Context, theme: Theme, bar: Bar, box: Box, {pitch, gap, y}: Scales, allowed: number) {
  const [x, inner] = [box.x + gap / 2, Math.max(1, pitch - gap)];
  const paired = bar.after !== null && pitch >= pairPitch;
  const wide = paired ? inner / 2 - 1 : inner;
  context.fillStyle = bar.before > allowed ? token('bad-mark') : categoryColor(theme, 0);
  context.globalAlpha = 0.75;
  context.fillRect(x, y(bar.before), wide, y(0) - y(bar.before));
  context.globalAlpha = 1;
  if (bar.after === null) return;
  context.fillStyle = token('ink');
  if (!paired) return context.fillRect(x, y(bar.after) - 1.5, Math.max(2, inner), 3);
  const second = {x: x + wide + 2, y: y(bar.after), height: y(0) - y(bar.after)};
  context.globalAlpha = 0.18;
  context.fillRect(second.x, second.y, wide, second.height);
  context.globalAlpha = 1;
  context.strokeStyle = token('ink');
  context.lineWidth = 1.5;
  context.strokeRect(second.x + 0.75, second.y + 0.75, wide - 1.5, Math.max(0, second.height - 0.75));
}

/** The node's name below its bars, and its numbers above them. */
function paintName(context: Context, bar: Bar, box: Box, {pitch, gap, y}: Scales, format: Props['format']) {
  const inner = pitch - gap;
  context.textAlign = 'center';
  // The lines of what is allowed may cross numbers.
  context.strokeStyle = token('surface');
  context.lineWidth = 4;
  context.lineJoin = 'round';
  const number = (value: number, x: number) => {
    context.strokeText(format(value), x, y(value) - 5);
    context.fillText(format(value), x, y(value) - 5);
  };
  context.font = `11px ${token('font')}`;
  context.fillStyle = token('ink-2');
  context.fillText(fitted(context, bar.name, inner), box.x + pitch / 2, plotHeight + 14);
  context.font = `600 11px ${token('font')}`;
  context.fillStyle = token('ink');
  const quarter = bar.after === null ? 0 : inner / 4;
  number(bar.before, box.x + pitch / 2 - quarter);
  if (bar.after !== null) number(bar.after, box.x + pitch / 2 + quarter);
  context.textAlign = 'left';
}

function paintLimit(context: Context, at: number, width: number, color: string, dash: number[]) {
  context.lineWidth = 1.5;
  context.strokeStyle = color;
  context.setLineDash(dash);
  context.beginPath();
  context.moveTo(left, at);
  context.lineTo(width, at);
  context.stroke();
  context.setLineDash([]);
}

function plan({bars, format, allowed, allowedAfter}: Props, width: number) {
  const high = roundUp(Math.max(1e-9, allowed, allowedAfter ?? 0, ...bars.map(bar => Math.max(bar.before, bar.after ?? 0))));
  const pitch = Math.min(widestPitch, (width - left) / Math.max(1, bars.length));
  const scales: Scales = {
    high, pitch, gap: pitch >= namedPitch ? pitch * 0.3 : pitch > 4 ? Math.min(6, pitch * 0.25) : 0,
    y: value => top + (1 - value / high) * (plotHeight - top - 4),
  };
  const named = pitch >= namedPitch;
  const boxes: Box[] = bars.map((_, index) => ({x: left + index * pitch, y: top, width: pitch, height: plotHeight - top - 4}));
  return {
    height: plotHeight + (named ? namesHeight : 0),
    boxes,
    paint: (context: Context, theme: Theme) => {
      paintScale(context, scales, width, format);
      bars.forEach((bar, index) => paintBar(context, theme, bar, boxes[index]!, scales, allowed));
      paintLimit(context, scales.y(allowed), width, token('bad-mark'), [6, 4]);
      if (allowedAfter !== null) paintLimit(context, scales.y(allowedAfter), width, token('ink'), [2, 3]);
      if (named) bars.forEach((bar, index) => paintName(context, bar, boxes[index]!, scales, format));
    },
  };
}

/** The load of each node as a bar, with what a plan makes of it beside it, or, where there are many nodes, as a mark on it. */
export function Profile(props: Props) {
  const {label, bars, selected, onSelect, format, allowed, allowedAfter} = props;
  const index = selected === null ? -1 : bars.findIndex(bar => bar.name === selected);
  return (
    <>
      <Picture label={label} plan={width => plan(props, width)} describe={at => bars[at]?.words ?? ''} selected={index < 0 ? null : index} onSelect={at => bars[at] && onSelect(bars[at].name)} />
      <p class="heat-legend">
        <span class="key key-bar">now</span>
        <span class="key key-over">now, above what is allowed</span>
        <span class="key key-allowed">allowed now: {format(allowed)}</span>
        {allowedAfter !== null && <><span class="key key-after">after the plan</span><span class="key key-after-allowed">allowed then: {format(allowedAfter)}</span></>}
        {index >= 0 && <b>{bars[index]!.words}</b>}
      </p>
    </>
  );
}
