/**
 * Tickets for browsers, whose EventSource cannot send headers: each opens the stream of one subscription only (CON-52).
 * URLs end up in histories and logs, so a ticket never authenticates a reply: see `server/http/handler.ts`.
 */
import { isExpired, type Principal } from "../protocol/principal.ts";
import { type Authenticator, sameSecret } from "./authenticate.ts";

interface Tickets {
  issue(subscription_id: string, principal: Principal): string;
  readonly authenticate: Authenticator;
}

const MAX_TICKETS = 10_000;

export function createTickets(random: () => string, now: () => number = Date.now): Tickets {
  const tickets = new Map<string, { ticket: string; principal: Principal }>();
  return {
    issue(subscription_id, principal) {
      const ticket = random();
      if (tickets.size >= MAX_TICKETS) tickets.delete(tickets.keys().next().value!);
      tickets.set(subscription_id, { ticket, principal });
      return ticket;
    },
    authenticate({ ticket, subscription_id }) {
      const known = subscription_id === undefined ? undefined : tickets.get(subscription_id);
      if (ticket === undefined || !known || !sameSecret(ticket, known.ticket)) return undefined;
      if (!isExpired(known.principal, now())) return known.principal;
      tickets.delete(subscription_id!);
      return undefined;
    },
  };
}
