// The playground's files, which the Worker asks for by the binding ASSETS.

const TYPES = { html: 'text/html; charset=utf-8', js: 'text/javascript', css: 'text/css', txt: 'text/plain; charset=utf-8' };

export default {
  async fetch(request, env) {
    const { pathname } = new URL(request.url);
    const found = await env.FOLDER.fetch(`http://page${pathname === '/' ? '/index.html' : pathname}`, { method: request.method });
    const type = TYPES[pathname === '/' ? 'html' : pathname.split('.').at(-1)];
    if (!found.ok || !type) return new Response(null, { status: 404 });
    return new Response(found.body, { headers: { 'content-type': type } });
  },
};
