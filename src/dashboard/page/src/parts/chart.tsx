import {useEffect, useMemo, useRef, useState} from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import {categoryColor, token} from '../color';
import {axisTime} from '../format';
import {useTheme, useWidth} from './hooks';

export interface ChartLine {
  name: string;
  values: (number | null)[];
}

interface Props {
  title: string;
  /** Seconds: since 1970 where `clock` is set, else since the beginning. */
  t: number[];
  lines: ChartLine[];
  format: (value: number) => string;
  clock?: boolean;
  style?: 'line' | 'step' | 'stack' | undefined;
  height?: number;
  /** A line across, with its name. */
  threshold?: {name: string; value: number} | undefined;
  /** Lowest upper end of the scale, so that noise near zero does not fill the picture. */
  atLeast?: number | undefined;
}

function stacked(lines: ChartLine[]): (number | null)[][] {
  const sums: number[] = [];
  return lines.map(line => line.values.map((value, index) => (sums[index] = (sums[index] ?? 0) + (value ?? 0))));
}

function sinceBeginning(seconds: number): string {
  const size = Math.round(seconds);
  if (size < 120) return `${size} s`;
  const [hours, minutes, rest] = [Math.floor(size / 3600), Math.floor((size % 3600) / 60), size % 60];
  return hours > 0 ? `${hours} h${minutes ? ` ${minutes} m` : ''}` : `${minutes} m${rest ? ` ${rest} s` : ''}`;
}

const timeSteps = [1, 2, 5, 10, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200, 86_400, 172_800, 604_800];
const clockFormat = new Intl.DateTimeFormat('en-GB', {hour: '2-digit', minute: '2-digit', second: '2-digit'});

function options(props: Props, width: number, height: number, colors: string[], hover: (index: number | null) => void): uPlot.Options {
  const axis = {
    stroke: token('ink-3'), font: `11px ${token('font')}`,
    grid: {stroke: token('line'), width: 1}, ticks: {show: false}, border: {show: false},
  };
  const days = (props.t.at(-1) ?? 0) - (props.t[0] ?? 0) > 43_200;
  const time = (seconds: number, step: number) => (!props.clock ? sinceBeginning(seconds) : days ? axisTime(seconds * 1000, Math.max(step, 3600)) : clockFormat.format(new Date(seconds * 1000)).slice(0, step < 60 ? 8 : 5));
  const step = props.style === 'step' ? uPlot.paths.stepped?.({align: 1}) : undefined;
  return {
    width, height, legend: {show: false}, padding: [8, 8, 0, 0],
    cursor: {y: false, points: {size: 6}, drag: {x: false, y: false}},
    scales: {x: {time: false}, y: {range: (_, low, high) => [Math.min(0, low), Math.max(high * 1.05, props.atLeast ?? 0, props.threshold ? props.threshold.value * 1.1 : 0, 1e-9)]}},
    axes: [
      {...axis, space: 70, size: 26, incrs: timeSteps, values: (_, splits) => splits.map(at => time(at, (splits[1] ?? Infinity) - (splits[0] ?? 0)))},
      {...axis, size: 56, space: 28, values: (_, splits) => splits.map(value => props.format(value))},
    ],
    series: [{}, ...props.lines.map((line, index) => ({
      label: line.name, stroke: colors[index]!, width: 1.75, points: {show: false},
      ...(step ? {paths: step} : {}), ...(props.style === 'stack' && index === 0 ? {fill: `${colors[0]}40`} : {}),
      // A second cue besides the colour, for those who cannot tell two of them apart.
      ...(index > 0 ? {dash: [[7, 3], [2, 3], [9, 3, 2, 3]][(index - 1) % 3]!} : {}),
    }))],
    bands: props.style === 'stack' ? props.lines.slice(1).map((_, index) => ({series: [index + 2, index + 1], fill: `${colors[index + 1]}40`}) as uPlot.Band) : [],
    hooks: {
      setCursor: [chart => hover(chart.cursor.idx ?? null)],
      draw: [chart => {
        if (!props.threshold) return;
        const y = chart.valToPos(props.threshold.value, 'y', true);
        const {ctx, bbox} = chart;
        ctx.save();
        ctx.strokeStyle = token('bad-mark');
        ctx.setLineDash([6, 4]);
        ctx.lineWidth = 1.5 * devicePixelRatio;
        ctx.beginPath();
        ctx.moveTo(bbox.left, y);
        ctx.lineTo(bbox.left + bbox.width, y);
        ctx.stroke();
        ctx.restore();
      }],
    },
  };
}

/** Lines over time, with a legend that says the values where one points, else the latest. */
export function Chart(props: Props) {
  const {title, t, lines, format, style, height = 160, threshold, clock} = props;
  const [holder, width] = useWidth<HTMLDivElement>();
  const theme = useTheme();
  const chart = useRef<uPlot | null>(null);
  const [hover, setHover] = useState<number | null>(null);
  const names = lines.map(line => line.name).join('\n');
  const colors = useMemo(() => lines.map((_, index) => categoryColor(theme, index)), [theme, names]);
  const data = useMemo(() => [t, ...(style === 'stack' ? stacked(lines) : lines.map(line => line.values))] as uPlot.AlignedData, [t, lines, style]);
  const latest = useRef(data);
  latest.current = data;

  useEffect(() => {
    if (!holder.current || width === 0) return undefined;
    const made = new uPlot(options(props, width, height, colors, setHover), latest.current, holder.current);
    chart.current = made;
    return () => {
      chart.current = null;
      made.destroy();
    };
    // What changes with every patch goes in by setData below.
  }, [width, height, theme, names, style, threshold?.value, clock]);
  useEffect(() => chart.current?.setData(data), [data]);

  const at = hover !== null && hover < t.length ? hover : t.length - 1;
  const words = lines.map(line => `${line.name} ${format(line.values[t.length - 1] ?? NaN)}`).join(', ');
  return (
    <figure class="chart" role="img" aria-label={`${title}: ${t.length} points, latest ${words}`}>
      <figcaption class="chart-legend" aria-hidden="true">
        {lines.map((line, index) => (
          <span key={line.name} class="chart-key">
            <svg width="18" height="8"><path d="M0 4H18" stroke={colors[index]} stroke-width="2.5" {...(index > 0 ? {'stroke-dasharray': ['5 3', '2 3', '6 2 2 2'][(index - 1) % 3]} : {})} /></svg>
            {line.name} <b>{format(line.values[at] ?? NaN)}</b>
          </span>
        ))}
        {threshold && <span class="chart-key threshold">{threshold.name} <b>{format(threshold.value)}</b></span>}
        {hover !== null && at >= 0 && <span class="chart-time">{clock ? clockFormat.format(new Date(t[at]! * 1000)) : sinceBeginning(t[at] ?? 0)}</span>}
      </figcaption>
      <div class="chart-plot" ref={holder} style={{height: `${height}px`}} />
    </figure>
  );
}
