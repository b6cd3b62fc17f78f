import {useEffect, useLayoutEffect, useReducer, useRef, useState} from 'preact/hooks';
import type {RefObject} from 'preact';
import {parsed, replace, withParams} from '../route';
import {onTheme, theme, type Theme} from '../theme';

const tickers = new Set<() => void>();
let timer = 0;

/** The time, anew each second. All share one timer, so that the page is drawn once a second and not once per text. */
export function useNow(): number {
  const [now, set] = useState(() => Date.now());
  useEffect(() => {
    const tick = () => set(Date.now());
    tickers.add(tick);
    timer ||= window.setInterval(() => {
      if (!document.hidden) for (const each of tickers) each();
    }, 1000);
    return () => {
      tickers.delete(tick);
      if (tickers.size === 0) {
        clearInterval(timer);
        timer = 0;
      }
    };
  }, []);
  return now;
}

export function useTheme(): Theme {
  const [, redraw] = useReducer<number, void>(count => count + 1, 0);
  useEffect(() => onTheme(() => redraw()), []);
  return theme();
}

/** The width of an element in CSS pixels, 0 before it is laid out. */
export function useWidth<T extends HTMLElement>(): [RefObject<T>, number] {
  const element = useRef<T>(null);
  const [width, set] = useState(0);
  useLayoutEffect(() => {
    const observed = element.current;
    if (!observed) return undefined;
    set(Math.floor(observed.clientWidth));
    const observer = new ResizeObserver(entries => set(Math.floor(entries[0]!.contentRect.width)));
    observer.observe(observed);
    return () => observer.disconnect();
  }, []);
  return [element, width];
}

/** A choice that the next visit finds again. */
export function useStored(key: string, first: string): [string, (value: string) => void] {
  const [value, set] = useState(() => {
    try {
      return localStorage.getItem(`evenkeel-${key}`) ?? first;
    } catch {
      return first;
    }
  });
  return [value, next => {
    set(next);
    try {
      localStorage.setItem(`evenkeel-${key}`, next);
    } catch {
      // Then it lasts as long as the page.
    }
  }];
}

/** A choice that the address holds, so that it can be sent to somebody, and that the next visit finds again without it. */
export function useChoice(key: string, first: string): [string, (value: string) => void] {
  const [stored, store] = useStored(key, first);
  const [given, give] = useState(() => parsed(location.hash).query.get(key));
  return [given ?? stored, next => {
    give(next);
    store(next);
    replace(withParams({[key]: next}));
  }];
}
