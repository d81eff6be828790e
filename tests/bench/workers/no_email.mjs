// What the Agents SDK imports of `cloudflare:email`, which workerd by itself does not have. No turn sends mail.
export class EmailMessage {}
