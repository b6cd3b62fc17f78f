import {useMemo} from 'preact/hooks';
import {loadColor, loadInk, token} from '../color';
import {percent} from '../format';
import type {NodeState} from '../live/documents';
import type {Theme} from '../theme';
import {fitted, Picture, type Box, type Plan} from './picture';

export interface Cell {
  name: string;
  /** 0..1 and above; null where it is not known. */
  share: number | null;
  state: NodeState | string;
  words: string;
}

export interface CellGroup {
  name: string;
  note: string;
  cells: Cell[];
}

const labelHeight = 24;
const gap = 3;
const manyGroups = 8;
const columnWidth = 220;
/** Up to so many cells have their names on them. */
const fewCells = 24;
const namedWidth = 148;
const namedHeight = 44;

interface Size {
  width: number;
  height: number;
  named: boolean;
}

/** Large where there are few, and never so small that one cannot point at it. `room`: the width of a group. */
function cellSize(count: number, room: number, named: boolean): Size {
  if (named) {
    const perRow = Math.max(1, Math.floor((room + gap) / (namedWidth + gap)));
    return {width: Math.min(220, (room + gap) / perRow - gap), height: namedHeight, named};
  }
  const side = count <= 60 ? (room < 500 ? 26 : 32) : count <= 300 ? 22 : count <= 1500 ? 14 : 10;
  return {width: side, height: side, named};
}

function hatch(context: CanvasRenderingContext2D, box: Box, color: string) {
  context.save();
  context.beginPath();
  context.rect(box.x, box.y, box.width, box.height);
  context.clip();
  context.strokeStyle = color;
  context.lineWidth = 1.5;
  context.beginPath();
  for (let x = box.x - box.height; x < box.x + box.width; x += 5) {
    context.moveTo(x, box.y + box.height);
    context.lineTo(x + box.height, box.y);
  }
  context.stroke();
  context.restore();
}

/** On a cell that is large enough: whose it is, and its share, or what is the matter with it. */
function paintName(context: CanvasRenderingContext2D, theme: Theme, cell: Cell, box: Box, colors: Record<string, string>) {
  const [filled, inset] = [cell.share !== null && cell.state !== 'Upcoming', cell.state === 'NotReady' ? 22 : 10];
  context.fillStyle = filled ? loadInk(theme, cell.share!) : colors.ink!;
  context.font = `600 12px ${token('font')}`;
  context.fillText(fitted(context, cell.name, box.width - inset - 8), box.x + inset, box.y + 18);
  context.font = `12px ${token('font')}`;
  const words = [cell.share === null || cell.state === 'Upcoming' ? '' : percent(cell.share), stateWords[cell.state] ?? ''].filter(Boolean).join(', ');
  context.fillText(fitted(context, words, box.width - inset - 8), box.x + inset, box.y + 35);
}

const stateWords: Record<string, string> = {NotReady: 'not ready', Cordoned: 'cordoned', Deleting: 'being removed', Upcoming: 'upcoming', Unknown: 'unknown'};

/** The state as a shape on the cell: hatched, crossed out, framed, dashed. `named`: its name will be on it, which nothing may cross. */
function paintCell(context: CanvasRenderingContext2D, theme: Theme, cell: Cell, box: Box, colors: Record<string, string>, named: boolean) {
  const inset = {x: box.x + 1, y: box.y + 1, width: box.width - 2, height: box.height - 2};
  if (cell.state === 'Upcoming') {
    context.strokeStyle = colors.line!;
    context.setLineDash([3, 2]);
    context.lineWidth = 1.5;
    context.strokeRect(inset.x, inset.y, inset.width, inset.height);
    context.setLineDash([]);
    return;
  }
  context.fillStyle = cell.share === null ? colors.sunken! : loadColor(theme, cell.share);
  context.fillRect(box.x, box.y, box.width, box.height);
  if (cell.state === 'Ready' || cell.state === 'Unknown') return;
  const color = cell.state === 'NotReady' ? colors.bad! : cell.state === 'Cordoned' ? colors.warn! : colors.ink!;
  if (cell.state === 'NotReady') hatch(context, named ? {...box, width: 14} : box, color);
  context.strokeStyle = color;
  context.lineWidth = 2;
  context.strokeRect(inset.x, inset.y, inset.width, inset.height);
  if (cell.state === 'Deleting' && !named) {
    context.beginPath();
    context.moveTo(inset.x, inset.y);
    context.lineTo(inset.x + inset.width, inset.y + inset.height);
    context.moveTo(inset.x + inset.width, inset.y);
    context.lineTo(inset.x, inset.y + inset.height);
    context.stroke();
  }
}

