// The other implementation's side of the files that both have in common, as far as their formats and rules are written
// down: ledger (section 6), consent store (7), content hash (8), shared files (10), locks (13). Written from that
// description for the tests in this folder; it is nobody's program.
import { createHash, randomBytes } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

const [verb, ...args] = process.argv.slice(2);
const ID = /^[a-z][a-z0-9-]*$/;
const RESERVED = ['__proto__', 'constructor', 'prototype'];
const isObject = (value) => value !== null && typeof value === 'object' && !Array.isArray(value);
const isText = (value) => typeof value === 'string';
const isFilled = (value) => isText(value) && value !== '';
const isSafeId = (value) => isText(value) && ID.test(value) && !RESERVED.includes(value);

const ledgerOf = (root) => path.join(root, '.gsd-capabilities.json');
const bundlesOf = (root) => path.join(root, '.gsd', 'capabilities');
const storeOf = (home) => path.join(home, '.gsd', 'consent.json');

function writeTogether(file, document) {
  const temporary = `${file}.tmp.${process.pid}-${randomBytes(4).toString('hex')}`;
  const handle = fs.openSync(temporary, 'wx');
  fs.writeSync(handle, JSON.stringify(document, null, 2) + '\n');
  fs.fsyncSync(handle);
  fs.closeSync(handle);
  fs.renameSync(temporary, file);
}

// --- ledger ---

function objection(ledger) {
  if (!isObject(ledger)) return 'not an object';
  if (ledger.version !== '1') return 'version';
  if (!isFilled(ledger.updatedAt)) return 'updatedAt';
  if (!isObject(ledger.entries)) return 'entries';
  const entries = Object.entries(ledger.entries);
  if (entries.length > 4096) return 'too many entries';
  for (const [key, entry] of entries) {
    if (!isSafeId(key) || !isObject(entry) || entry.id !== key) return `${key}: id`;
    for (const name of ['version', 'source', 'integrity']) if (!isText(entry[name])) return `${key}: ${name}`;
    if (!Array.isArray(entry.files) || entry.files.length > 10000 || !entry.files.every(isText)) return `${key}: files`;
    const edits = entry.sharedEdits;
    if (!Array.isArray(edits) || edits.length > 256) return `${key}: sharedEdits`;
    if (!edits.every((edit) => isObject(edit) && isFilled(edit.file) && isFilled(edit.marker))) return `${key}: edit`;
    if ('_pending' in entry) {
      const intent = entry._pending;
      if (!isObject(intent) || !['install', 'upgrade'].includes(intent.kind)) return `${key}: intent`;
      if (intent.backupName !== null && !isText(intent.backupName)) return `${key}: backupName`;
      if (!Array.isArray(intent.sharedFiles) || !intent.sharedFiles.every(isText)) return `${key}: sharedFiles`;
    }
  }
  return null;
}

function readLedger(root) {
  if (!fs.existsSync(ledgerOf(root))) return null;
  const size = fs.statSync(ledgerOf(root)).size;
  if (size > 8 * 1024 * 1024) throw new Error('EFBIG');
  const ledger = JSON.parse(fs.readFileSync(ledgerOf(root), 'utf8'));
  const wrong = objection(ledger);
  if (wrong) throw new Error(`corrupt: ${wrong}`);
  return ledger;
}

function writeLedger(root, entries) {
  writeTogether(ledgerOf(root), { version: '1', updatedAt: new Date().toISOString(), entries });
}

// --- content hash ---

function contentHash(root) {
  const entries = [];
  const walk = (below) => {
    for (const entry of fs.readdirSync(path.join(root, below), { withFileTypes: true })) {
      const name = below === '' ? entry.name : `${below}/${entry.name}`;
      if (entry.isDirectory()) {
        entries.push([Buffer.from(name), null]);
        walk(name);
      } else if (entry.isFile()) {
        entries.push([Buffer.from(name), fs.readFileSync(path.join(root, name))]);
      } else throw new Error(`${name}: neither file nor folder`);
    }
  };
  walk('');
  entries.sort((left, right) => Buffer.compare(left[0], right[0]));
  const hash = createHash('sha512');
  const number = (value, bytes) => {
    const buffer = Buffer.alloc(bytes);
    if (bytes === 8) buffer.writeBigUInt64BE(BigInt(value));
    else buffer.writeUInt32BE(value);
    hash.update(buffer);
  };
  number(entries.length, 8);
  for (const [name, bytes] of entries) {
    hash.update(Buffer.from([bytes === null ? 2 : 1]));
    number(name.length, 4);
    hash.update(name);
    if (bytes !== null) {
      number(bytes.length, 8);
      hash.update(bytes);
    }
  }
  return `sha512-${hash.digest('base64')}`;
}

