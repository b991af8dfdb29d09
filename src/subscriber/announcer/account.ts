/** What a session was about, does, did and did not do: for "what is happening?" and for the sentence at its end. */
import type { QuestionOutcome } from "../../protocol/extension.ts";
import type {
  AgentEvent,
  ProgressUpdated,
  StateChanged,
  ToolCompleted,
  ToolInvoked,
} from "../../protocol/types.ts";
import type { Phrases } from "./phrase.ts";
import type { Reader } from "./reader.ts";
import type { Session } from "./sessions.ts";
import type { Run } from "./utterance.ts";

const MOST_TOOLS = 64;
/** By ear nobody keeps more apart. */
const MOST_NAMED = 3;

export class Account {
  note(event: AgentEvent, session: Session, reader: Reader): void {
    const said = reader.summary();
    switch (event.type) {
      case "aaep:agent.session.started":
        session.about = said && [said];
        return;
      case "aaep:agent.state.changed": {
        const { to_state } = event as StateChanged;
        session.awaiting = to_state === "awaiting_input";
        session.state = said
          ? [said]
          : reader.phrases.say("state_other", { state: reader.label(to_state.replaceAll("_", " ")) });
        return;
      }
      case "aaep:agent.progress.updated": {
        const { percent } = (event as ProgressUpdated).progress;
        session.progress = said
          ? [said]
          : percent === undefined
            ? undefined
            : [reader.phrases.own(`${reader.phrases.percent(percent)}.`)];
        return;
      }
      case "aaep:agent.tool.invoked": {
        const { tool, tool_call_id, irreversible = false } = event as ToolInvoked;
        session.tools.set(tool_call_id ?? tool, {
          said: said ?? reader.label(tool),
          brief: reader.brief() ?? reader.label(tool),
          irreversible,
        });
        if (session.tools.size > MOST_TOOLS) session.tools.delete(session.tools.keys().next().value!);
        session.progress = undefined;
        return;
      }
      case "aaep:agent.tool.completed": {
        const { tool, tool_call_id, status } = event as ToolCompleted;
        const known = session.tools.get(tool_call_id ?? tool);
        const words = known?.brief ?? reader.label(tool);
        session.tools.delete(tool_call_id ?? tool);
        // What broke off and cannot be undone, or ran out of time, may have happened all the same: then nothing is claimed.
        if (status === "success") session.done = named(session.done, words);
        else if (status === "error" && known?.irreversible === false)
          session.undone = named(session.undone, words);
        return;
      }
    }
  }

  /** For "what is happening?". What it did when it was last heard of may be long over. */
  report(session: Session, agent: string, lost: boolean, phrases: Phrases): Run[] {
    if (lost) return phrases.say("line_lost", { agent });
    return phrases.say("named", { agent, words: this.#status(session, phrases) });
  }

  #status(session: Session, phrases: Phrases): Run[] {
    const tool = [...session.tools.values()].at(-1)?.said;
    const doing = [tool ? [tool] : session.state, session.progress].filter((one) => one !== undefined);
    return phrases.join(doing.length > 0 ? doing : [session.about ?? phrases.say("still_working")]);
  }

  question(session: Session, outcome: QuestionOutcome | "ended" | "closed", brief: Run | undefined): void {
    // Whatever it does next, it does not wait for this any more.
    if (session.awaiting) session.state = undefined;
    if (brief && (outcome === "rejected" || outcome === "withdrawn"))
      session.undone = named(session.undone, brief);
  }

  /** One sentence of what was and was not done; none if there was nothing of either. */
  sentence(session: Session, phrases: Phrases): Run[][] {
    const { done, undone } = session;
    const slots = { done: listed(done, phrases), undone: listed(undone, phrases) };
    session.done = [];
    session.undone = [];
    if (done.length > 0 && undone.length > 0) return [phrases.say("done_and_not", slots)];
    if (done.length > 0) return [phrases.say("done", slots)];
    return undone.length > 0 ? [phrases.say("not_done", slots)] : [];
  }
}

const named = (before: readonly Run[], one: Run): Run[] => [...before, one].slice(-MOST_NAMED);

/** "check the balance, find flights": without the full stops that would end our sentence. */
function listed(runs: readonly Run[], phrases: Phrases): Run[] {
  const shown = runs.map((one) => ({ ...one, text: one.text.replace(/[.。!！…]+$/u, "") }));
  const comma = /^(?:ja|zh)/.test(phrases.language) ? "、" : /^ar/.test(phrases.language) ? "، " : ", ";
  return shown.flatMap((one, index) => (index === 0 ? [one] : [phrases.own(comma), one]));
}
