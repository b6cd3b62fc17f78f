// Writes the built files as C++ string literals: `node embed.mjs DIST OUT.cc`.
import {readdirSync, readFileSync, statSync, writeFileSync, renameSync} from 'node:fs';
import {extname, join} from 'node:path';

const types = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};
// One literal a line, so that compilers and people who open the file are not asked to read one line of 200 KB.
const bytesPerLine = 4000;

function escaped(byte) {
  const character = String.fromCharCode(byte);
  if (byte < 0x20 || byte > 0x7e || character === '?') return '\\' + byte.toString(8).padStart(3, '0');
  return character === '"' || character === '\\' ? '\\' + character : character;
}

function literal(bytes) {
  const lines = [];
  for (let at = 0; at < bytes.length; at += bytesPerLine) {
    lines.push('    "' + Array.from(bytes.subarray(at, at + bytesPerLine), escaped).join('') + '"');
  }
  return lines.join('\n') || '    ""';
}

function* files(root, under = '') {
  for (const name of readdirSync(join(root, under)).sort()) {
    const path = under + '/' + name;
    if (statSync(join(root, path)).isDirectory()) yield* files(root, path);
    else yield path;
  }
}

const [dist, out] = process.argv.slice(2);
const assets = [];
let report = '';
for (const path of files(dist)) {
  const bytes = readFileSync(join(dist, path));
  if (path === '/report.html') {
    report = `const std::string_view kReport{\n${literal(bytes)},\n    ${bytes.length}};\n`;
    continue;
  }
  const type = types[extname(path)];
  if (!type) throw new Error(`${path}: no content type is known for it`);
  assets.push(`    {"${path}", "${type}",\n     {\n${literal(bytes)},\n      ${bytes.length}}},\n`);
}
if (!report || assets.length === 0) throw new Error(`${dist}: the page or the report is missing`);
const text = `// Made by src/dashboard/page/embed.mjs.
#include "dashboard/page_assets.h"

namespace evenkeel::dashboard {
namespace {

const PageAsset kAssets[] = {
${assets.join('')}};
${report}
}  // namespace

std::span<const PageAsset> PageAssets() { return kAssets; }
std::string_view ReportTemplate() { return kReport; }

}  // namespace evenkeel::dashboard
`;
writeFileSync(out + '.new', text);
renameSync(out + '.new', out);
