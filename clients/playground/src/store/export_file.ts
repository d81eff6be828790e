// A session's export as the service writes it: the client reads JSON, which would hand numbers on as doubles. Owns that nothing
// else is taken for one, such as a proxy's page.
import { resultOf, toldBy } from '../../../typescript/src/http.js';
import { ask, headersOfUser } from './service.js';

export async function exportFile(session: string): Promise<Blob> {
  const response = await ask(`/sessions/${session}/export`, { headers: await headersOfUser() });
  const file = await response.blob();
  resultOf(await file.text().then(JSON.parse).catch(() => undefined), toldBy(response));
  return file;
}

/** Hands a file to the user, as a download. */
export function save(name: string, contents: Blob): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(contents);
  // The colon of an id is none of a file's name everywhere.
  link.download = name.replaceAll(':', '-');
  link.click();
  // The browser reads it by then.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
