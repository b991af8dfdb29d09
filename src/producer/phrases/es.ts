import type { Phrases } from "../phrases.ts";

const unit = (count: number, one: string, many: string) => `${count} ${count === 1 ? one : many}`;

function duration(seconds: number): string {
  const minutes = Math.floor(seconds / 60);
  const rest = minutes >= 10 ? 0 : seconds % 60;
  const parts = [
    ...(minutes > 0 ? [unit(minutes, "minuto", "minutos")] : []),
    ...(rest > 0 || minutes === 0 ? [unit(rest, "segundo", "segundos")] : []),
  ];
  return parts.join(" y ");
}

export const es: Phrases = {
  status: {
    idle: "El agente ha empezado.",
    thinking: "El agente está pensando.",
    calling_tool: "El agente está trabajando en algo.",
    writing_output: "El agente está respondiendo.",
    awaiting_input: "El agente espera una respuesta.",
    deciding: "El agente está decidiendo qué hacer.",
    handing_off: "El agente está pasando el asunto.",
  },
  otherState: (state) => `El agente está en esta fase: ${state.replaceAll("_", " ")}.`,
  tool: (summary) => `En marcha: ${summary}`,
  progress: (summary) => `Último avance: ${summary}`,
  said: (words) =>
    words === 1 ? "Ha dicho una palabra hasta ahora." : `Ha dicho unas ${words} palabras hasta ahora.`,
  gap: (reason) =>
    reason === "lagging"
      ? "Se ha omitido parte de lo que dijo el agente, porque había más de lo que se podía entregar."
      : "Falta parte de lo que dijo el agente, porque ya no se sabe desde dónde seguir.",
  states: {
    idle: "Listo.",
    thinking: "Pensando.",
    calling_tool: "Trabajando en ello.",
    writing_output: "Respondiendo.",
    awaiting_input: "Esperando tu respuesta.",
    deciding: "Decidiendo.",
    handing_off: "Pasando el asunto.",
    interrupted: "El agente se ha interrumpido. Puede que vuelva y siga.",
  },
  done: "Hecho.",
  stopped: "Detenido.",
  stoppedByPerson: "Detenido, como pediste.",
  failed: "Algo ha ido mal, así que no se ha podido terminar.",
  toolFailed: "No ha funcionado.",
  toolLate: "Ha tardado demasiado.",
  toolCutOff: "Se ha interrumpido, porque se ha detenido todo.",
  perhapsDone: "No se sabe si se ha hecho.",
  working: "Trabajando.",
  percent: (percent) => `${percent} por ciento.`,
  step: (step, total) => `Paso ${step} de ${total}.`,
  duration,
  waiting: "Esperando una respuesta.",
  timeLeft: (left) => `Tiempo para responder: ${left}.`,
  moreTime: (left) => `Hay más tiempo. Tiempo para responder: ${left}.`,
  refusals: {
    rejected: "La respuesta fue no, así que no se ha hecho.",
    timed_out: "No hubo respuesta a tiempo, así que no se ha hecho.",
    withdrawn: "La pregunta se retiró, así que no se ha hecho.",
    disconnected: "La conexión se perdió antes de que hubiera respuesta, así que no se ha hecho.",
    nobody_to_ask: "No había nadie conectado a quien preguntar, así que no se ha hecho.",
    cannot_change: "El cambio pedido no se puede hacer aquí, así que no se ha hecho.",
    too_many_changes: "Se cambió demasiadas veces, así que no se ha hecho.",
    second_check: "La segunda comprobación no se superó, así que no se ha hecho.",
    unknown_outcome:
      "No se sabe si se ha hecho, porque el agente se interrumpió. Compruébalo antes de volver a intentarlo.",
    already_done: "Esto ya se hizo antes de que se interrumpiera el agente. No se ha hecho otra vez.",
  },
  settled: {
    accepted: { terse: "La respuesta fue sí.", normal: "La respuesta fue sí. Se hace ahora." },
    accepted_with_check: "La respuesta fue sí. Antes hay una comprobación más.",
    agreed: "La respuesta fue sí.",
    rejected: "La respuesta fue no. No se hará.",
    timed_out: "Nadie respondió a tiempo. No se hará.",
    withdrawn: "La pregunta se ha retirado. Ya no hay nada que responder.",
    disconnected: "Todos los que podían responder se han ido. No se hará.",
    nobody_to_ask: "No hay nadie a quien preguntar. No se hará.",
    changed: "Se ha pedido un cambio. La pregunta vuelve, con el cambio.",
    cannot_change: "Se ha pedido un cambio que aquí no se puede hacer. No se hará.",
    answered: "La pregunta ha sido respondida.",
  },
  settledLeniently: {
    timed_out: "Nadie respondió a tiempo. Se hace; se puede deshacer.",
    disconnected: "Todos los que podían responder se han ido. Se hace; se puede deshacer.",
    nobody_to_ask: "No hay nadie a quien preguntar. Se hace; se puede deshacer.",
  },
  unanswered: {
    timed_out: "Nadie respondió a tiempo.",
    disconnected: "Todos los que podían responder se han ido.",
    nobody_to_ask: "No hay nadie a quien preguntar.",
    assumes: "El agente sigue con lo que supone.",
    goes_on: "El agente sigue sin respuesta.",
  },
  interrupted: {
    state: "El agente se ha interrumpido. Puede que vuelva y siga.",
    back: "El agente ha vuelto y sigue.",
    cut_off: "Se ha cortado, porque el agente se interrumpió.",
    accepted: "La respuesta fue sí. El agente se ha interrumpido: se hará si vuelve a tiempo.",
    changed: "Se ha pedido un cambio. El agente se ha interrumpido: la pregunta vuelve si el agente vuelve.",
    expired: "El agente no volvió a tiempo. No se ha hecho.",
    unknown: "No se sabe si se ha hecho. Compruébalo antes de volver a intentarlo.",
    closed: "El agente se detuvo antes de terminar.",
    hint: "Aquí no se hará nada más. Vuelve a pedirlo si todavía lo quieres.",
  },
  unknown: (action) => `No se sabe si esto se ha hecho: ${action} Compruébalo antes de volver a intentarlo.`,
};
