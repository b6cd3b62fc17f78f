// The theme is a choice of the person where there is one, else of the system.

const key = 'evenkeel-theme';
export type Theme = 'light' | 'dark';

const system = matchMedia('(prefers-color-scheme: dark)');
const listeners = new Set<() => void>();

function chosen(): Theme | null {
  try {
    const value = localStorage.getItem(key);
    return value === 'light' || value === 'dark' ? value : null;
  } catch {
    // A page from a disk may not have a storage.
    return null;
  }
}

let current: Theme = 'light';

function apply(theme: Theme) {
  current = theme;
  document.documentElement.dataset.theme = theme;
  for (const listener of listeners) listener();
}

export function theme(): Theme {
  return current;
}

export function switchTheme() {
  const next: Theme = current === 'dark' ? 'light' : 'dark';
  try {
    // Back to what the system says is no choice any more, so that the page follows it again.
    if ((next === 'dark') === system.matches) localStorage.removeItem(key);
    else localStorage.setItem(key, next);
  } catch {
    // Then it lasts as long as the page.
  }
  apply(next);
}

/** Called after every change; what is drawn on a canvas has to be drawn again. */
export function onTheme(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function startTheme() {
  apply(chosen() ?? (system.matches ? 'dark' : 'light'));
  system.addEventListener('change', () => {
    if (!chosen()) apply(system.matches ? 'dark' : 'light');
  });
}
