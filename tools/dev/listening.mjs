// Whether an address is free, before something is begun that would have to be taken back.
import net from 'node:net';

/** Resolves to the error of who would listen there now; `undefined` where nothing is in the way. Without a `host`, everywhere. */
export function whyNoListening(port, host) {
  return new Promise((resolve) => {
    const probe = net.createServer();
    probe.once('error', resolve);
    probe.listen(port, host, () => probe.close(() => resolve()));
  });
}
