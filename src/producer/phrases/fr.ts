import type { Phrases } from "../phrases.ts";

const unit = (count: number, name: string) => `${count} ${name}${count > 1 ? "s" : ""}`;

function duration(seconds: number): string {
  const minutes = Math.floor(seconds / 60);
  const rest = minutes >= 10 ? 0 : seconds % 60;
  const parts = [
    ...(minutes > 0 ? [unit(minutes, "minute")] : []),
    ...(rest > 0 || minutes === 0 ? [unit(rest, "seconde")] : []),
  ];
  return parts.join(" et ");
}

export const fr: Phrases = {
  status: {
    idle: "L'agent a commencé.",
    thinking: "L'agent réfléchit.",
    calling_tool: "L'agent travaille à quelque chose.",
    writing_output: "L'agent répond.",
    awaiting_input: "L'agent attend une réponse.",
    deciding: "L'agent décide quoi faire.",
    handing_off: "L'agent transmet l'affaire.",
  },
  otherState: (state) => `L'agent en est à cette étape : ${state.replaceAll("_", " ")}.`,
  tool: (summary) => `En cours : ${summary}`,
  progress: (summary) => `Dernier progrès : ${summary}`,
  said: (words) => (words === 1 ? "Il a dit un mot jusqu'ici." : `Il a dit environ ${words} mots jusqu'ici.`),
  gap: (reason) =>
    reason === "lagging"
      ? "Une partie de ce que l'agent a dit a été sautée, car il y en avait plus qu'on ne pouvait transmettre."
      : "Une partie de ce que l'agent a dit manque, car on ne sait plus où reprendre.",
  states: {
    idle: "Prêt.",
    thinking: "Réflexion en cours.",
    calling_tool: "Travail en cours.",
    writing_output: "Réponse en cours.",
    awaiting_input: "En attente de votre réponse.",
    deciding: "Décision en cours.",
    handing_off: "Transmission en cours.",
    interrupted: "L'agent a été interrompu. Il peut revenir et continuer.",
  },
  done: "C'est fait.",
  stopped: "Arrêté.",
  stoppedByPerson: "Arrêté, comme demandé.",
  failed: "Un problème est survenu, le travail n'a donc pas pu être terminé.",
  toolFailed: "Cela n'a pas marché.",
  toolLate: "Cela a pris trop de temps.",
  toolCutOff: "Cela a été interrompu, car tout a été arrêté.",
  perhapsDone: "On ne sait pas si cela a été fait.",
  working: "Travail en cours.",
  percent: (percent) => `${percent} pour cent.`,
  step: (step, total) => `Étape ${step} sur ${total}.`,
  duration,
  waiting: "En attente d'une réponse.",
  timeLeft: (left) => `Temps pour répondre : ${left}.`,
  moreTime: (left) => `Il y a plus de temps. Temps pour répondre : ${left}.`,
  refusals: {
    rejected: "La réponse était non, ce n'est donc pas fait.",
    timed_out: "Il n'y a pas eu de réponse à temps, ce n'est donc pas fait.",
    withdrawn: "La question a été retirée, ce n'est donc pas fait.",
    disconnected: "La connexion a été perdue avant toute réponse, ce n'est donc pas fait.",
    nobody_to_ask: "Il n'y avait personne à qui demander, ce n'est donc pas fait.",
    cannot_change: "Le changement demandé n'est pas possible ici, ce n'est donc pas fait.",
    too_many_changes: "Il y a eu trop de changements, ce n'est donc pas fait.",
    second_check: "La seconde vérification n'a pas été passée, ce n'est donc pas fait.",
    unknown_outcome:
      "On ne sait pas si cela a été fait, car l'agent a été interrompu. Vérifiez avant de réessayer.",
    already_done: "Cela avait déjà été fait avant l'interruption de l'agent. Cela n'a pas été refait.",
  },
  settled: {
    accepted: { terse: "La réponse était oui.", normal: "La réponse était oui. C'est lancé." },
    accepted_with_check: "La réponse était oui. Il reste une vérification.",
    agreed: "La réponse était oui.",
    rejected: "La réponse était non. Ce ne sera pas fait.",
    timed_out: "Personne n'a répondu à temps. Ce ne sera pas fait.",
    withdrawn: "La question a été retirée. Il n'y a plus rien à répondre.",
    disconnected: "Tous ceux qui pouvaient répondre sont partis. Ce ne sera pas fait.",
    nobody_to_ask: "Il n'y a personne à qui demander. Ce ne sera pas fait.",
    changed: "Un changement a été demandé. La question revient, avec le changement.",
    cannot_change: "Un changement impossible ici a été demandé. Ce ne sera pas fait.",
    answered: "La question a reçu une réponse.",
  },
  settledLeniently: {
    timed_out: "Personne n'a répondu à temps. C'est lancé ; on peut revenir en arrière.",
    disconnected: "Tous ceux qui pouvaient répondre sont partis. C'est lancé ; on peut revenir en arrière.",
    nobody_to_ask: "Il n'y a personne à qui demander. C'est lancé ; on peut revenir en arrière.",
  },
  unanswered: {
    timed_out: "Personne n'a répondu à temps.",
    disconnected: "Tous ceux qui pouvaient répondre sont partis.",
    nobody_to_ask: "Il n'y a personne à qui demander.",
    assumes: "L'agent continue avec ce qu'il suppose.",
    goes_on: "L'agent continue sans réponse.",
  },
  interrupted: {
    state: "L'agent a été interrompu. Il peut revenir et continuer.",
    back: "L'agent est de retour et continue.",
    cut_off: "Cela a été coupé, car l'agent a été interrompu.",
    accepted: "La réponse était oui. L'agent a été interrompu : ce sera fait s'il revient à temps.",
    changed:
      "Un changement a été demandé. L'agent a été interrompu : la question revient si l'agent revient.",
    expired: "L'agent n'est pas revenu à temps. Ce n'est pas fait.",
    unknown: "On ne sait pas si cela a été fait. Vérifiez avant de réessayer.",
    closed: "L'agent s'est arrêté avant d'avoir fini.",
    hint: "Rien de plus ne sera fait ici. Redemandez si vous le voulez encore.",
  },
  unknown: (action) => `On ne sait pas si cela a été fait : ${action} Vérifiez avant de réessayer.`,
};
