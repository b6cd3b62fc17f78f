import {defineConfig, type Plugin} from 'vite';

/** Puts the script and the style of a page into it, so that it is one file that can be mailed and opened from a disk. */
function inlined(): Plugin {
  return {
    name: 'inlined',
    enforce: 'post',
    generateBundle(_, bundle) {
      const page = bundle['report.html'];
      if (page?.type !== 'asset') throw new Error('report.html was not built');
      let html = String(page.source);
      for (const [name, part] of Object.entries(bundle)) {
        if (part === page) continue;
        const text = part.type === 'chunk' ? part.code : String(part.source);
        const [tag, element] = part.type === 'chunk'
          ? [/\s*<script[^>]*><\/script>/, `<script type="module">${text.replaceAll('</script', '<\\/script').replaceAll('<!--', '<\\!--')}</script>`]
          : [/\s*<link rel="stylesheet"[^>]*>/, `<style>${text}</style>`];
        if (!tag.test(html)) throw new Error(`${name} has no place in report.html`);
        // A function, since $ has a meaning in a replacement.
        html = html.replace(tag, () => element);
        delete bundle[name];
      }
      page.source = html;
    },
  };
}

export default defineConfig(({mode}) => ({
  base: mode === 'report' ? './' : '/',
  plugins: mode === 'report' ? [inlined()] : [],
  esbuild: {jsx: 'automatic', jsxImportSource: 'preact', legalComments: 'none'},
  build: {
    target: 'es2022',
    emptyOutDir: mode !== 'report',
    // Inlined data: URLs would need an exception in the content security policy.
    assetsInlineLimit: 0,
    modulePreload: false,
    reportCompressedSize: false,
    rollupOptions: {input: mode === 'report' ? 'report.html' : 'index.html'},
  },
  // `npm run dev` beside a running program: EVENKEEL_DASHBOARD names its address.
  server: {proxy: {'/api': process.env.EVENKEEL_DASHBOARD ?? 'http://127.0.0.1:8080', '/login': process.env.EVENKEEL_DASHBOARD ?? 'http://127.0.0.1:8080'}},
}));
