// The room for bodies over raw connections (interface §3): it is taken as bytes come, and nobody who holds more than a
// share, or whose body stops coming, keeps others out of it.
import assert from 'node:assert/strict';
import net from 'node:net';
import { after, test } from 'node:test';
import { apiKeys, eventually, refusalOf, resultOf, rigForFile, userTurn } from './harness.mjs';
import { answer, text } from './scripted_model.mjs';

const [ACME, OTHER] = ['key-of-acme-5d1c', 'key-of-another-5d1c'];
const secret = Buffer.from('t'.repeat(32)).toString('base64');
const rig = rigForFile({
  vars: { AUTH: undefined, API_KEYS: apiKeys({ [ACME]: 'acme', [OTHER]: 'other' }), TICKET_KEYS: JSON.stringify([{ Id: 't', Secret: secret }]) },
});

const LONG = 8 * 1024 * 1024;
const sockets = new Set();
after(() => sockets.forEach((socket) => socket.destroy()));

/** Sends a head that announces a length, and so many bytes of white space. */
function begun(credential, announced, bytes) {
  const socket = net.connect(Number(rig.url.port), rig.url.hostname);
  sockets.add(socket);
  const connection = { answer: '', leave: () => socket.destroy() };
  connection.closed = new Promise((resolve) => socket.on('close', resolve));
  socket.on('data', (chunk) => (connection.answer += chunk));
  socket.on('error', () => {});
  const head = ['POST /execute HTTP/1.1', `Host: ${rig.url.host}`, `Authorization: Bearer ${credential}`];
  head.push('Content-Type: application/json', `Content-Length: ${announced}`, '', '');
  connection.sent = new Promise((resolve) => {
    socket.write(head.join('\r\n'));
    socket.write(Buffer.alloc(bytes, ' '), resolve);
  });
  return connection;
}

const statusOf = ({ answer }) => Number(/^HTTP\/1.1 (\d+)/.exec(answer)?.[1] ?? 0);
const ticketOf = async (User) => resultOf(await rig.request('POST', '/tickets', { body: { User, Operations: ['Execute'] }, key: ACME })).Ticket;

/** A turn whose body has so many bytes. */
async function turn(key, bytes = 0) {
  rig.model.script(answer(text('Hello.')));
  return rig.post(`${' '.repeat(bytes)}${JSON.stringify(userTurn())}`, { key });
}

/** Sends a body of so many bytes that is no JSON: who hears so had room for all of it. */
const takes = async (key, bytes) => assert.deepEqual(refusalOf(await rig.post(`${' '.repeat(bytes - 1)}{`, { key })), [400, 'malformed_json']);

test('what a guest announces and does not send keeps no other tenant out, and is refused for nothing', async () => {
  const guest = await ticketOf('guest');
  const idle = Array.from({ length: 303 }, (_, at) => begun(guest, at < 3 ? LONG : 65_536, 1));
  await Promise.all(idle.map(({ sent }) => sent));
  resultOf(await turn(OTHER, 80_000));
  resultOf(await turn(OTHER));
  await takes(OTHER, LONG);
  assert.deepEqual(new Set(idle.map(statusOf)), new Set([0]), 'each goes on waiting');
  idle.forEach(({ leave }) => leave());
  await Promise.all(idle.map(({ closed }) => closed));
});

test('a guest who fills the room gives way to another tenant and to another user, down to a quarter', async () => {
  const guest = await ticketOf('filling');
  const held = [];
  for (let at = 0; at < 3; at += 1) {
    held.push(begun(guest, LONG, LONG - 1));
    await held.at(-1).sent;
  }
  // A body of the guest's own finds no room once all of the others have come.
  await eventually(async () => {
    const own = begun(guest, LONG, LONG - 1);
    await own.sent;
    await new Promise((resolve) => setTimeout(resolve, 200));
    const status = statusOf(own);
    own.leave();
    return status === 503;
  }, 'the room is full');
  resultOf(await turn(OTHER, 80_000));
  await takes(await ticketOf('mate'), 7_000_000);
  await eventually(() => held.filter((each) => statusOf(each) === 503).length >= 1, 'who held most is told');
  assert.ok(held.some((each) => statusOf(each) === 0), 'a quarter stays');
  const told = held.find((each) => statusOf(each) === 503);
  assert.match(told.answer, /retry-after: 2/i);
  // The head may come before the body.
  await eventually(() => /"overloaded"/.test(told.answer), 'why it is refused');
  held.forEach(({ leave }) => leave());
});

test('an only body of permitted length is taken whatever else is there', async () => {
  const guests = await Promise.all(['u', 'v'].map(ticketOf));
  const others = guests.map((guest) => begun(guest, LONG, LONG - 1));
  await Promise.all(others.map(({ sent }) => sent));
  await takes(OTHER, LONG);
  assert.deepEqual(others.map(statusOf), [0, 0]);
  others.forEach(({ leave }) => leave());
});
