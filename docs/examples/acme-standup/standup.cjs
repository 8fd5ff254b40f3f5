'use strict';

// The command family `standup`: what was committed lately, grouped by author.
// The router receives { args, cwd, raw, error }: args[0] is the family, cwd the project root, raw asks for JSON.

const { spawnSync } = require('node:child_process');

const USAGE = 'usage: standup [--since WHEN] [--all] (WHEN as git understands it, default "1 day ago")';
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;

/** Reads the arguments after the family name. */
function parse(args, error) {
  const options = { since: '1 day ago', branches: 'HEAD' };
  for (let i = 0; i < args.length; i += 1) {
    if (args[i] === '--all') options.branches = '--branches';
    else if (args[i].startsWith('--since=')) options.since = args[i].slice('--since='.length);
    else if (args[i] === '--since' && i + 1 < args.length) options.since = args[(i += 1)];
    else return error(USAGE, 'usage');
  }
  if (options.since.trim() === '') return error(USAGE, 'usage');
  return options;
}

/** Commits as { author, hash, subject }, oldest first. */
function commits(cwd, options, error) {
  // One argument with `=`: whatever WHEN is, git cannot take it for an option of its own.
  const args = ['--no-pager', '-c', 'log.showSignature=false', 'log', options.branches, '--no-merges', '--reverse',
    '--no-color', `--since=${options.since}`, '--format=%aN%x00%h%x00%s', '-z'];
  const git = spawnSync('git', args, { cwd, encoding: 'utf8', maxBuffer: MAX_OUTPUT_BYTES });
  if (git.error) return error(`cannot run git: ${git.error.message}`);
  if (git.status !== 0) {
    if (/does not have any commits yet|ambiguous argument 'HEAD'/.test(git.stderr)) return [];
    return error(git.stderr.trim() || `git log ended with status ${git.status}`);
  }
  const fields = git.stdout.split('\0');
  const found = [];
  for (let i = 0; i + 2 < fields.length; i += 3) {
    found.push({ author: fields[i], hash: fields[i + 1], subject: fields[i + 2] });
  }
  return found;
}

/** Names and subjects come from strangers: nothing that moves the cursor reaches the terminal. */
function plain(text) {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ').trim();
}

function group(list) {
  const authors = new Map();
  for (const { author, hash, subject } of list) {
    const name = plain(author) || '(no name)';
    if (!authors.has(name)) authors.set(name, []);
    authors.get(name).push({ hash, subject: plain(subject) });
  }
  return [...authors].map(([author, items]) => ({ author, commits: items }))
    .sort((a, b) => (a.author < b.author ? -1 : 1));
}

function render(groups, since) {
  if (groups.length === 0) return `No commits since ${plain(since)}.\n`;
  return groups.map(({ author, commits: items }) => {
    const lines = items.map(({ hash, subject }) => `  ${hash} ${subject}`);
    return `${author} (${items.length})\n${lines.join('\n')}\n`;
  }).join('\n');
}

function routeStandup({ args, cwd, raw, error }) {
  const options = parse(args.slice(1), error);
  if (!options) return;
  const list = commits(cwd, options, error);
  if (!list) return;
  const groups = group(list);
  process.stdout.write(raw ? `${JSON.stringify({ since: options.since, authors: groups })}\n` : render(groups, options.since));
}

module.exports = { routeStandup };