// --- consent store ---

function isRecord(record) {
  return isObject(record) && isFilled(record.projectRoot) && isSafeId(record.id) && record.scope === 'project'
    && isText(record.integrity) && isText(record.disclosureSignature) && isFilled(record.contentHash)
    && isFilled(record.consentedAt) && (record.reviewerHost === undefined || isText(record.reviewerHost));
}

const keyOf = (record) => JSON.stringify({ r: record.projectRoot, i: record.id });

function readRecords(home) {
  try {
    const store = JSON.parse(fs.readFileSync(storeOf(home), 'utf8'));
    if (!isObject(store) || !isObject(store.records)) return {};
    const records = {};
    for (const record of Object.values(store.records)) if (isRecord(record)) records[keyOf(record)] = record;
    return records;
  } catch {
    return {};
  }
}

function putRecord(home, projectRoot, id, contentHashOrNull) {
  const records = readRecords(home);
  const record = {
    projectRoot, id, scope: 'project', integrity: '', disclosureSignature: '[[],[],[]]',
    contentHash: contentHashOrNull, consentedAt: new Date().toISOString(),
  };
  if (contentHashOrNull === null) delete records[keyOf(record)];
  else records[keyOf(record)] = record;
  fs.mkdirSync(path.dirname(storeOf(home)), { recursive: true });
  writeTogether(storeOf(home), { version: '1', records });
}

// --- shared files ---

function strip(root, files, id) {
  let stripped = 0;
  for (const file of files) {
    let document;
    try {
      document = JSON.parse(fs.readFileSync(path.join(root, file), 'utf8'));
    } catch {
      continue;
    }
    const before = stripped;
    for (const [event, groups] of Object.entries(document.hooks ?? {})) {
      if (!Array.isArray(groups)) continue;
      const kept = groups.filter((group) => group?._gsdCapability !== id);
      stripped += groups.length - kept.length;
      if (kept.length === 0) delete document.hooks[event];
      else document.hooks[event] = kept;
    }
    for (const [name, server] of Object.entries(document.mcpServers ?? {})) {
      if (server?._gsdCapability === id) {
        delete document.mcpServers[name];
        stripped += 1;
      }
    }
    if (stripped === before) continue;
    for (const name of ['hooks', 'mcpServers'])
      if (isObject(document[name]) && Object.keys(document[name]).length === 0) delete document[name];
    writeTogether(path.join(root, file), document);
  }
  return stripped;
}

function insert(root, files, id, manifest) {
  const bundle = fs.realpathSync(path.join(bundlesOf(root), id));
  const edits = [];
  for (const file of files) {
    const target = path.join(root, file);
    let document = {};
    try {
      document = JSON.parse(fs.readFileSync(target, 'utf8'));
    } catch { /* what does not parse is begun anew */ }
    for (const hook of manifest.hooks ?? []) {
      const quoted = `'${path.join(bundle, hook.script).replaceAll("'", "'\\''")}'`;
      const command = /\.[cm]?js$/.test(hook.script) ? `node ${quoted}` : quoted;
      const group = { _gsdCapability: id, hooks: [{ type: 'command', command }] };
      if (hook.matcher) group.matcher = hook.matcher;
      document.hooks ??= {};
      document.hooks[hook.event] = [...(document.hooks[hook.event] ?? []), group];
    }
    for (const [name, config] of Object.entries(manifest.mcpServers ?? {})) {
      document.mcpServers ??= {};
      if (document.mcpServers[name] && document.mcpServers[name]._gsdCapability !== id) continue;
      document.mcpServers[name] = { ...config, _gsdCapability: id };
    }
    fs.mkdirSync(path.dirname(target), { recursive: true });
    writeTogether(target, document);
    edits.push({ file, marker: id });
  }
  return edits;
}

// --- locks ---

function startOf(pid) {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  } catch {
    return null;
  }
}

