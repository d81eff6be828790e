// The back end in Next, as app/api/chat/[[...path]]/route.js: its route handlers are the functions themselves.
export { chat as GET, chat as POST } from './chat.mjs';
