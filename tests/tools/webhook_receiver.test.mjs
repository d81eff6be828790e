// The receiver of webhooks that local work brings goes on, whatever comes.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { test } from 'node:test';
import { webhookReceiver } from '../../tools/dev/webhook_receiver.mjs';

test('a sender that leaves in the middle of a message ends nothing', async () => {
  const told = [];
  const { url, close } = await webhookReceiver((line) => told.push(line));
  try {
    const cut = net.connect(new URL(url).port, '127.0.0.1').resume().end('POST /hooks HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf');
    await once(cut, 'close');
    assert.equal((await fetch(url, { method: 'POST', body: '{}' })).status, 401);
    assert.deepEqual(told, Array(2).fill('webhook refused: no id, or not of now'));
  } finally {
    await close();
  }
});