function verdictOn(lock) {
  let text;
  try {
    text = fs.readFileSync(lock, 'utf8');
  } catch {
    return { held: false, why: 'free' };
  }
  const body = JSON.parse(text);
  const shape = /^\d+-\d+-/.test(body.token) && Number.isInteger(body.pid) && isText(body.hostname)
    && (body.startTime === null || isText(body.startTime)) && Number.isInteger(body.ts);
  let alive = true;
  try {
    process.kill(body.pid, 0);
  } catch (error) {
    alive = error.code === 'EPERM';
  }
  const verified = body.hostname === os.hostname() && alive && body.startTime === startOf(body.pid);
  return { held: Date.now() - body.ts <= 60000 || verified, shape, verified, pid: body.pid, line: !text.includes('\n') };
}

function hold(lock) {
  fs.mkdirSync(path.dirname(lock), { recursive: true });
  const token = `${process.pid}-${Date.now()}-0`;
  const body = { token, pid: process.pid, hostname: os.hostname(), startTime: startOf(process.pid), ts: Date.now() };
  const handle = fs.openSync(lock, 'wx');
  fs.writeSync(handle, JSON.stringify(body));
  fs.closeSync(handle);
  return () => {
    if (JSON.parse(fs.readFileSync(lock, 'utf8')).token === token) fs.unlinkSync(lock);
  };
}

// --- verbs ---

const say = (value) => process.stdout.write(JSON.stringify(value) + '\n');

const verbs = {
  // ROOT HOME SOURCE SHARED: an install, or an update of what is there. HOME is `-` for the global scope.
  install([root, home, source, ...shared]) {
    const release = hold(path.join(bundlesOf(root), '.lock'));
    const manifest = JSON.parse(fs.readFileSync(path.join(source, 'capability.json'), 'utf8'));
    const { id, version } = manifest;
    const entries = readLedger(root)?.entries ?? {};
    const old = (entries[id]?.sharedEdits ?? []).map((edit) => edit.file);
    const live = path.join(bundlesOf(root), id);
    fs.rmSync(live, { recursive: true, force: true });
    fs.cpSync(source, live, { recursive: true });
    strip(root, [...new Set([...old, ...shared])], id);
    const sharedEdits = insert(root, shared, id, manifest);
    entries[id] = { id, version, source, integrity: '', files: [`.gsd/capabilities/${id}`], sharedEdits };
    writeLedger(root, entries);
    if (home !== '-') putRecord(home, fs.realpathSync(root), id, contentHash(live));
    release();
    say({ status: 'installed', id, version });
  },
  remove([root, home, id]) {
    const release = hold(path.join(bundlesOf(root), '.lock'));
    const { entries } = readLedger(root);
    const strippedEdits = strip(root, entries[id].sharedEdits.map((edit) => edit.file), id);
    for (const file of entries[id].files) fs.rmSync(path.join(root, file), { recursive: true, force: true });
    delete entries[id];
    writeLedger(root, entries);
    if (home !== '-') putRecord(home, fs.realpathSync(root), id, null);
    release();
    say({ status: 'removed', id, strippedEdits });
  },
  // What another write of theirs does to everything: unknown members of the envelopes go, all is spelled anew.
  rewrite([root, home]) {
    const ledger = readLedger(root);
    if (ledger) writeLedger(root, ledger.entries);
    if (fs.existsSync(storeOf(home))) writeTogether(storeOf(home), { version: '1', records: readRecords(home) });
    say({ status: 'rewritten' });
  },
  // What they make of our files.
  judge([root, home, id]) {
    const ledger = readLedger(root);
    const live = path.join(bundlesOf(root), id);
    const hash = fs.existsSync(live) ? contentHash(live) : null;
    const records = Object.values(readRecords(home));
    const projectRoot = fs.realpathSync(root);
    say({
      entry: ledger?.entries[id] ?? null,
      ids: Object.keys(ledger?.entries ?? {}),
      granted: records.some((record) => record.projectRoot === projectRoot && record.id === id && record.contentHash === hash),
      records: records.length,
      keys: Object.entries(readRecords(home)).every(([key, record]) => key === keyOf(record)),
      hash,
    });
  },
  lock: ([lock]) => say(verdictOn(lock)),
  // Holds a lock until standard input ends.
  hold([lock]) {
    const release = hold(lock);
    say({ status: 'held', pid: process.pid });
    process.stdin.resume();
    process.stdin.on('end', () => {
      release();
      process.exit(0);
    });
  },
};

verbs[verb](args);
