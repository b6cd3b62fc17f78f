import {useEffect, useId, useLayoutEffect, useRef, useState} from 'preact/hooks';
import type {Theme} from '../theme';
import {useTheme, useWidth} from './hooks';

/** A box on the picture, in CSS pixels. */
export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface Plan {
  height: number;
  boxes: Box[];
  paint: (context: CanvasRenderingContext2D, theme: Theme) => void;
}

interface Props {
  label: string;
  /** Where everything goes in this width. Called for every new drawing, so it has to be cheap. */
  plan: (width: number) => Plan;
  /** The box's thing in words. */
  describe: (index: number) => string;
  selected: number | null;
  onSelect: (index: number) => void;
}

/**
 * Thousands of boxes on one canvas that can be pointed at, and walked through by the arrow keys. For a screen reader it is a list with one
 * entry, the one that is walked to; whoever wants to read all of them finds a table beside every picture.
 */
export function Picture({label, plan, describe, selected, onSelect}: Props) {
  const [holder, width] = useWidth<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const theme = useTheme();
  const [pointed, setPointed] = useState<number | null>(null);
  const [focused, setFocused] = useState(false);
  const id = useId();
  const planned = width > 0 ? plan(width) : null;
  const last = useRef(planned);
  last.current = planned;

  useLayoutEffect(() => {
    const element = canvas.current;
    if (!element || !planned) return;
    const scale = devicePixelRatio || 1;
    const [wide, high] = [Math.round(width * scale), Math.round(planned.height * scale)];
    if (element.width !== wide || element.height !== high) {
      element.width = wide;
      element.height = high;
      element.style.height = `${planned.height}px`;
    }
    const context = element.getContext('2d');
    if (!context) return;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, planned.height);
    planned.paint(context, theme);
  });
  // Things go away while they are pointed at.
  const count = planned?.boxes.length ?? 0;
  useEffect(() => {
    if (pointed !== null && pointed >= count) setPointed(null);
  }, [pointed, count]);

  const at = (event: MouseEvent): number | null => {
    const bounds = canvas.current!.getBoundingClientRect();
    const [x, y] = [event.clientX - bounds.left, event.clientY - bounds.top];
    const index = last.current?.boxes.findIndex(box => x >= box.x && x < box.x + box.width && y >= box.y && y < box.y + box.height) ?? -1;
    return index < 0 ? null : index;
  };
  const walk = (event: KeyboardEvent) => {
    const boxes = last.current?.boxes ?? [];
    const next = walked(boxes, selected, event.key);
    if (next === null) return;
    event.preventDefault();
    onSelect(next);
  };
  const marked = focused && selected !== null ? planned?.boxes[selected] : undefined;
  const chosen = selected !== null ? planned?.boxes[selected] : undefined;
  const tip = pointed ?? (focused ? selected : null);
  const tipBox = tip !== null ? planned?.boxes[tip] : undefined;
  return (
    <div class="picture" ref={holder}>
      <div
        role="listbox" aria-label={label} tabIndex={0} {...(selected !== null ? {'aria-activedescendant': id} : {})}
        onKeyDown={walk} onFocus={() => setFocused(true)} onBlur={() => setFocused(false)}
        onMouseMove={event => setPointed(at(event))} onMouseLeave={() => setPointed(null)}
        onClick={event => {
          const index = at(event);
          if (index !== null) onSelect(index);
        }}
      >
        <canvas ref={canvas} aria-hidden="true" />
        <div role="option" id={id} aria-selected={selected !== null} class="unseen">
          {selected !== null && chosen ? describe(selected) : `${count}, the arrow keys walk through them`}
        </div>
      </div>
      {chosen && <span class={marked ? 'picture-mark focused' : 'picture-mark'} style={boxStyle(chosen)} />}
      {tip !== null && tipBox && (
        <span class="tip" style={tipStyle(tipBox, width)}>
          {describe(tip)}
        </span>
      )}
    </div>
  );
}

function boxStyle(box: Box) {
  return {left: `${box.x}px`, top: `${box.y}px`, width: `${box.width}px`, height: `${box.height}px`};
}

/** Above the box, and as far to its left as the box is from the picture's left side: so it never sticks out. */
function tipStyle(box: Box, width: number) {
  const middle = box.x + box.width / 2;
  return {left: `${middle}px`, top: `${box.y}px`, transform: `translate(${-100 * Math.min(1, Math.max(0, middle / width))}%, calc(-100% - 8px))`};
}

/** Text that ends with an ellipsis where there is no room for all of it. */
export function fitted(context: CanvasRenderingContext2D, text: string, width: number): string {
  if (context.measureText(text).width <= width) return text;
  let kept = text.length - 1;
  while (kept > 1 && context.measureText(`${text.slice(0, kept)}…`).width > width) kept--;
  return `${text.slice(0, kept)}…`;
}

/** Left and right in their order; up and down to the nearest one in the next row. */
function walked(boxes: Box[], from: number | null, key: string): number | null {
  if (boxes.length === 0) return null;
  if (key === 'Home') return 0;
  if (key === 'End') return boxes.length - 1;
  if (key !== 'ArrowLeft' && key !== 'ArrowRight' && key !== 'ArrowUp' && key !== 'ArrowDown') return null;
  const here = from !== null ? boxes[from] : undefined;
  if (from === null || !here) return 0;
  if (key === 'ArrowLeft') return Math.max(0, from - 1);
  if (key === 'ArrowRight') return Math.min(boxes.length - 1, from + 1);
  const down = key === 'ArrowDown';
  const beyond = boxes.filter(box => (down ? box.y > here.y : box.y < here.y));
  if (beyond.length === 0) return from;
  const row = down ? Math.min(...beyond.map(box => box.y)) : Math.max(...beyond.map(box => box.y));
  let best = from;
  let distance = Infinity;
  boxes.forEach((box, index) => {
    const off = Math.abs(box.x - here.x);
    if (box.y === row && off < distance) [best, distance] = [index, off];
  });
  return best;
}