function paintLabel(context: CanvasRenderingContext2D, {name, note, x, y}: {name: string; note: string; x: number; y: number}, room: number) {
  context.fillStyle = token('ink-2');
  context.font = `600 12px ${token('font')}`;
  const shown = fitted(context, name, room);
  context.fillText(shown, x, y);
  const after = context.measureText(shown).width + 8;
  context.fillStyle = token('ink-3');
  context.font = `12px ${token('font')}`;
  if (after < room - 20) context.fillText(fitted(context, note, room - after), x + after, y);
}

function layout(groups: CellGroup[], width: number): Plan {
  const count = groups.reduce((sum, group) => sum + group.cells.length, 0);
  // Few groups have the whole width each; many stand beside each other.
  const columns = groups.length > manyGroups ? Math.max(1, Math.floor(width / columnWidth)) : 1;
  const pitch = width / columns;
  const room = pitch - (columns > 1 ? 16 : 0);
  const size = cellSize(count, room, columns === 1 && count <= fewCells);
  const perRow = Math.max(1, Math.floor((room + gap + 0.5) / (size.width + gap)));
  const boxes: Box[] = [];
  const labels: {name: string; note: string; x: number; y: number}[] = [];
  let y = 0;
  for (let first = 0; first < groups.length; first += columns) {
    let rows = 0;
    groups.slice(first, first + columns).forEach((group, column) => {
      const left = column * pitch;
      labels.push({name: group.name, note: group.note, x: left, y: y + 14});
      group.cells.forEach((_, index) => {
        const [column, row] = [index % perRow, Math.floor(index / perRow)];
        boxes.push({x: left + column * (size.width + gap), y: y + labelHeight + row * (size.height + gap), width: size.width, height: size.height});
      });
      rows = Math.max(rows, Math.ceil(group.cells.length / perRow));
    });
    y += labelHeight + rows * (size.height + gap) + 8;
  }
  const cells = groups.flatMap(group => group.cells);
  return {
    height: Math.max(y, size.height),
    boxes,
    paint: (context, theme) => {
      const colors = {ink: token('ink'), line: token('line-strong'), sunken: token('sunken'), bad: token('bad-mark'), warn: token('warn-mark')};
      for (const label of labels) paintLabel(context, label, room);
      cells.forEach((cell, index) => paintCell(context, theme, cell, boxes[index]!, colors, size.named));
      if (size.named) cells.forEach((cell, index) => paintName(context, theme, cell, boxes[index]!, colors));
    },
  };
}

/** Nodes by load, in groups. `selected` is a cell's name. */
export function HeatMap({label, groups, selected, onSelect}: {
  label: string; groups: CellGroup[]; selected: string | null; onSelect: (name: string) => void;
}) {
  const cells = useMemo(() => groups.flatMap(group => group.cells), [groups]);
  const index = selected === null ? -1 : cells.findIndex(cell => cell.name === selected);
  return (
    <Picture
      label={label} plan={width => layout(groups, width)} describe={at => cells[at]?.words ?? ''}
      selected={index < 0 ? null : index} onSelect={at => cells[at] && onSelect(cells[at].name)}
    />
  );
}

/** What the colours and shapes of a heat map say. */
export function HeatLegend({metric}: {metric: string}) {
  return (
    <p class="heat-legend">
      <span class="scale">{metric} 0 %<span class="scale-bar" aria-hidden="true" />100 %</span>
      <span class="key key-over">over 100 %</span>
      <span class="key key-notready">not ready</span>
      <span class="key key-cordoned">cordoned</span>
      <span class="key key-deleting">being removed</span>
      <span class="key key-upcoming">upcoming</span>
    </p>
  );
}
